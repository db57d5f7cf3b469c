package view_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// goldens reads the plan documents of testdata/plan, by name.
func goldens(t testing.TB) map[string]*plan.Plan {
	t.Helper()
	files, err := filepath.Glob("../../testdata/plan/*.txtar")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}
	out := map[string]*plan.Plan{}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range ar.Files {
			if f.Name != "want.json" {
				continue
			}
			var b bytes.Buffer
			if err := json.Compact(&b, f.Data); err != nil {
				t.Fatal(err)
			}
			p, err := plan.Decode(bytes.TrimSpace(b.Bytes()))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			out[filepath.Base(file)] = p
		}
	}
	return out
}

func text(t testing.TB, p *plan.Plan, o view.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := view.Text(&b, p, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Lines fit the terminal, and nothing but white space depends on its width.
func TestTextFits(t *testing.T) {
	for name, p := range goldens(t) {
		wide := strings.Fields(text(t, p, view.Options{Full: true}))
		for _, width := range []int{50, 72, 100, 160} {
			got := text(t, p, view.Options{Width: width})
			for line := range strings.SplitSeq(got, "\n") {
				if n := len([]rune(line)); n > width {
					t.Errorf("%s: a line has %d columns, want at most %d: %q", name, n, width, line)
				}
				if strings.TrimRight(line, " ") != line {
					t.Errorf("%s: a line ends in a space: %q", name, line)
				}
			}
			full := text(t, p, view.Options{Width: width, Full: true})
			if a, b := strings.Join(wide, ""), strings.Join(strings.Fields(full), ""); a != b {
				t.Errorf("%s: the text of width %d says something else", name, width)
			}
		}
	}
}

// Without its colours the coloured text is the plain one, except for the marks of word differences.
func TestTextColor(t *testing.T) {
	strip := strings.NewReplacer("\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[0m", "",
		"\x1b[1;31m", "", "\x1b[1;33m", "")
	marks := strings.NewReplacer("[-", "", "-]", "", "{+", "", "+}", "")
	for name, p := range goldens(t) {
		plainText := text(t, p, view.Options{})
		colored := text(t, p, view.Options{Color: true})
		if p.HasChanges() && !strings.Contains(colored, "\x1b[") {
			t.Errorf("%s: no colour", name)
		}
		bare := strip.Replace(colored)
		if strings.Contains(bare, "\x1b") {
			t.Errorf("%s: an escape sequence that is not ours", name)
		}
		if a, b := strings.Join(strings.Fields(marks.Replace(plainText)), ""), strings.Join(strings.Fields(marks.Replace(bare)), ""); a != b {
			t.Errorf("%s: colours change the text:\n%s\n%s", name, a, b)
		}
	}
}

// structural are keywords for which the tree of a schema has another form than their names.
var structural = map[string]bool{"properties": true, "required": true, "type": true, "items": true, "additionalProperties": true}

// Nothing that changed is ever cut: every changed word and every value stands in the text.
func TestTextShowsEveryChange(t *testing.T) {
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for name, p := range goldens(t) {
		got := squeeze(text(t, p, view.Options{Width: 72}))
		for _, c := range p.Changes {
			if !strings.Contains(got, c.Address) {
				t.Errorf("%s: %s is missing", name, c.Address)
			}
			for _, l := range c.Diff {
				for _, raw := range []json.RawMessage{l.Before, l.After} {
					var value any
					if err := json.Unmarshal(raw, &value); err != nil {
						t.Fatal(err)
					}
					everyText(value, func(s string) {
						if len(l.Words) == 0 && !structural[s] && !strings.Contains(got, squeeze(diag.EscapeLines(s))) {
							t.Errorf("%s: %s%s: %q is missing", name, c.Address, l.Path, s)
						}
					})
				}
				for _, w := range l.Words {
					if w.Op != "=" && !strings.Contains(got, squeeze(diag.EscapeLines(w.Text))) {
						t.Errorf("%s: %s%s: %q is missing", name, c.Address, l.Path, w.Text)
					}
				}
			}
		}
	}
}

// everyText calls f for every string and number in a value, names included.
func everyText(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case float64:
		f(fmt.Sprint(v))
	case []any:
		for _, e := range v {
			everyText(e, f)
		}
	case map[string]any:
		for name, e := range v {
			if name != "type" && name != "items" {
				f(name)
			}
			everyText(e, f)
		}
	}
}

// Text of a server that wrapping brings to the beginning of a line gives no command to a CI runner.
func TestTextGivesNoCommand(t *testing.T) {
	p := goldens(t)["description.txtar"]
	p.Changes[0].Diff[0].Words = []plan.Word{{Op: "+", Text: strings.Repeat("x ", 30) + "::add-mask::x ##[error]y [command]z \u001b[2J"}}
	for width := 40; width < 120; width++ {
		got := text(t, p, view.Options{Width: width})
		for line := range strings.SplitSeq(got, "\n") {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "::") || strings.HasPrefix(line, "[command]") || strings.Contains(line, "##[") {
				t.Fatalf("width %d: a runner obeys %q", width, line)
			}
		}
		for _, r := range got {
			if r != '\n' && unicode.IsControl(r) {
				t.Fatalf("width %d: the text holds %U", width, r)
			}
		}
	}
}

