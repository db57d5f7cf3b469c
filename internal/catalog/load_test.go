package catalog

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// canary begins every secret in the scripts; none of it may come out.
const canary = "canary-"

// script is one txtar file of testdata/load. Its comment tells the story. Files named env (NAME=value lines), flags
// (-var a=b, -var-file F, -allow-missing-secrets, -lock F, -version V lines) and want are for the test; a file whose
// name begins with outside/ is written beside the catalog directory, which env knows as $TOP. A file that ends in .key may
// be read by its owner alone.
type script struct {
	name    string
	archive *txtar.Archive
	opts    Options
	want    string
}

func readScript(t *testing.T, path string) *script {
	t.Helper()
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), archive: a}
	top := t.TempDir()
	s.opts.Dir = filepath.Join(top, "catalog")
	if err := os.Mkdir(s.opts.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, f := range a.Files {
		switch f.Name {
		case "want":
			s.want = string(f.Data)
		case "env":
			for line := range strings.Lines(string(f.Data)) {
				k, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
				env[k] = strings.NewReplacer("$TOP", top, `\n`, "\n", `\0`, "\x00", `\e`, "e\u0301").Replace(v)
			}
		case "flags":
			for line := range strings.Lines(string(f.Data)) {
				s.flag(t, top, strings.TrimSuffix(line, "\n"))
			}
		default:
			path := filepath.Join(s.opts.Dir, filepath.FromSlash(f.Name))
			if rest, ok := strings.CutPrefix(f.Name, "outside/"); ok {
				path = filepath.Join(top, rest)
			}
			mode := os.FileMode(0o644)
			if strings.HasSuffix(path, ".key") {
				mode = 0o600
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Data, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.opts.Lookup = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	return s
}

func (s *script) flag(t *testing.T, top, line string) {
	name, value, _ := strings.Cut(line, " ")
	switch name {
	case "-var":
		k, v, _ := strings.Cut(value, "=")
		s.opts.Vars = append(s.opts.Vars, VarSource{Name: k, Value: v})
	case "-var-file":
		path := filepath.Join(s.opts.Dir, value)
		if rest, ok := strings.CutPrefix(value, "outside/"); ok {
			path = filepath.Join(top, rest)
		}
		// The temporary directory would stand in the expectations.
		if data, err := os.ReadFile(path); err == nil && strings.HasPrefix(value, "outside/") {
			s.opts.Vars = append(s.opts.Vars, VarSource{File: value, Data: data})
		} else {
			s.opts.Vars = append(s.opts.Vars, VarSource{File: path})
		}
	case "-allow-missing-secrets":
		s.opts.AllowMissingSecrets = true
	case "-lock":
		s.opts.LockPath = value
	case "-version":
		s.opts.Version = value
	default:
		t.Fatalf("unknown flag %q", name)
	}
}

// dump shows what a Catalog holds, for expectations.
func dump(c *Catalog) string {
	var b strings.Builder
	if c == nil {
		return ""
	}
	fmt.Fprintf(&b, "lock %s mirror %s recheck %s %s\n", c.Lock, c.Mirror, c.Gate.Recheck.Mode, c.Gate.Recheck.Every+c.Gate.Recheck.MaxAge)
	for _, v := range c.Variables {
		fmt.Fprintf(&b, "var.%s from %s sensitive=%v %s\n", v.Name, v.Source, v.Sensitive, v.Value)
	}
	for _, s := range c.Servers {
		fmt.Fprintf(&b, "%s name=%s enabled=%v timeouts=%v %s\n", s.Addr, s.Name, s.Enabled, s.Timeouts, s.Range)
		if limits, recheck := s.Limits.Posture(), s.RecheckPosture(); limits != nil || recheck != nil {
			fmt.Fprintf(&b, "  limits %s recheck %s\n", limits, recheck)
		}
		fmt.Fprintf(&b, "  %s\n  %s\n", s.Endpoint(), s.EndpointText())
		if refs := s.SecretRefs(); len(refs) > 0 {
			fmt.Fprintf(&b, "  secrets %s\n", strings.Join(refs, ", "))
		}
		for _, d := range s.Tools {
			fmt.Fprintf(&b, "  tool %q %s%s%s\n", d.Name, d.Range, prefixed(" as ", d.As), prefixed(" disabled=", strings.TrimPrefix(fmt.Sprint(d.Disabled), "false")))
		}
		for _, k := range kinds[1:] {
			for _, d := range s.items(k) {
				fmt.Fprintf(&b, "  %s %q %s\n", k, d.Name, d.Range)
			}
		}
		for _, p := range s.Patterns {
			fmt.Fprintf(&b, "  %s pattern %q %s\n", p.Kind, p.Text, p.Range)
		}
	}
	for _, t := range c.Toolsets {
		fmt.Fprintf(&b, "toolset.%s %d grants %s\n", t.Name, len(t.grants), t.Range)
	}
	for _, a := range c.Agents {
		fmt.Fprintf(&b, "agent.%s names=%s\n", a.Name, a.Names)
		if a.Instructions || a.Completion || a.InputRequests != nil || a.Rate != nil || a.Concurrency > 0 {
			fmt.Fprintf(&b, "  instructions=%v completion=%v input_requests=%v rate=%+v concurrency=%d\n", a.Instructions, a.Completion, a.InputRequests, a.Rate, a.Concurrency)
		}
		for _, k := range kinds {
			for _, e := range *a.exposedTo(k) {
				fmt.Fprintf(&b, "  %s = %s\n", e.Name, e.Item)
			}
		}
		for _, n := range a.Narrowed {
			fmt.Fprintf(&b, "  %s narrowed %s\n", n.Item, n.Input.Posture())
		}
	}
	return b.String()
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func rendered(t testing.TB, c *Catalog, list diag.List) string {
	t.Helper()
	var b strings.Builder
	if err := diag.Write(&b, list, diag.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	if d := dump(c); d != "" {
		if out != "" {
			out += "\n"
		}
		out += d
	}
	return out
}

// TestLoadScripts loads every catalog of testdata/load and compares diagnostics and result with the expectation. No
// output of any kind may contain a canary, and each diagnostic that has a file must have a line.
func TestLoadScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/load/*.txtar")
	if err != nil || len(paths) < 20 {
		t.Fatalf("found %d scripts, %v", len(paths), err)
	}
	canaries := 0
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			s := readScript(t, path)
			c, list := Load(s.opts)
			if (c == nil) != list.HasErrors() {
				t.Errorf("catalog is nil: %v, list has errors: %v", c == nil, list.HasErrors())
			}
			got := rendered(t, c, list)
			got = strings.NewReplacer(s.opts.Dir, "DIR", filepath.Dir(s.opts.Dir), "TOP").Replace(got)
			if *update {
				setFile(s.archive, "want", got)
				if err := os.WriteFile(path, txtar.Format(s.archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(s.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for _, d := range list {
				if d.Range != nil && d.Range.Start.Line == 0 && d.Code != "catalog.read" && d.Code != "catalog.limit" {
					t.Errorf("diagnostic without a line: %v", d)
				}
				if d.Code == "" || d.Summary == "" || strings.HasSuffix(d.Summary, ".") {
					t.Errorf("bad diagnostic: %+v", d)
				}
			}
			outputs := map[string]string{"rendered": got}
			for name, v := range map[string]any{"diagnostics": list, "catalog": c} {
				raw, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				outputs[name] = string(raw)
			}
			outputs["fmt"] = fmt.Sprintf("%v %+v %#v %s", c, c, c, list)
			if c != nil {
				for _, s := range c.Servers {
					outputs["fmt "+s.Addr.String()] = fmt.Sprintf("%v %+v %#v %+v %+v", s, s, s, s.HTTP, s.Stdio)
				}
			}
			for name, text := range outputs {
				if strings.Contains(text, canary) {
					t.Errorf("%s contains a secret: %s", name, text)
				}
				for _, line := range keyLines(s.archive) {
					if strings.Contains(text, line) {
						t.Errorf("%s contains a line of a private key: %s", name, text)
					}
				}
			}
			for _, f := range s.archive.Files {
				canaries += strings.Count(string(f.Data), canary)
			}
		})
	}
	if canaries < 20 {
		t.Errorf("the scripts contain %d canaries, want at least 20", canaries)
	}
}

// keyLines are the lines of the private keys in a script, without those that every key has.
func keyLines(a *txtar.Archive) []string {
	var out []string
	for _, f := range a.Files {
		for line := range strings.Lines(string(f.Data)) {
			if line = strings.TrimSpace(line); strings.Contains(string(f.Data), "PRIVATE KEY") && len(line) > 40 && !strings.Contains(line, " ") {
				out = append(out, line)
			}
		}
	}
	return out
}

func setFile(a *txtar.Archive, name, data string) {
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data = []byte(data)
			return
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(data)})
}
