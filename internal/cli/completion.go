package cli

import (
	"context"
	_ "embed"
	"io"
	"strings"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

var (
	//go:embed completion/mcpcat.bash
	bashScript string
	//go:embed completion/mcpcat.zsh
	zshScript string
	//go:embed completion/mcpcat.fish
	fishScript string
	//go:embed completion/mcpcat.ps1
	powershellScript string
)

// shells are those that a completion script is there for.
var shells = []struct{ name, script string }{
	{"bash", bashScript},
	{"zsh", zshScript},
	{"fish", fishScript},
	{"powershell", powershellScript},
}

func shellNames() []string {
	var names []string
	for _, s := range shells {
		names = append(names, s.name)
	}
	return names
}

func (a *app) completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a completion script for a shell",
		ArgsUsage: strings.Join(shellNames(), "|"),
		Description: "The script completes commands, flags, their values, and the addresses of the catalog and the lock file of the\n" +
			"directory one is in. It is printed and nothing else: how a shell loads it stands at its beginning.",
		Action: func(_ context.Context, c *cli.Command) error {
			a.kind = "completion"
			if c.Args().Len() != 1 {
				return usage("completion wants the name of one shell: %s.", strings.Join(shellNames(), ", "))
			}
			if a.flags.json {
				return usage("completion prints a script and no document.")
			}
			name := c.Args().First()
			for _, s := range shells {
				if s.name == name {
					_, err := io.WriteString(a.out, s.script)
					return err
				}
			}
			return usage("There is no completion for %s. There is one for %s.", diag.Quote(name, 0), strings.Join(shellNames(), ", "))
		},
	}
}
