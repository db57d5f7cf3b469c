package lock

import (
	"crypto/sha256"
	"encoding/binary"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
)

// rootDomain begins the preimage of a root, so that a root equals no other digest.
const rootDomain = "mcpcat:lock:v1\n"

// rootOf computes the root over entries that are sorted by key and hold no meta entry: SHA-256 over the domain line
// and, for each entry, the length of its key (8 bytes, big-endian), the key and the SHA-256 of its value. Lengths make
// the preimage injective whatever bytes a key has.
func rootOf(entries []KV) digest.Digest {
	sums := make([][sha256.Size]byte, len(entries))
	parallel(len(entries), func(i int) { sums[i] = sha256.Sum256(entries[i].Value) })
	h := sha256.New()
	h.Write([]byte(rootDomain))
	var length [8]byte
	for i := range entries {
		binary.BigEndian.PutUint64(length[:], uint64(len(entries[i].Key)))
		h.Write(length[:])
		h.Write([]byte(entries[i].Key))
		h.Write(sums[i][:])
	}
	return digest.Digest(h.Sum(nil))
}

// sealOf computes the seal: the digest of kind "seal" over the canonical JSON object of the five other meta values.
func sealOf(minor uint64, lineage string, serial uint64, parent, root digest.Digest) digest.Digest {
	b := []byte(`{"format":`)
	b = appendFormat(b, minor)
	b = append(b, `,"lineage":"`...)
	b = append(b, lineage...)
	b = append(b, `","parent":`...)
	b = appendParent(b, parent)
	b = append(b, `,"root":"`...)
	b = append(b, root.String()...)
	b = append(b, `","serial":`...)
	b = strconv.AppendUint(b, serial, 10)
	b = append(b, '}')
	return digest.OfBytes("seal", b)
}

func appendFormat(b []byte, minor uint64) []byte {
	b = append(b, `{"major":`...)
	b = strconv.AppendUint(b, FormatMajor, 10)
	b = append(b, `,"minor":`...)
	b = strconv.AppendUint(b, minor, 10)
	return append(b, '}')
}

// appendParent writes the parent: null for a first lock, which has none.
func appendParent(b []byte, parent digest.Digest) []byte {
	if parent.IsZero() {
		return append(b, "null"...)
	}
	return appendDigest(b, parent)
}

func appendDigest(b []byte, d digest.Digest) []byte {
	b = append(b, '"')
	b = append(b, d.String()...)
	return append(b, '"')
}

func validLineage(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

// parallel calls do(0) to do(n-1) on as many processors as there are and returns when all calls have.
func parallel(n int, do func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n/16+1)
	if workers <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				do(i)
			}
		})
	}
	wg.Wait()
}
