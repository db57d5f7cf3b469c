package lock

import (
	"cmp"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
)

func compareString(a, b string) int { return strings.Compare(a, b) }

// compareServer orders servers by label, then those without a key before those with one, by key.
func compareServer(a, b addr.Server) int {
	if c := strings.Compare(a.Label, b.Label); c != 0 {
		return c
	}
	if a.HasKey != b.HasKey {
		if b.HasKey {
			return -1
		}
		return 1
	}
	return strings.Compare(a.Key, b.Key)
}

// compareItem orders items by server, kind and the bytes of their names.
func compareItem(a, b addr.Item) int {
	if c := compareServer(a.Server, b.Server); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Name, b.Name))
}
