package plan

import (
	"bytes"
	"fmt"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
)

// minSecret is the length below which a secret is not looked for: shorter ones occur by chance.
const minSecret = 6

// leak says which secret of the catalog a server's answers hold, by reference; empty if none. Such an answer is not
// pinned, since lock and plan are read by people who may not know the secret.
func leak(cat *catalog.Catalog, s *surface.Server) string {
	for _, sec := range cat.Secrets() {
		value := sec.Expose()
		if len(value) < minSecret {
			continue
		}
		// Texts are compared in their canonical spelling, in which a character has one escape or none.
		inner := strictjson.AppendString(nil, value)
		inner = inner[1 : len(inner)-1]
		holds := func(src []byte) bool {
			if len(src) == 0 {
				return false
			}
			return bytes.Contains([]byte(canonicalText(src)), inner)
		}
		for _, it := range s.Tools {
			if holds(it.Definition) {
				return fmt.Sprintf("A tool of its list holds the value of %s.", sec.Ref())
			}
		}
		for _, src := range [][]byte{s.Discovery, stringArray(s.ToolOrder)} {
			if holds(src) {
				return fmt.Sprintf("Its answers hold the value of %s.", sec.Ref())
			}
		}
		for _, x := range s.Excluded {
			if bytes.Contains([]byte(x.Name+x.Reason), []byte(value)) {
				return fmt.Sprintf("A tool of its list holds the value of %s.", sec.Ref())
			}
		}
	}
	return ""
}
