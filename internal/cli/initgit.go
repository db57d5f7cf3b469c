package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/gitrepo"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// gitDrivers are the programs that git can run for the lock file: those whose commands this build has.
type gitDrivers struct {
	dump  bool // mcpcat lock dump, the lock as text for git diff
	merge bool // mcpcat lock merge, for git merge
}

func driversOf(has func(words ...string) bool) gitDrivers {
	return gitDrivers{dump: has("lock", "dump"), merge: has("lock", "merge")}
}

// attribute is a line of .gitattributes. earlier are lines for the same file that other builds wrote.
type attribute struct {
	line    string
	earlier []string
}

// attributes are the lines for a lock and its mirror, which may be "". Without drivers git takes the lock for bytes, so that it
// neither prints it nor merges it by lines.
func (g gitDrivers) attributes(lock, mirror string) []attribute {
	pattern := gitPattern(lock)
	var forms []string
	for _, dump := range []string{"diff=mcpcat", "-diff"} {
		for _, merge := range []string{"merge=mcpcat", "-merge"} {
			forms = append(forms, pattern+" "+dump+" "+merge+" -text")
		}
	}
	now := pattern + " binary"
	switch {
	case g.dump && g.merge:
		now = forms[0]
	case g.dump:
		now = forms[1]
	case g.merge:
		now = forms[2]
	}
	out := []attribute{{line: now, earlier: append(forms, pattern+" binary")}}
	if mirror != "" {
		out = append(out, attribute{line: gitPattern(mirror) + " text eol=lf"})
	}
	return out
}

// gitPattern is a path as a pattern of .gitattributes.
func gitPattern(path string) string {
	var b strings.Builder
	for i, r := range path {
		if strings.ContainsRune(`*?[\`, r) || i == 0 && (r == '#' || r == '!') {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	if s := b.String(); strings.ContainsAny(s, " \t\"") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	}
	return b.String()
}

// withAttributes adds lines to .gitattributes, in place of those that another build wrote. A line of the user's own for the same
// file stays and wins nothing: git takes the last one, which is then ours.
func withAttributes(old []byte, want []attribute) []byte {
	text := string(old)
	var missing []string
	for _, a := range want {
		found := false
		var out strings.Builder
		for line := range strings.Lines(text) {
			body := strings.TrimRight(line, " \t\r\n")
			switch {
			case body == a.line && !found:
				found = true
			case body == a.line, slices.Contains(a.earlier, body) && found:
				continue
			case slices.Contains(a.earlier, body):
				line = a.line + line[len(body):]
				found = true
			}
			out.WriteString(line)
		}
		if text = out.String(); !found {
			missing = append(missing, a.line)
		}
	}
	return appendLines([]byte(text), missing)
}

// configure sets the drivers in the config of the repository around dir. A setting that is there stays.
func (g gitDrivers) configure(ctx context.Context, dir string) ([]view.GitSetting, error) {
	settings := []view.GitSetting{}
	if g.dump {
		settings = append(settings, view.GitSetting{Key: "diff.mcpcat.textconv", Value: "mcpcat lock dump"})
	}
	if g.merge {
		settings = append(settings, view.GitSetting{Key: "merge.mcpcat.name", Value: "lock files of mcpcat"}, view.GitSetting{Key: "merge.mcpcat.driver", Value: "mcpcat lock merge %O %A %B"})
	}
	if len(settings) == 0 {
		return settings, nil
	}
	fault := func(err error) error {
		return fail(exitFailed, diag.Errorf("init.git", "Git could not be told", "%s: %s. The files are written; run mcpcat init -git again when that is mended.", diag.Escape(dir), diag.Escape(err.Error())))
	}
	if err := gitrepo.Check(ctx, dir); err != nil {
		return nil, fault(err)
	}
	for i, s := range settings {
		value, set, err := gitrepo.Config(ctx, dir, s.Key)
		if err != nil {
			return nil, fault(err)
		}
		if set {
			settings[i].Value = value
			continue
		}
		if err := gitrepo.SetConfig(ctx, dir, s.Key, s.Value); err != nil {
			return nil, fault(fmt.Errorf("%s: %w", s.Key, err))
		}
		settings[i].Set = true
	}
	return settings, nil
}
