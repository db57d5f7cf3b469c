package mcp

import (
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// ParseDiscovery reads the result object of a server/discover answer that was kept, as strictly as Connect does. It keeps
// a copy of the bytes. The default limits hold; the error is a *ProtocolError or a *LimitError.
func ParseDiscovery(result []byte) (*Discovery, error) {
	v, err := parseResult(methodDiscover, result)
	if err != nil {
		return nil, err
	}
	d, f := decodeDiscovery(v)
	if f != nil {
		return nil, f.err(methodDiscover)
	}
	return d, nil
}

// ParseToolsPage reads the result object of one tools/list answer that was kept, as strictly as ListTools does over
// stdio, where header annotations exclude no tool. It keeps a copy of the bytes. The default limits hold; the error is a
// *ProtocolError or a *LimitError.
func ParseToolsPage(result []byte) (*ToolsPage, error) {
	return toolsList.parsePage(result)
}

func parseResult(method string, result []byte) (strictjson.Value, error) {
	lim := strictjson.Limits{Bytes: defaultListBytes, Depth: defaultJSONDepth}
	if err := strictjson.CheckObject(result, lim); err != nil {
		return nil, fromStrict(method, err, lim)
	}
	v, err := strictjson.Parse(append([]byte(nil), result...), lim)
	if err != nil {
		return nil, fromStrict(method, err, lim)
	}
	return v, nil
}

// AppendSnapshotPreimage appends the bytes whose SHA-256 ComputeSnapshotDigest returns, for those who check a digest
// elsewhere. The errors are those of ComputeSnapshotDigest.
func AppendSnapshotPreimage(dst []byte, s Snapshot) ([]byte, error) {
	kind, doc, err := encodeSnapshot(s)
	if err != nil {
		return nil, err
	}
	if len(doc) > maxSnapshotBytes {
		return nil, tooMuch("snapshot", maxSnapshotBytes, "bytes").err("")
	}
	lim := snapshotLimits
	out, err := digest.AppendJSONPreimage(dst, kind, doc, lim)
	if err != nil {
		return nil, fromStrict("", err, lim)
	}
	return out, nil
}

// snapshotLimits bound the document of a snapshot. A page stands two levels deeper in it than in its answer.
var snapshotLimits = strictjson.Limits{Bytes: maxSnapshotBytes, Depth: strictjson.DefaultMaxDepth + 2}
