// Package boltfile reads and writes the lock file, catalog.lock.db, a bbolt database with one flat bucket.
//
// It is the only door to the file and the only importer of bbolt. bbolt writes the file; it never reads one, because it
// trusts what it finds there: damaged page numbers make it panic, fault or loop. Load reads the file once into memory,
// holding a kernel lock only meanwhile, and walks the raw bytes with a bounds check at every step. The file is never
// mapped, and it only ever changes by being replaced, so readers need no protection from writers.
//
//	loaded, err := boltfile.Load(ctx, "catalog.lock.db")
//
// A Writer holds the right to replace the file, through a lock on another file beside it, and compares the lock with the
// state that the change was made from before it writes.
//
// What the entries mean is for package lock, in the drawing the package below; plan decides what to write.
package boltfile

import (
	"encoding/binary"
)

// Layout of a bbolt file, in the little-endian form that mcpcat reads and writes on every machine.
const (
	// pageSize is fixed: bbolt's default is the page size of the machine, and the same lock must give the same bytes.
	pageSize = 4096

	boltMagic   = 0xED0CDAED
	boltVersion = 2

	pageHeaderSize    = 16 // id u64, flags u16, count u16, overflow u32
	branchElementSize = 16 // pos u32, ksize u32, pgid u64
	leafElementSize   = 16 // flags u32, pos u32, ksize u32, vsize u32
	bucketHeaderSize  = 16 // root pgid u64, sequence u64
	metaSize          = 64 // magic, version, page size, flags u32; root bucket; freelist, pgid, txid, checksum u64
	metaSummed        = 56 // bytes of a meta that its checksum covers

	branchPage   = 0x01
	leafPage     = 0x02
	metaPage     = 0x04
	freelistPage = 0x10

	bucketFlag = 0x01 // of a leaf element: the value is a bucket
)

// bucketName is the one bucket of a lock file.
const bucketName = "mcpcat"

// MaxFileBytes is the size of the largest lock file that is read or written.
const MaxFileBytes = 512 << 20

var le = binary.LittleEndian
