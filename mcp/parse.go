package mcp

import (
	"slices"

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

// ParseResourcesPage reads the result object of one resources/list answer that was kept, as strictly as ListResources
// does. It keeps a copy of the bytes. The default limits hold; the error is a *ProtocolError or a *LimitError.
func ParseResourcesPage(result []byte) (*ResourcesPage, error) {
	return resourcesList.parsePage(result)
}

// ParseResourceTemplatesPage is ParseResourcesPage for resources/templates/list.
func ParseResourceTemplatesPage(result []byte) (*ResourceTemplatesPage, error) {
	return resourceTemplatesList.parsePage(result)
}

// ParsePromptsPage is ParseResourcesPage for prompts/list.
func ParsePromptsPage(result []byte) (*PromptsPage, error) { return promptsList.parsePage(result) }

// ParseReadResourceResult reads the complete result object of a resources/read answer that was kept, as strictly as
// ReadResource does. It keeps a copy of the bytes. The error is a *ProtocolError, or a *LimitError for more than 8 MiB or
// 128 levels.
func ParseReadResourceResult(result []byte) (*ReadResourceResult, error) {
	v, err := parseResult(methodResourcesRead, result)
	if err != nil {
		return nil, err
	}
	typ, f := resultType(v)
	if f == nil && typ != typeComplete {
		f = faultf(`is %s, want "complete"`, peer(typ)).under("resultType")
	}
	if f != nil {
		return nil, f.err(methodResourcesRead)
	}
	r := &ReadResourceResult{}
	if f := r.decode(v); f != nil {
		return nil, f.err(methodResourcesRead)
	}
	return r, nil
}

// ParseResource reads one resource definition, for example a pinned one, as ParseTool does a tool's.
func ParseResource(definition []byte) (*Resource, error) {
	_, r, err := parseItem(slices.Clone(definition), decodeResource)
	return r, err
}

// ParseResourceTemplate is ParseResource for a resource template.
func ParseResourceTemplate(definition []byte) (*ResourceTemplate, error) {
	_, t, err := parseItem(slices.Clone(definition), decodeResourceTemplate)
	return t, err
}

// ParsePrompt is ParseResource for a prompt.
func ParsePrompt(definition []byte) (*Prompt, error) {
	_, p, err := parseItem(slices.Clone(definition), decodePrompt)
	return p, err
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
