// Command mcpcat pins the tools that agents may use: see the README.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/mcpcat-dev/mcpcat/internal/cli"
	"github.com/mcpcat-dev/mcpcat/internal/term"
)

func main() {
	process, err := term.Current()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcpcat:", err)
		os.Exit(1)
	}
	ctx, stop := term.Interruptible(context.Background())
	code := cli.Main(ctx, os.Args[1:], process)
	stop()
	os.Exit(code)
}
