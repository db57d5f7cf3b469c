package gate_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/mcpcat-dev/mcpcat/gate"
)

func ExampleOpen() {
	ctx := context.Background()
	g, err := gate.Open(ctx, gate.Options{Dir: "catalog", Agent: "clerk"})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	for _, t := range g.Tools() {
		fmt.Println(t.Name, t.Address)
	}
}

func ExampleGate_Call() {
	var g *gate.Gate // of gate.Open
	result, err := g.Call(context.Background(), gate.Request{
		Name: "harbour__tide_table", Arguments: []byte(`{"date":"2026-10-01"}`),
	})
	var (
		refused   *gate.Refusal
		arguments *gate.ArgumentsError
		failed    *gate.UpstreamError
	)
	switch {
	case err == nil:
		fmt.Println(string(result.Raw))
	case errors.As(err, &refused):
		fmt.Println("not called:", refused.Reason, refused.Changed)
	case errors.As(err, &arguments):
		fmt.Println("not called:", arguments.Pointer, arguments.Keyword)
	case errors.As(err, &failed):
		fmt.Println("called:", failed.Delivered, failed.Code)
	}
}
