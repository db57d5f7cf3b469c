package contact

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// maxMemory bounds the file of acceptances, in bytes.
const maxMemory = 1 << 20

// memory is what one user accepted for one catalog directory on one machine.
type memory struct {
	path string
	file memoryFile
}

type memoryFile struct {
	Catalog   string   `json:"catalog"`
	Endpoints []string `json:"endpoints"` // endpoint digests, sorted
}

// loadMemory reads the acceptances for a catalog directory. A file that is missing is empty; a file that cannot be read
// or understood is an error, so that damage asks again instead of accepting.
func loadMemory(state, dir string) (*memory, error) {
	dir = resolved(dir)
	m := &memory{file: memoryFile{Catalog: dir}}
	if state == "" {
		return m, nil
	}
	m.path = filepath.Join(state, "contacts", digest.OfBytes("catalog", []byte(dir)).Hex()+".json")
	info, err := os.Stat(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, fmt.Errorf("accepted endpoints: %w", err)
	}
	if info.Size() > maxMemory {
		return nil, fmt.Errorf("accepted endpoints: %s has %d bytes, want at most %d", m.path, info.Size(), maxMemory)
	}
	b, err := os.ReadFile(m.path)
	if err != nil {
		return nil, fmt.Errorf("accepted endpoints: %w", err)
	}
	if err := strictjson.CheckObject(b, strictjson.Limits{Bytes: maxMemory}); err != nil {
		return nil, fmt.Errorf("accepted endpoints: %s: %w; remove the file to be asked again", m.path, err)
	}
	var f memoryFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("accepted endpoints: %s: %w; remove the file to be asked again", m.path, err)
	}
	if f.Catalog != dir {
		return nil, fmt.Errorf("accepted endpoints: %s is for %q, want %q; remove the file to be asked again", m.path, f.Catalog, dir)
	}
	m.file = f
	return m, nil
}

func (m *memory) has(d digest.Digest) bool { return slices.Contains(m.file.Endpoints, d.String()) }

// add remembers an endpoint. The file is readable by its user alone and is replaced whole.
func (m *memory) add(d digest.Digest) error {
	if m.has(d) {
		return nil
	}
	m.file.Endpoints = append(m.file.Endpoints, d.String())
	slices.Sort(m.file.Endpoints)
	if m.path == "" {
		return nil
	}
	b, err := json.MarshalIndent(m.file, "", "  ")
	if err != nil {
		return fmt.Errorf("accepted endpoints: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(m.path), 0o700); err != nil {
		return fmt.Errorf("accepted endpoints: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(m.path), ".contacts-*")
	if err != nil {
		return fmt.Errorf("accepted endpoints: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), m.path)
	}
	if err != nil {
		return fmt.Errorf("accepted endpoints: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
