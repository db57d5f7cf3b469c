package plan_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/plan"
)

// randomSchema makes a schema out of few names, so that two of them have much in common.
func randomSchema(r *rand.Rand, depth int) map[string]any {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	s := map[string]any{}
	maybe := func(name string, v func() any) {
		if r.IntN(3) == 0 {
			s[name] = v()
		}
	}
	words := func() any {
		var out []any
		for _, w := range []string{"alpha", "beta", "gamma", "delta"} {
			if r.IntN(2) == 0 {
				out = append(out, w)
			}
		}
		r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		return append([]any{}, out...)
	}
	s["type"] = pick("object", "string", "integer", "number")
	maybe("description", func() any { return pick("first", "second", "third") + " " + pick("text", "words") })
	maybe("enum", words)
	maybe("required", words)
	maybe("maximum", func() any { return r.IntN(9) })
	maybe("pattern", func() any { return pick("^p$", "^q$") })
	maybe("format", func() any { return pick("uri", "date") })
	maybe("additionalProperties", func() any { return r.IntN(2) == 0 })
	maybe("x-mcp-header", func() any { return pick("Alpha", "Beta") })
	if depth > 0 {
		maybe("items", func() any { return randomSchema(r, depth-1) })
		maybe("anyOf", func() any { return []any{randomSchema(r, depth-1), randomSchema(r, depth-1)} })
		props := map[string]any{}
		for _, name := range []string{"alpha", "beta", "required", "properties", "enum"} {
			if r.IntN(2) == 0 {
				props[name] = randomSchema(r, depth-1)
			}
		}
		s["properties"] = props
	}
	return s
}

// TestEveryChangeIsShown compares random schemas: whatever differs stands in the text, and the plan survives the way
// through a file, apply and a second plan.
func TestEveryChangeIsShown(t *testing.T) {
	cat, _ := load(t, strings.Replace(harbourHCL, `, "log_arrival"]`, `]`, 1))
	r := rand.New(rand.NewPCG(3, 4))
	tool := func() string {
		b, err := json.Marshal(map[string]any{"name": "berth_status", "inputSchema": randomSchema(r, 2)})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	leaves := 0
	for range 60 {
		before, after := tool(), tool()
		base := pinned(t, cat, harbour(before))
		p := makePlan(t, cat, base, harbour(after))
		text := strings.Join(strings.Fields(textOf(t, p)), "")
		for _, c := range p.Changes {
			for _, l := range c.Diff {
				leaves++
				for _, raw := range []json.RawMessage{l.Before, l.After} {
					var v any
					if err := json.Unmarshal(raw, &v); err != nil {
						t.Fatal(err)
					}
					shown(t, l, v, text)
				}
			}
			// Every leaf has a line with a comment, but for entries of required that stand in the head of their property.
			if got, want := strings.Count(text, "#"), 1+len(c.Diff)-folded(c.Diff); got != want {
				t.Fatalf("%d comments, want %d:\n%s", got, want, textOf(t, p))
			}
		}
		next := apply(t, p, base, cat)
		if makePlan(t, cat, next, harbour(after)).HasChanges() {
			t.Fatalf("there are changes after apply of %s", after)
		}
	}
	if leaves < 1000 {
		t.Errorf("%d leaves: the test has lost its point", leaves)
	}
}

// folded counts the entries of required of properties that come or go with them.
func folded(leaves []plan.Leaf) int {
	n := 0
	for _, l := range leaves {
		i := strings.LastIndex(l.Path, "/required/")
		if i < 0 || l.Op == "replace" || strings.HasSuffix(l.Path[:i], "/properties") {
			continue
		}
		raw := l.After
		if l.Op == "remove" {
			raw = l.Before
		}
		var name string
		if json.Unmarshal(raw, &name) != nil {
			continue
		}
		for _, o := range leaves {
			if o.Op == l.Op && o.Path == l.Path[:i]+"/properties/"+name {
				n++
			}
		}
	}
	return n
}

func shown(t *testing.T, l plan.Leaf, v any, text string) {
	t.Helper()
	switch v := v.(type) {
	case string:
		if len(l.Words) == 0 && !strings.Contains(text, strings.ReplaceAll(v, " ", "")) {
			t.Fatalf("%s %s: %q is not shown in\n%s", l.Op, l.Path, v, text)
		}
	case float64:
		if !strings.Contains(text, fmt.Sprint(v)) {
			t.Fatalf("%s %s: %v is not shown", l.Op, l.Path, v)
		}
	case []any:
		for _, e := range v {
			shown(t, l, e, text)
		}
	case map[string]any:
		for _, e := range v {
			shown(t, l, e, text)
		}
	}
}
