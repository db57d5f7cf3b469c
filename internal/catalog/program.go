package catalog

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
)

const (
	maxPrograms = 16
	maxFiles    = 256
)

// FilePin is a file and the SHA-256 digest that its content must have.
type FilePin struct {
	Path   string // as written: absolute, or relative to the catalog directory
	Digest digest.Digest
}

// readProgram reads what the program of a command must be, and where it starts.
func (c *contents) readProgram(s *Stdio) {
	if dir, ok := c.text("workdir", maxNamedPath); ok {
		if fault := localPathFault(dir, true); fault != "" {
			c.l.fail("catalog.file", "Invalid path", c.exprRange("workdir"), c.w, "workdir %s.", fault)
		}
		s.Workdir = dir
	}
	s.SHA256 = c.readDigests()
	s.Files = c.readFiles()
}

// localPathFault returns what is wrong with a path that is looked at when a command starts, in words that follow its name, or
// "". With dir it may be the catalog directory itself.
func localPathFault(p string, dir bool) string {
	switch {
	case p == "":
		return "is empty"
	case strings.ContainsAny(p, "\n\t"):
		return "has a line end or a tab in it"
	case strings.HasPrefix(p, "~"):
		return `begins with "~", which is not expanded`
	case filepath.IsAbs(p), dir && p == ".", cleanRelative(strings.TrimPrefix(p, "./")):
		return ""
	}
	return "must be an absolute path, or one inside the catalog directory, with forward slashes and without . or .. in it"
}

// digestHint ends every message about a digest.
const digestHint = "want \"sha256:\" and the 64 digits that sha256sum FILE prints"

// contentDigest reads a digest as sha256 and files have it. It reports whether the text is one.
func contentDigest(s string) (digest.Digest, bool) {
	d, err := digest.Parse(s)
	return d, err == nil && d.String() == s
}

func (c *contents) readDigests() []digest.Digest {
	list := c.textOrTexts("sha256", maxPrograms, maxPinBytes, "catalog.digest", "No digests", "Leave it out to start whatever the program is, or list 1 to %d digests.")
	var out []digest.Digest
	first := map[digest.Digest]hcl.Range{}
	for _, e := range list {
		d, ok := contentDigest(e.text)
		if !ok {
			c.l.fail("catalog.digest", "Invalid digest", e.rng, c.w, "sha256 is no digest, %s.", digestHint)
			continue
		}
		if earlier, twice := first[d]; twice {
			c.l.fail("catalog.duplicate", "Digest listed twice", e.rng, c.w, "The same digest was already listed at %s.", place(earlier))
			continue
		}
		first[d] = e.rng
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b digest.Digest) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func (c *contents) readFiles() []FilePin {
	var out []FilePin
	first := map[string]hcl.Range{}
	for _, e := range c.textMap("files", maxFiles, maxPinBytes) {
		path := filepath.ToSlash(filepath.Clean(e.key))
		fault := localPathFault(e.key, false)
		d, isDigest := contentDigest(e.value.plain)
		earlier, twice := first[path]
		switch {
		case fault != "":
			c.l.fail("catalog.file", "Invalid path", e.keyRange, c.w, "A path of files %s.", fault)
		case e.value.Secret():
			c.l.fail("catalog.secret_place", "Secret not allowed here", e.valueRange, c.w, "The digest of %s refers to %s. What a file must be is public: it is part of the lock.", diag.Quote(e.key, 256), shownRef(e.value))
		case !isDigest:
			c.l.fail("catalog.digest", "Invalid digest", e.valueRange, c.w, "What stands for %s is no digest, %s.", diag.Quote(e.key, 256), digestHint)
		case twice:
			c.l.fail("catalog.duplicate", "File listed twice", e.keyRange, c.w, "%s was already listed at %s.", diag.Quote(path, 256), place(earlier))
		default:
			first[path] = e.keyRange
			out = append(out, FilePin{Path: e.key, Digest: d})
		}
	}
	slices.SortFunc(out, func(a, b FilePin) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// programPosture adds what readProgram has read to the posture of a command.
func (s *Stdio) programPosture(p map[string]any) {
	if s.Workdir != "" {
		p["workdir"] = s.Workdir
	}
	if len(s.SHA256) > 0 {
		list := make([]string, len(s.SHA256))
		for i, d := range s.SHA256 {
			list[i] = d.String()
		}
		p["sha256"] = list
	}
	if len(s.Files) > 0 {
		files := map[string]string{}
		for _, f := range s.Files {
			files[f.Path] = f.Digest.String()
		}
		p["files"] = files
	}
}
