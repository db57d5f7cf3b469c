// Command mcpcat pins the tools that agents may use: see the README.
package main

import (
	"os"

	"github.com/mcpcat-dev/mcpcat/internal/cli"
	"github.com/mcpcat-dev/mcpcat/internal/term"
)

func main() { os.Exit(term.Run(cli.Main)) }
