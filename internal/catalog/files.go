package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
)

// Limits of the files, checked before they are parsed.
const (
	MaxFiles     = 64      // catalog and value files of one directory
	MaxFileBytes = 1 << 18 // each
)

// source is one text in the catalog language: a file, or a value from the command line.
type source struct {
	name   string           // as in diag.Range.File
	text   []byte           // without byte order mark, CR LF as LF
	tokens hclsyntax.Tokens // for lexed
	body   *hclsyntax.Body  // nil if the text could not be parsed
	hidden bool             // a value, whose text is not shown
	values bool             // a file of values, of which names alone are shown
	broken bool             // it has syntax errors
}

// files opens the directory and reads its catalog and value files, each kind sorted by name.
func (l *loader) files() (catalogs, values []*source) {
	dir := l.opts.Dir
	if dir == "" {
		dir = "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		l.add(diag.Errorf("catalog.none", "No catalog directory", "%s cannot be opened: %s. Name the directory with -chdir.", diag.Quote(dir, 0), reason(err)))
		return nil, nil
	}
	defer root.Close() //nolint:errcheck // only read through
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		l.add(diag.Errorf("catalog.none", "No catalog directory", "%s cannot be listed: %s. Name the directory with -chdir.", diag.Quote(dir, 0), reason(err)))
		return nil, nil
	}
	var catalogNames, valueNames []string
	for _, e := range entries {
		switch catalogFile, values := fileKind(e.Name()); {
		case catalogFile:
			catalogNames = append(catalogNames, e.Name())
		case values && e.Name() != firstValues:
			valueNames = append(valueNames, e.Name())
		}
	}
	for _, f := range l.opts.Unsaved {
		catalogNames = append(catalogNames, f.Name)
	}
	l.warnUnread(entries)
	slices.Sort(catalogNames)
	catalogNames = slices.Compact(catalogNames)
	slices.Sort(valueNames)
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == firstValues }) {
		valueNames = append([]string{firstValues}, valueNames...)
	}
	if len(catalogNames) == 0 {
		l.add(diag.Errorf("catalog.none", "No catalog file",
			"%s has neither catalog.hcl nor a file whose name ends in .catalog.hcl. An empty directory is never read as an empty catalog. Name the directory with -chdir.", diag.Quote(dir, 0)))
		return nil, nil
	}
	if n := len(catalogNames) + len(valueNames); n > MaxFiles {
		l.add(diag.Errorf("catalog.limit", "Too many catalog files", "The directory has %d catalog and value files; at most %d are read.", n, MaxFiles))
		return nil, nil
	}
	for _, name := range catalogNames {
		if i := slices.IndexFunc(l.opts.Unsaved, func(f UnsavedFile) bool { return f.Name == name }); i >= 0 {
			catalogs = append(catalogs, l.source(diag.Escape(name), l.opts.Unsaved[i].Text))
			continue
		}
		catalogs = append(catalogs, l.read(root, name))
	}
	for _, name := range valueNames {
		values = append(values, l.read(root, name))
	}
	return slices.DeleteFunc(catalogs, isNil), slices.DeleteFunc(values, isNil)
}

func isNil(s *source) bool { return s == nil }

// firstValues is the file of values that is read before all others.
const firstValues = "catalog.vars.hcl"

// IsFile reports whether a file of this name, in the catalog directory, is read by Load without being asked to.
func IsFile(name string) bool {
	catalogFile, values := fileKind(name)
	return catalogFile || values
}

func fileKind(name string) (catalogFile, values bool) {
	switch {
	case strings.HasPrefix(name, "."), strings.HasPrefix(name, "#"):
		return false, false
	case name == "catalog.hcl", strings.HasSuffix(name, ".catalog.hcl"):
		return true, false
	}
	return false, name == firstValues || strings.HasSuffix(name, ".auto.vars.hcl")
}

// warnUnread names files that look like a part of the catalog and are not read. Files of values for -var-file are not among
// them.
func (l *loader) warnUnread(entries []fs.DirEntry) {
	var unread []string
	for _, e := range entries {
		name := e.Name()
		lower := strings.ToLower(name)
		switch catalogFile, values := fileKind(lower); {
		case IsFile(name), e.IsDir(), strings.HasPrefix(name, "."), strings.HasPrefix(name, "#"):
		case catalogFile, values, lower == "auto.vars.hcl", strings.HasSuffix(lower, ".hcl") && !strings.HasSuffix(lower, ".vars.hcl"):
			unread = append(unread, diag.Quote(name, 128))
		}
	}
	if len(unread) == 0 {
		return
	}
	more := ""
	if n := len(unread) - 5; n > 0 {
		unread, more = unread[:5], fmt.Sprintf(" and %d more", n)
	}
	l.add(diag.Warningf("catalog.unread", "Files beside the catalog are not read",
		"Not read: %s%s. A catalog is catalog.hcl and the files whose names end in .catalog.hcl, values are in catalog.vars.hcl and *.auto.vars.hcl, all in lower case. Rename what belongs to it.", strings.Join(unread, ", "), more))
}

// reason strips the path from an error of the os package.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return diag.Escape(err.Error())
}

// read reads one file beneath root, at most MaxFileBytes of it, and checks its text. It returns nil after an error.
func (l *loader) read(root *os.Root, name string) *source {
	shown := diag.Escape(name)
	fail := func(err error) *source {
		l.add(diag.Errorf("catalog.read", "Catalog file cannot be read", "%s: %s.", diag.Quote(name, 0), reason(err)).At(diag.Range{File: shown}))
		return nil
	}
	info, err := root.Stat(name)
	if err != nil {
		return fail(err)
	}
	if !info.Mode().IsRegular() {
		return fail(errNotRegular)
	}
	f, err := root.Open(name)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	text, err := readBounded(f, MaxFileBytes)
	if err != nil {
		return fail(err)
	}
	return l.source(shown, text)
}

