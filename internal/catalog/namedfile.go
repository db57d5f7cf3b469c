package catalog

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
)

// MaxNamedFileBytes is the size of a file that a catalog names.
const MaxNamedFileBytes = 1 << 20

const maxNamedPath = 4096

// File is a file that a catalog names, as it was when the catalog was loaded.
type File struct {
	Path string // as written: absolute, or relative to the catalog directory
	Text []byte // without byte order mark, CR LF as LF
	// Digest is SHA-256 of Text and nothing else, so that other programs reproduce it.
	Digest digest.Digest
}

func newFile(path string, text []byte) *File {
	return &File{Path: path, Text: text, Digest: digest.Digest(sha256.Sum256(text))}
}

// PathFault returns what is wrong with the path of a file that a catalog names, in words that follow its argument, or "".
// The path is not repeated: what stands in its
// place may be the content of a key.
func PathFault(p string) string {
	rel := strings.TrimPrefix(p, "./")
	switch {
	case p == "":
		return "is empty"
	case strings.ContainsAny(p, "\n\t") || strings.Contains(p, "-----BEGIN"):
		return "must be the path of a file, not what is in it"
	case strings.HasPrefix(p, "~"):
		return `begins with "~", which is not expanded`
	case filepath.IsAbs(p):
		return ""
	case !cleanRelative(rel):
		return "must be an absolute path, or one inside the catalog directory, with forward slashes and without . or .. in it"
	case slices.ContainsFunc(strings.Split(rel, "/"), func(s string) bool { return strings.HasPrefix(s, ".") }):
		return "has a part that begins with a dot: hidden files are not read"
	}
	return ""
}

// readNamed reads a regular file of at most MaxNamedFileBytes. A relative path is opened beneath dir and does not leave
// it, whatever links are on the way.
func readNamed(dir, path string) ([]byte, fs.FileInfo, error) {
	stat, open := os.Stat, os.OpenFile
	if !filepath.IsAbs(path) {
		if dir == "" {
			dir = "."
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, nil, err
		}
		defer root.Close() //nolint:errcheck // only read through
		stat, open = root.Stat, root.OpenFile
	}
	info, err := stat(path) // before it is opened: opening a named pipe waits for a writer
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := open(path, os.O_RDONLY|nonblock, 0) // it may be another file by now
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, nil, err
	}
	text, err := readBounded(f, MaxNamedFileBytes)
	return text, info, err
}

var errNotRegular = errors.New("not a regular file")

// namedPath returns the path that an argument names. ok is false if there is none, or after an error.
func (c *contents) namedPath(name string) (path string, ok bool) {
	path, ok = c.text(name, maxNamedPath)
	if !ok {
		return "", false
	}
	if fault := PathFault(path); fault != "" {
		c.l.fail("catalog.file", "Invalid path", c.exprRange(name), c.w, "%s %s.", name, fault)
		return "", false
	}
	return path, true
}

func (c *contents) unreadable(name string, err error) {
	c.l.fail("catalog.file", "File cannot be read", c.exprRange(name), c.w, "The file that %s names: %s.", name, reason(err))
}

// readCertificates reads a file of certificates; nil if there is none, or after an error.
func (l *loader) readCertificates(c *contents, name string) (*File, []*x509.Certificate) {
	path, ok := c.namedPath(name)
	if !ok {
		return nil, nil
	}
	text, _, err := readNamed(l.opts.Dir, path)
	if err != nil {
		c.unreadable(name, err)
		return nil, nil
	}
	text = normalise(text)
	certs, fault := parseCertificates(text)
	if fault != "" {
		l.fail("catalog.file", "Not a file of certificates", c.exprRange(name), c.w, "The file that %s names %s", name, stop(fault))
		return nil, nil
	}
	f := newFile(path, text)
	l.named = append(l.named, f)
	return f, certs
}

