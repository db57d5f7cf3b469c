// Command conformance-client is what the official conformance suite drives: a small host of package mcp. It does what the
// scenario in MCP_CONFORMANCE_SCENARIO asks of a client, against the server whose URL is the last argument, and ends with 0 if
// nothing went wrong.
//
// The library is strict and does nothing by itself: what follows a typed error, who answers a round and what is called is the
// host's business, and here this program is the host.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// patience bounds one run. The suite ends it after 20 s.
const patience = 15 * time.Second

// scenarios are the scenarios of the suite that need no authorization.
var scenarios = map[string]func(context.Context, string) error{
	"tools_call":                       addNumbers,
	"request-metadata":                 lookAround,
	"sep-2322-client-request-state":    answerRounds,
	"http-standard-headers":            useOneOfEach,
	"http-custom-headers":              callFromContext,
	"http-invalid-tool-headers":        callWhatIsListed,
	"json-schema-ref-no-deref":         lookAround,
	"json-schema-2020-12-preservation": echoSchema,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "conformance-client:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("got %d arguments, want the URL of a server", len(args))
	}
	name := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	scenario, ok := scenarios[name]
	if !ok {
		return fmt.Errorf("scenario %q is not supported", name)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := scenario(ctx, args[0]); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
