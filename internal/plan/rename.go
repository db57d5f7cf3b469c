package plan

import (
	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// renames notes where a removed and an added tool of one server are the same but for the name. It stays a removal and an
// addition, since a new name is how a pin would be shed.
func (m *maker) renames() {
	removed := map[string][]*Change{}
	for i := range m.plan.Changes {
		if c := &m.plan.Changes[i]; c.Action == Remove {
			key := nameless(c.Address, c.Before)
			removed[key] = append(removed[key], c)
		}
	}
	if len(removed) == 0 {
		return
	}
	for i := range m.plan.Changes {
		c := &m.plan.Changes[i]
		if c.Action != Add {
			continue
		}
		// With several candidates nothing can be said.
		if was := removed[nameless(c.Address, c.After)]; len(was) == 1 {
			c.Note = "looks like a rename of " + was[0].Address
		}
	}
}

// nameless is a definition without its name, together with its server.
func nameless(address string, v *Version) string {
	a, err := addr.ParseItem(address)
	if err != nil {
		return address
	}
	out := a.Server.String()
	for name, val := range strictjson.Value(v.Definition).Members() {
		if name != "name" {
			out += "\n" + string(strictjson.AppendString(nil, name)) + string(val)
		}
	}
	return out
}