func readBounded(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("larger than %d bytes", most)
	}
	return b, err
}

// source checks a text that claims to be in the catalog language, and splits it into tokens. It returns nil after an
// error. The text is not parsed before its limits are known to hold, because the parser does not survive all texts.
func (l *loader) source(name string, text []byte) *source {
	return l.parsed(&source{name: name, text: normalise(text), values: strings.HasSuffix(name, ".vars.hcl")})
}

// valuesSource is source for a file of values, whatever its name.
func (l *loader) valuesSource(name string, text []byte) *source {
	return l.parsed(&source{name: name, text: normalise(text), values: true})
}

func (l *loader) parsed(s *source) *source {
	name := s.name
	if len(s.text) > MaxFileBytes {
		l.add(diag.Errorf("catalog.limit", "Catalog file too large", "%s is larger than %d bytes.", name, MaxFileBytes).At(diag.Range{File: name}))
		return nil
	}
	if d, bad := s.checkText(); bad {
		l.add(d)
		return nil
	}
	if l.tokens > MaxTokens || l.blockCount > MaxBlocks {
		return nil // that was reported
	}
	blocks, d, bad := s.countTokens(false)
	if l.tokens += len(s.lexed()); !bad && l.tokens > MaxTokens {
		d, bad = diag.Errorf("catalog.limit", "Catalog too large", "The files have more than %d tokens, which are words, signs and ends of lines.", MaxTokens).At(diag.Range{File: name}), true
	}
	if l.blockCount += blocks; !bad && l.blockCount > MaxBlocks {
		d, bad = diag.Errorf("catalog.limit", "Catalog too large", "The files have more than %d blocks.", MaxBlocks).At(diag.Range{File: name}), true
	}
	if bad {
		l.add(d)
		return nil
	}
	l.sources[name] = s
	s.tokens = nil // they take more memory than what is made of them, and few are looked at again
	file, diags := hclsyntax.ParseConfig(s.text, name, hcl.InitialPos)
	s.body, _ = file.Body.(*hclsyntax.Body)
	if diags.HasErrors() {
		s.broken = slices.ContainsFunc(diags, func(d *hcl.Diagnostic) bool { return d.Summary != "Attribute redefined" })
		l.addHCL(diags, where{}, nil, false)
		l.partial = append(l.partial, s)
		return nil
	}
	return s
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// lexed returns the tokens of the text. Lexing is linear and safe for every input; its diagnostics come again from the parser.
func (s *source) lexed() hclsyntax.Tokens {
	if s.tokens == nil {
		s.tokens, _ = hclsyntax.LexConfig(s.text, s.name, hcl.InitialPos)
	}
	return s.tokens
}

// normalise removes a byte order mark and writes CR LF as LF.
func normalise(text []byte) []byte {
	text = bytes.TrimPrefix(text, byteOrderMark)
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
}

// checkText looks for what must not stand in a catalog whatever its grammar.
func (s *source) checkText() (diag.Diagnostic, bool) {
	line := 1
	for rest := s.text; len(rest) > 0; line++ {
		cur := rest
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			cur, rest = rest[:i], rest[i+1:]
		} else {
			rest = nil
		}
		at := func(offset int) diag.Range {
			col := utf8.RuneCount(cur[:offset]) + 1
			return diag.Range{File: s.name, Start: diag.Pos{Line: line, Column: col}, End: diag.Pos{Line: line, Column: col + 1}}
		}
		if conflictMarker(cur) {
			return diag.Errorf("catalog.merge_conflict", "Unresolved merge conflict",
				"The line is a marker that git leaves where two versions disagree. Decide between them and remove the markers.").At(at(0)), true
		}
		if offset, r, ok := diag.Concealed(string(cur)); ok {
			what := fmt.Sprintf("U+%04X, which readers of the file cannot see", r)
			switch {
			case r == utf8.RuneError:
				what = "a byte that is not UTF-8"
			case unicode.IsControl(r):
				what = fmt.Sprintf("the control character U+%04X", r)
			}
			return diag.Errorf("catalog.text", "Character not allowed in a catalog",
				"Column %d holds %s. Remove it; text that looks different from what it is has no place in a catalog.", at(offset).Start.Column, what).At(at(offset)), true
		}
		if !norm.NFC.IsNormal(cur) {
			offset, _ := norm.NFC.SpanString(string(cur), true)
			return diag.Errorf("catalog.text", "Text would be changed",
				"From column %d on the line is not in Unicode normal form C. Texts of the catalog language are brought into that form, so a name written here would not be the name of the server. Write the composed characters.",
				at(offset).Start.Column).At(at(offset)), true
		}
	}
	return diag.Diagnostic{}, false
}

func conflictMarker(line []byte) bool {
	for _, m := range []string{"<<<<<<<", ">>>>>>>", "|||||||"} {
		if string(line) == m || bytes.HasPrefix(line, []byte(m+" ")) {
			return true
		}
	}
	return false
}

// configDigest covers names and contents of the files, framed by their lengths so that no two sets of files agree.
func configDigest(files []*source) digest.Digest {
	var b bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&b, "%d %s\n%d\n", len(f.name), f.name, len(f.text))
		b.Write(f.text)
		b.WriteByte('\n')
	}
	return digest.OfBytes("config", b.Bytes())
}
