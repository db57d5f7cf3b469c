package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/plan"
)

// BenchmarkMake compares 60 servers of 50 tools each with a lock that holds them.
func BenchmarkMake(b *testing.B) {
	var hcl strings.Builder
	all := map[string]offer{}
	for i := range 60 {
		fmt.Fprintf(&hcl, "server \"s%d\" {\n  http {\n    url = \"https://s%d.example/mcp\"\n  }\n  tools = [", i, i)
		o := offer{}
		for j := range 50 {
			fmt.Fprintf(&hcl, "\"t%d\", ", j)
			o.Tools = append(o.Tools, json.RawMessage(fmt.Sprintf(`{"name":"t%d","description":%q,"inputSchema":{"type":"object"}}`, j, strings.Repeat("Says it. ", 200))))
		}
		hcl.WriteString("]\n}\n")
		all[fmt.Sprintf("server.s%d", i)] = o
	}
	cat, _ := load(b, hcl.String())
	base := pinned(b, cat, all)
	in := plan.Input{Catalog: cat, Base: base, LockName: cat.Lock, Observed: observe(b, cat, all)}
	for b.Loop() {
		p, err := plan.Make(in)
		if err != nil || p.HasChanges() {
			b.Fatal(err)
		}
	}
}