func TestShowUnchangedAndFull(t *testing.T) {
	p := goldens(t)["mixed.txtar"]
	short := text(t, p, view.Options{})
	full := text(t, p, view.Options{Full: true, ShowUnchanged: true, SavedTo: "p.mcpplan"})
	for _, want := range []string{"unchanged: stock", p.Changes[0].After.Digest.String(), "The vessel keeps its berth until it leaves.", "apply with: mcpcat apply p.mcpplan"} {
		if strings.Contains(short, want) {
			t.Errorf("the short text says %q", want)
		}
		if !strings.Contains(full, want) {
			t.Errorf("the full text does not say %q:\n%s", want, full)
		}
	}
}

func TestEnvelope(t *testing.T) {
	tests := []struct {
		name  string
		diags diag.List
		doc   any
		want  string
	}{
		{"nothing", nil, nil, `{"format_version":"1.0","kind":"k","diagnostics":[]}`},
		{"empty document", nil, struct{}{}, `{"format_version":"1.0","kind":"k","diagnostics":[]}`},
		{
			"document",
			diag.List{diag.Errorf("a.b", "Sum", "It is \u202e so.")},
			view.DigestDoc{Kind: "tool"},
			`{"format_version":"1.0","kind":"k","digest_kind":"tool","digest":"sha256:` + strings.Repeat("0", 64) + `","diagnostics":[{"severity":"error","code":"a.b","summary":"Sum","detail":"It is \u202e so."}]}`,
		},
	}
	for _, tt := range tests {
		var b bytes.Buffer
		if err := view.Envelope(&b, "k", tt.diags, tt.doc); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != tt.want+"\n" {
			t.Errorf("%s: Envelope = %s, want %s", tt.name, got, tt.want)
		}
	}
	if err := view.Envelope(&bytes.Buffer{}, "k", nil, []int{1}); err == nil {
		t.Error("Envelope accepts a document that is no object")
	}
}

func TestApplied(t *testing.T) {
	p := goldens(t)["tool-added.txtar"]
	var b bytes.Buffer
	a := view.Applied{Lock: "catalog.lock.db", Serial: 2, Root: &p.PlanDigest, Plan: p}
	if err := a.Text(&b); err != nil {
		t.Fatal(err)
	}
	if want := "Applied: 1 added, 0 changed, 0 removed. catalog.lock.db is now at serial 2, root " + p.PlanDigest.Short() + ".\n"; b.String() != want {
		t.Errorf("Text = %q, want %q", b.String(), want)
	}
	j, err := json.Marshal(a)
	if err != nil || !strings.Contains(string(j), `"changed":true`) || !strings.Contains(string(j), `"add":1`) {
		t.Errorf("JSON = %s, %v", j, err)
	}
	b.Reset()
	none := goldens(t)["no-changes.txtar"]
	if err := (view.Applied{Lock: "l", Serial: 1, Root: none.Base.Root, Plan: none}).Text(&b); err != nil || !strings.HasPrefix(b.String(), "Nothing to apply: l stays at serial 1") {
		t.Errorf("Text = %q, %v", b.String(), err)
	}
}
