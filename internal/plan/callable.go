package plan

import (
	"fmt"

	"github.com/mcpcat-dev/mcpcat/internal/schema"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// callable says why the gate refuses every call of a definition, nil if it does not: a schema in it is beyond the bounds
// of package schema or of a kind that it does not evaluate. Such a tool can be pinned, as text.
//
// The error names places of the schema and quotes none of its texts but references, which it quotes escaped.
func (m *maker) callable(def strictjson.Value) error {
	for _, name := range []string{"inputSchema", "outputSchema"} {
		v, ok := def.Get(name)
		if !ok {
			continue
		}
		err, known := m.schemas[string(v)]
		if !known {
			_, err = schema.Compile(v)
			m.schemas[string(v)] = err
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
