package observe

import (
	"fmt"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// Evidence returns the digest that the lock keeps beside the pins for one kept answer, and the bytes that are hashed. The
// kind is "tools" or "discovery", result the result object of tools/list (one page) or server/discover.
func Evidence(kind string, result []byte) (digest.Digest, []byte, error) {
	var s mcp.Snapshot
	switch kind {
	case "discovery":
		d, err := mcp.ParseDiscovery(result)
		if err != nil {
			return digest.Digest{}, nil, err
		}
		s = d
	case "tools":
		page, err := mcp.ParseToolsPage(result)
		if err != nil {
			return digest.Digest{}, nil, err
		}
		list, err := mcp.NewToolsSnapshot(page)
		if err != nil {
			return digest.Digest{}, nil, err
		}
		s = list
	default:
		return digest.Digest{}, nil, fmt.Errorf("got the kind %q, want tools or discovery", kind)
	}
	d, err := mcp.ComputeSnapshotDigest(s)
	if err != nil {
		return digest.Digest{}, nil, err
	}
	form, err := mcp.AppendSnapshotPreimage(nil, s)
	return digest.Digest(d), form, err
}
