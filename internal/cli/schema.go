package cli

import (
	"bytes"
	"context"
	"encoding/json"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/docs/schema"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/view"
)

// languageKind is the document that describes the catalog language.
const languageKind = "language"

func (a *app) schemaCommand() *cli.Command {
	return &cli.Command{
		Name:      "schema",
		Usage:     "print the JSON Schema of a document, or describe the catalog language",
		ArgsUsage: "[KIND]",
		Description: "KIND is the member kind of the document, such as plan or verify; without it the kinds are listed. With language,\n" +
			"prints the blocks, arguments, types, defaults and functions of the catalog language as a JSON document.",
		Action: func(_ context.Context, c *cli.Command) error {
			a.kind = "schema"
			if c.Args().Len() > 1 {
				return usage("schema takes one kind of document, got %d arguments.", c.Args().Len())
			}
			kind := c.Args().First()
			switch kind {
			case "":
				doc := view.Schemas{}
				for _, k := range schema.Kinds() {
					doc.Schemas = append(doc.Schemas, view.Schema{Kind: k, Title: schema.Title(k)})
				}
				if a.flags.json {
					return view.Envelope(a.out, a.kind, nil, doc)
				}
				return doc.Text(a.out)
			case languageKind:
				return a.language()
			}
			return a.schema(kind)
		},
	}
}

func (a *app) schema(kind string) error {
	if schema.Title(kind) == "" {
		return fail(exitFailed, diag.Errorf("schema.unknown", "No such kind of document", "There is no document of kind %s.%s Run mcpcat schema for the list.", diag.Quote(kind, 0), suggest(kind, schema.Kinds())))
	}
	text, err := schema.Of(kind)
	if err != nil {
		return err
	}
	if a.flags.json {
		return view.Envelope(a.out, a.kind, nil, view.Schemas{Schemas: []view.Schema{{Kind: kind, Title: schema.Title(kind), Schema: text}}})
	}
	_, err = a.out.Write(text)
	return err
}

// language prints the document that describes the language: on one line with -json, like every document, else for reading.
func (a *app) language() error {
	a.kind = languageKind
	if a.flags.json {
		return view.Envelope(a.out, a.kind, nil, catalog.Describe())
	}
	var line, text bytes.Buffer
	if err := view.Envelope(&line, a.kind, nil, catalog.Describe()); err != nil {
		return err
	}
	if err := json.Indent(&text, line.Bytes(), "", "  "); err != nil {
		return err
	}
	_, err := a.out.Write(text.Bytes())
	return err
}
