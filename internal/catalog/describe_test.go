package catalog

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	d := Describe()
	argument := func(blocks ...string) *Argument {
		list := d.Blocks
		for i, name := range blocks {
			if i == len(blocks)-1 {
				break
			}
			b := findBlock(list, name)
			if b == nil {
				t.Fatalf("no block %v", blocks[:i+1])
			}
			if i == len(blocks)-2 {
				return b.argument(blocks[i+1])
			}
			list = b.Blocks
		}
		return nil
	}
	if a := argument("agent", "names"); a == nil || !slices.Equal(a.Values, []string{"prefixed", "plain"}) || a.Default != `"prefixed"` || a.Type != "string" || a.Summary == "" {
		t.Errorf("agent.names = %+v", a)
	}
	if a := argument("server", "http", "auth", "bearer"); a == nil || !a.Secret {
		t.Errorf("server.http.auth.bearer = %+v", a)
	}
	// Everything has a summary and a type, on every level.
	var check func(list []*BlockType, at []string)
	check = func(list []*BlockType, at []string) {
		for _, b := range list {
			path := append(slices.Clone(at), b.Type)
			if b.Summary == "" {
				t.Errorf("block %v has no summary", path)
			}
			for _, a := range b.Arguments {
				if a.Summary == "" || a.Type == "" {
					t.Errorf("argument %v %s has no summary or no type", path, a.Name)
				}
			}
			check(b.Blocks, path)
		}
	}
	check(d.Blocks, nil)

	i := slices.IndexFunc(d.Functions, func(f Function) bool { return f.Name == "join" })
	if i < 0 {
		t.Fatal("no function join")
	}
	b, err := json.Marshal(d.Functions[i])
	if want := `{"name":"join","parameters":[{"name":"separator","type":"string"},{"name":"lists","type":"list(string)","repeated":true}]}`; err != nil || string(b) != want {
		t.Errorf("join is described as %s (%v), want %s", b, err, want)
	}
	if len(d.Classes) < 20 {
		t.Errorf("%d classes", len(d.Classes))
	}
}

func TestFileNames(t *testing.T) {
	patterns := Describe().FileNames
	for _, name := range []string{
		"catalog.hcl", "wiki.catalog.hcl", "catalog.vars.hcl", "eu.auto.vars.hcl", "main.hcl", "catalog.hcl.example", "prod.vars.hcl",
		"catalog.catalog.hcl", ".catalog.hcl", ".x.catalog.hcl", "#x.catalog.hcl", "x.auto.vars.hcl~",
	} {
		want := slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok }) && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "#")
		if IsFile(name) != want {
			t.Errorf("IsFile(%q) = %v, want %v", name, !want, want)
		}
	}
}