// ReadCertificates reads a file of certificates in PEM form for TLS.CA, under the rules of ca_file.
func ReadCertificates(dir, path string) (*File, error) {
	if fault := PathFault(path); fault != "" {
		return nil, errors.New("the path " + fault)
	}
	text, _, err := readNamed(dir, path)
	if err != nil {
		return nil, fmt.Errorf("the file: %s", reason(err))
	}
	text = normalise(text)
	if _, fault := parseCertificates(text); fault != "" {
		return nil, errors.New("the file " + fault)
	}
	return newFile(path, text), nil
}

// parseCertificates returns the certificates of a file, or what is wrong with it.
func parseCertificates(text []byte) ([]*x509.Certificate, string) {
	if len(text) > 0 && text[0] == 0x30 { // an ASN.1 sequence
		return nil, "is in binary form. Convert it with:\n\n    openssl x509 -inform DER -in FILE -out FILE.pem"
	}
	blocks, fault := splitPEM(text)
	if fault != "" {
		return nil, fault
	}
	var certs []*x509.Certificate
	for _, b := range blocks {
		switch {
		case strings.HasSuffix(b.Type, "PRIVATE KEY"):
			return nil, fmt.Sprintf("holds a private key at its line %d, want certificates only. A key lies in a file of its own, outside the catalog directory", b.line)
		case b.Type != "CERTIFICATE" || len(b.Headers) > 0:
			return nil, fmt.Sprintf("holds something else at its line %d, want blocks -----BEGIN CERTIFICATE----- only", b.line)
		}
		cert, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, fmt.Sprintf("holds a damaged certificate at its line %d: %s", b.line, diag.Escape(cutText(err.Error(), 256)))
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, "holds no certificate, want PEM: -----BEGIN CERTIFICATE-----"
	}
	return certs, ""
}

// stop ends a sentence, unless a command to copy ends it.
func stop(s string) string {
	if strings.Contains(s, "\n") {
		return s
	}
	return s + "."
}

type pemBlock struct {
	*pem.Block
	text string // as in the file, without the lines that begin and end it
	line int
}

// splitPEM returns the blocks of a text in PEM form (RFC 7468), or what is wrong with it. Beside blocks it may have blank
// lines and comments that begin with "#". Other text is not skipped: what a reader takes for a certificate would be
// missing from what is trusted.
func splitPEM(text []byte) ([]pemBlock, string) {
	const begin, end = "-----BEGIN ", "-----END "
	var blocks []pemBlock
	var whole, inner []byte
	start, n := 0, 0
	for line := range bytes.Lines(text) {
		n++
		trimmed := string(bytes.TrimRight(line, " \t\n"))
		switch {
		case start == 0 && strings.HasPrefix(trimmed, begin):
			start, whole, inner = n, append([]byte(nil), line...), nil
			continue
		case start == 0 && (strings.TrimLeft(trimmed, " \t") == "" || strings.HasPrefix(trimmed, "#")):
			continue
		case start == 0:
			return nil, fmt.Sprintf("has at its line %d what is neither PEM nor a comment that begins with \"#\"", n)
		}
		whole = append(append(whole, trimmed...), '\n')
		if !strings.HasPrefix(trimmed, end) {
			inner = append(append(inner, trimmed...), '\n')
			continue
		}
		b, rest := pem.Decode(whole)
		if b == nil || len(bytes.TrimSpace(rest)) > 0 {
			return nil, fmt.Sprintf("has a damaged block at its line %d", start)
		}
		blocks = append(blocks, pemBlock{b, string(inner), start})
		start = 0
	}
	if start > 0 {
		return nil, fmt.Sprintf("has a block at its line %d that does not end", start)
	}
	return blocks, ""
}

// namedSources are the named files, by path and each once, for the configuration digest.
func (l *loader) namedSources() []*source {
	var out []*source
	slices.SortFunc(l.named, func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	for i, f := range l.named {
		if i == 0 || f.Path != l.named[i-1].Path {
			out = append(out, &source{name: f.Path, text: f.Text})
		}
	}
	return out
}
