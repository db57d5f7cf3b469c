package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/observe"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// itemKinds are digested as the gate does it, observe.EvidenceKinds as evidence over whole answers.
var itemKinds = []string{"tool", "prompt", "resource", "resource_template"}

// listKinds are the evidence kinds whose answers may be several pages.
var listKinds = []string{"tools", "resources", "resource_templates", "prompts"}

// maxDigestFiles is as many pages as a list may have.
const maxDigestFiles = 1_000

func (a *app) digestCommand() *cli.Command {
	var kind string
	var canonical bool
	kinds := slices.Concat(itemKinds, observe.EvidenceKinds)
	return &cli.Command{
		Name:      "digest",
		Usage:     "compute the digest of a definition or of a whole answer",
		ArgsUsage: "FILE...",
		Description: "FILE holds one JSON object, - means standard input. The kinds tool, prompt, resource and resource_template give the\n" +
			"digest by which the gate decides. The kinds tools, resources, resource_templates and prompts, over the results of\n" +
			"all pages of the list in order, one file each, and resource_read and discovery, over the result of resources/read\n" +
			"or server/discover, give evidence of all that the server answered. docs/digest.md says what is hashed.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "kind", Usage: "what FILE holds: `" + strings.Join(kinds, "|") + "`", Value: "tool", OnlyOnce: true, Destination: &kind, Validator: func(s string) error {
				if !slices.Contains(kinds, s) {
					return fmt.Errorf("got %q, want one of %s", s, strings.Join(kinds, ", "))
				}
				return nil
			}},
			&cli.BoolFlag{Name: "canonical", Usage: "print the canonical bytes that are hashed, and nothing else", OnlyOnce: true, Destination: &canonical},
		},
		Action: func(_ context.Context, c *cli.Command) error {
			a.kind = "digest"
			pages := slices.Contains(listKinds, kind)
			switch n := c.Args().Len(); {
			case n == 0, n > 1 && !pages:
				return usage("digest takes one file, or - for standard input; only of a list, several pages.")
			case n > maxDigestFiles:
				return usage("digest takes at most %d files.", maxDigestFiles)
			}
			if canonical && a.flags.json {
				return usage("-canonical and -json exclude each other.")
			}
			var files [][]byte
			left := int64(strictjson.DefaultMaxBytes)
			for _, name := range c.Args().Slice() {
				b, err := a.input(name, left)
				if err != nil {
					return err
				}
				left -= int64(len(b))
				files = append(files, b)
			}
			doc := view.DigestDoc{Kind: kind}
			var form []byte
			var err error
			if slices.Contains(itemKinds, kind) {
				doc.Digest, err = digest.OfItem(digest.Kind(kind), files[0])
				if err == nil {
					form, err = digest.AppendPreimage(nil, digest.Kind(kind), files[0])
				}
			} else {
				doc.Digest, form, err = observe.Evidence(kind, files...)
			}
			if err != nil {
				return fail(exitFailed, diag.Errorf("digest.refused", "No digest of this", "%s.", upper(diag.Escape(err.Error()))))
			}
			switch {
			case canonical:
				_, err := a.out.Write(form)
				return err
			case a.flags.json:
				return view.Envelope(a.out, a.kind, nil, doc)
			default:
				_, err := fmt.Fprintln(a.out, doc.Digest)
				return err
			}
		},
	}
}

// input reads a file of at most limit bytes, or standard input for "-".
func (a *app) input(name string, limit int64) ([]byte, error) {
	var b []byte
	var err error
	if name == "-" {
		b, err = io.ReadAll(io.LimitReader(a.Stdin, limit+1))
		if err == nil && int64(len(b)) > limit {
			err = fmt.Errorf("standard input has more than %d bytes", limit)
		}
	} else {
		b, err = readFile(a.path(name), limit)
	}
	if err != nil {
		return nil, fail(exitFailed, diag.Errorf("input.unreadable", "Input cannot be read", "%s.", upper(diag.Escape(err.Error()))))
	}
	return b, nil
}
