package mcp_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

// ExampleClient_SnapshotResources reads the whole list and takes both kinds of digest.
func ExampleClient_SnapshotResources() {
	client := connect()
	defer func() { _ = client.Close() }()
	snapshot, err := client.SnapshotResources(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	evidence, err := mcp.ComputeSnapshotDigest(snapshot) // of all that was answered, hints and order included
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(snapshot.Pages), "page,", len(evidence.String()), "digits")
	for _, resource := range snapshot.Resources {
		if _, err := mcp.ComputeResourceDigest(resource); err != nil { // of one definition, what a pin is made of
			log.Fatal(err)
		}
		fmt.Println(resource.URI)
	}
	// Output:
	// 1 page, 64 digits
	// tide://north
}

// ExampleComputeResourceDigest shows what of a resource may change without its pin being broken.
func ExampleComputeResourceDigest() {
	digest := func(definition string) mcp.ItemDigest {
		resource, err := mcp.ParseResource([]byte(definition))
		if err != nil {
			log.Fatal(err)
		}
		d, err := mcp.ComputeResourceDigest(resource)
		if err != nil {
			log.Fatal(err)
		}
		return d
	}
	pinned := digest(`{"uri":"file:///log","name":"log","size":4096}`)
	fmt.Println(digest(`{"name":"log","uri":"file:///log","size":8192,"annotations":{}}`) == pinned)
	fmt.Println(digest(`{"name":"log","uri":"file:///log","size":8192}`) == pinned)
	// Output:
	// false
	// true
}

// Whether arguments fit can be asked before a call. Nothing is sent.
func ExampleTool_CheckArguments() {
	tool, err := mcp.ParseTool([]byte(`{"name":"tide_table","inputSchema":{"type":"object","properties":{"day":{"type":"string"}},"required":["day"]}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tool.CheckArguments([]byte(`{"day":3}`)))
	fmt.Println(tool.CheckArguments([]byte(`{"day":"2026-10-01"}`)))
	// Output:
	// tool "tide_table": arguments/day: do not conform to the inputSchema (type)
	// <nil>
}
