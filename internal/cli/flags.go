package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/contact"
	"github.com/mcpcat-dev/mcpcat/internal/observe"
)

type commonFlags struct {
	chdir     string
	lock      string
	json      bool
	noColor   bool
	logLevel  string
	logFormat string
	vars      []catalog.VarSource
}

// commonFlags are understood before and after the command's name.
func (a *app) commonFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "chdir", Usage: "work in `DIR` instead of the current directory", OnlyOnce: true, Destination: &a.flags.chdir},
		&cli.StringFlag{Name: "lock", Usage: "use the lock `FILE` instead of the catalog's", OnlyOnce: true, Destination: &a.flags.lock},
		&cli.BoolFlag{Name: "json", Usage: "print one JSON document", OnlyOnce: true, Destination: &a.flags.json},
		&cli.BoolFlag{Name: "no-color", Usage: "print no colour", OnlyOnce: true, Destination: &a.flags.noColor},
	}, a.logFlags()...)
}

// varFlags set catalog variables. Both kinds keep their common order on the command line.
func (a *app) varFlags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{Name: "var", Usage: "set a catalog variable: `NAME=VALUE`; may be repeated", Value: &varFlag{into: &a.flags.vars, parse: parseVar}},
		&cli.GenericFlag{Name: "var-file", Usage: "read catalog variables from `FILE`; may be repeated", Value: &varFlag{into: &a.flags.vars, parse: func(s string) (catalog.VarSource, error) {
			if s == "" {
				return catalog.VarSource{}, fmt.Errorf("want a file name")
			}
			return catalog.VarSource{File: s}, nil
		}}},
	}
}

func parseVar(s string) (catalog.VarSource, error) {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return catalog.VarSource{}, errors.New("want NAME=VALUE")
	}
	return catalog.VarSource{Name: name, Value: value}, nil
}

// varFlag appends to one list that two flags share.
type varFlag struct {
	into  *[]catalog.VarSource
	parse func(string) (catalog.VarSource, error)
}

func (v *varFlag) Set(s string) error {
	src, err := v.parse(s)
	if err != nil {
		return err
	}
	*v.into = append(*v.into, src)
	return nil
}

func (v *varFlag) Get() any       { return nil }
func (v *varFlag) String() string { return "" }

// contactFlags bound how servers are asked.
type contactFlags struct {
	mode        string
	parallelism int
	timeout     time.Duration
}

// contactUsage is the help of -contact.
const contactUsage = "contact `all|locked|none` of the servers; locked: pinned and accepted endpoints, others are asked about on a terminal"

func (f *contactFlags) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name: "contact", Usage: contactUsage,
			Value: string(contact.Locked), OnlyOnce: true, Destination: &f.mode,
			Validator: func(s string) error { _, err := contact.ParseMode(s); return err },
		},
		&cli.IntFlag{
			Name: "parallelism", Usage: "ask `N` servers at a time", Value: observe.DefaultParallelism, OnlyOnce: true, Destination: &f.parallelism,
			Validator: func(n int) error {
				if n < 1 || n > 256 {
					return fmt.Errorf("got %d, want 1 to 256", n)
				}
				return nil
			},
		},
		&cli.DurationFlag{
			Name: "timeout", Usage: "give one server at most `DURATION`, such as 30s; 0 leaves only the limits of its block", OnlyOnce: true, Destination: &f.timeout,
			Validator: notNegative,
		},
	}
}

func notNegative(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("got %s, want 0 or more", d)
	}
	return nil
}
