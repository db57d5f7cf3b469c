package observe

import (
	"fmt"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// EvidenceKinds are the kinds that Evidence takes.
var EvidenceKinds = []string{"tools", "resources", "resource_templates", "prompts", "resource_read", "discovery"}

// Evidence returns the digest that the lock keeps beside the pins for kept answers, and the bytes that are hashed. A
// result is the result object of one answer: of tools/list, resources/list, resources/templates/list or prompts/list, all
// pages in order, or of resources/read or server/discover, of which there is one.
//
// The error is one of package mcp's, or says that the kind is none of EvidenceKinds.
func Evidence(kind string, results ...[]byte) (digest.Digest, []byte, error) {
	s, err := snapshot(kind, results)
	if err != nil {
		return digest.Digest{}, nil, err
	}
	d, err := mcp.ComputeSnapshotDigest(s)
	if err != nil {
		return digest.Digest{}, nil, err
	}
	form, err := mcp.AppendSnapshotPreimage(nil, s)
	return digest.Digest(d), form, err
}

func snapshot(kind string, results [][]byte) (mcp.Snapshot, error) {
	switch kind {
	case "tools":
		return pages(results, mcp.ParseToolsPage, mcp.NewToolsSnapshot)
	case "resources":
		return pages(results, mcp.ParseResourcesPage, mcp.NewResourcesSnapshot)
	case "resource_templates":
		return pages(results, mcp.ParseResourceTemplatesPage, mcp.NewResourceTemplatesSnapshot)
	case "prompts":
		return pages(results, mcp.ParsePromptsPage, mcp.NewPromptsSnapshot)
	case "resource_read":
		return single(kind, results, mcp.ParseReadResourceResult)
	case "discovery":
		return single(kind, results, mcp.ParseDiscovery)
	}
	return nil, fmt.Errorf("got the kind %q, want one of %s", kind, strings.Join(EvidenceKinds, ", "))
}

func single[S mcp.Snapshot](kind string, results [][]byte, parse func([]byte) (S, error)) (mcp.Snapshot, error) {
	if len(results) != 1 {
		return nil, fmt.Errorf("got %d results for the kind %s, want one", len(results), kind)
	}
	return parse(results[0])
}

func pages[P any, S mcp.Snapshot](results [][]byte, parse func([]byte) (P, error), join func(...P) (S, error)) (mcp.Snapshot, error) {
	list := make([]P, 0, len(results))
	for i, result := range results {
		page, err := parse(result)
		if err != nil && len(results) > 1 {
			err = fmt.Errorf("page %d: %w", i+1, err)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, page)
	}
	return join(list...)
}
