package cli

import (
	"bytes"
	"context"
	"path/filepath"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

func (a *app) lockCommand() *cli.Command {
	return &cli.Command{
		Name:     "lock",
		Usage:    "look into the lock file",
		Commands: []*cli.Command{a.lockListCommand(), a.lockShowCommand()},
	}
}

// anyLock loads the lock that -lock names, or the one of the catalog.
func (a *app) anyLock(ctx context.Context) (*lock.Lock, string, error) {
	path := a.path(a.flags.lock)
	if a.flags.lock == "" {
		cat, _, err := a.readCatalog(true)
		if err != nil {
			return nil, "", err
		}
		path = a.lockPath(cat)
	}
	l, err := a.loadLock(ctx, path, false)
	return l, a.short(path), err
}

func (a *app) lockListCommand() *cli.Command {
	var long bool
	return &cli.Command{
		Name:      "list",
		Usage:     "list what is pinned, one line an entry",
		ArgsUsage: "[SERVER]",
		Flags: concat([]cli.Flag{
			&cli.BoolFlag{Name: "long", Usage: "print whole digests, servers and agents too", OnlyOnce: true, Destination: &long},
		}, a.varFlags()),
		Action: func(ctx context.Context, c *cli.Command) error {
			a.kind = "lock_list"
			if c.Args().Len() > 1 {
				return usage("lock list takes one server address, got %d arguments.", c.Args().Len())
			}
			l, name, err := a.anyLock(ctx)
			if err != nil {
				return err
			}
			doc := view.NewLockList(l, name)
			if arg := c.Args().First(); arg != "" {
				s, err := addr.ParseServer(arg)
				if err != nil {
					return usage("%s is not the address of a server. One looks like server.github.", diag.Quote(arg, 0))
				}
				if l.ServerByAddr(s) == nil {
					return noEntry(name, s.String(), l)
				}
				doc = doc.Of(s)
			}
			if a.flags.json {
				return view.Envelope(a.out, a.kind, nil, doc)
			}
			return doc.Text(a.out, view.Options{Full: long})
		},
	}
}

func (a *app) lockShowCommand() *cli.Command {
	var raw bool
	return &cli.Command{
		Name:      "show",
		Usage:     "show one pinned definition and its digest",
		ArgsUsage: "ADDR",
		Flags: concat([]cli.Flag{
			&cli.BoolFlag{Name: "raw", Usage: "print the definition's bytes as they were received, and nothing else", OnlyOnce: true, Destination: &raw},
		}, a.varFlags()),
		Action: func(ctx context.Context, c *cli.Command) error {
			a.kind = "lock_show"
			if c.Args().Len() != 1 {
				return usage("lock show takes one address, such as server.github.tool.create_issue.")
			}
			if raw && a.flags.json {
				return usage("-raw and -json exclude each other.")
			}
			arg := c.Args().First()
			l, name, err := a.anyLock(ctx)
			if err != nil {
				return err
			}
			if s, err := addr.ParseServer(arg); err == nil {
				entry := l.ServerByAddr(s)
				if entry == nil {
					return noEntry(name, arg, l)
				}
				if raw {
					return usage("-raw prints the definition of one tool; %s is a server.", arg)
				}
				doc := view.NewLockServer(entry)
				if a.flags.json {
					return view.Envelope(a.out, a.kind, nil, doc)
				}
				return doc.Text(a.out, view.Options{Full: true})
			}
			item, err := addr.ParseItem(arg)
			if err != nil {
				return usage("%s is no address. An address looks like server.github.tool.create_issue or server.github.", diag.Quote(arg, 0))
			}
			entry := l.Find(item)
			switch {
			case entry == nil:
				return noEntry(name, item.String(), l)
			case raw:
				_, err := a.out.Write(append(bytes.Clone(entry.Definition), '\n'))
				return err
			case a.flags.json:
				return view.Envelope(a.out, a.kind, nil, view.NewLockItem(entry))
			default:
				return view.NewLockItem(entry).Text(a.out, view.Options{Width: a.Width, Full: true})
			}
		},
	}
}

func noEntry(name, address string, l *lock.Lock) error {
	var all []string
	for _, s := range l.Servers {
		all = append(all, s.Addr.String())
	}
	for _, it := range l.Items {
		all = append(all, it.Addr.String())
	}
	return fail(exitFailed, diag.Errorf("lock.no_entry", "Not in the lock file", "%s has no entry %s.%s", filepath.ToSlash(name), diag.Escape(address), suggest(address, all)).For(address))
}
