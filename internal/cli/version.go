package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/plan"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// version is the version of this program.
const version = "0.1.0"

func (a *app) versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the versions of the program, the protocol and the file formats",
		Action: func(_ context.Context, c *cli.Command) error {
			a.kind = "version"
			if err := noArgs(c); err != nil {
				return err
			}
			doc := view.Version{
				Version: version, Protocol: surface.Protocol,
				LockFormat: fmt.Sprintf("%d.%d", lock.FormatMajor, lock.FormatMinor), PlanFormat: plan.FormatVersion,
				Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Revision: revision(),
			}
			if a.flags.json {
				return view.Envelope(a.out, a.kind, nil, doc)
			}
			return doc.Text(a.out)
		},
	}
}

// revision is the commit that the binary was built from, with a plus sign if files differed from it; empty if unknown.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			rev = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+"
			}
		}
	}
	if len(rev) > 12 {
		rev = rev[:12]
	}
	return rev + dirty
}

func noArgs(c *cli.Command) error {
	if c.Args().Len() > 0 {
		return usage("%s takes no arguments, got %q.", c.Name, c.Args().First())
	}
	return nil
}
