package importer

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
)

// write returns the catalog text.
func (im *importer) write() []byte {
	f := hclwrite.NewEmptyFile()
	body := f.Body()
	im.head(body)
	for _, v := range im.order {
		body.AppendNewline()
		im.guard(nil, "the name of a variable", v.name)
		b := body.AppendNewBlock("variable", []string{v.name}).Body()
		raw(b, "type", "string")
		if description := im.render(v.description); im.exposes(description) {
			raw(b, "description", addr.Quote(notShown))
		} else {
			raw(b, "description", addr.Quote(description))
		}
		if v.def != nil {
			raw(b, "default", im.quoted(nil, "the default of a variable", *v.def))
			continue
		}
		raw(b, "sensitive", "true")
		raw(b, "nullable", "false")
	}
	for _, s := range im.servers {
		body.AppendNewline()
		im.guard(s, "the name", s.label)
		im.writeServer(body.AppendNewBlock("server", []string{s.label}).Body(), s)
	}
	return hclwrite.Format(f.Bytes())
}

func (im *importer) head(body *hclwrite.Body) {
	im.comment(body, say("Imported from %s. Nothing is pinned yet: run \"mcpcat plan\", which names the tools that each", foreign(im.o.Name[strings.LastIndexAny(im.o.Name, `/\`)+1:])))
	im.comment(body, say("server lists, and put those that are wanted into its tools."))
	var names []string
	for _, v := range im.order {
		if v.sensitive {
			names = append(names, "MCPCAT_VAR_"+v.name)
		}
	}
	if len(names) > 0 {
		im.comment(body, say("Secrets were left behind. Set these variables of the environment:"))
		for _, n := range names {
			im.comment(body, say("  %s", n))
		}
	}
}

func (im *importer) writeServer(b *hclwrite.Body, s *server) {
	for _, c := range s.comments {
		im.comment(b, c)
	}
	if s.description != "" {
		raw(b, "description", im.quoted(s, "the description", s.description))
	}
	if !s.enabled() {
		for _, why := range s.off {
			im.comment(b, why)
		}
		raw(b, "enabled", "false")
	}
	if len(s.comments)+len(s.off)+len(s.description) > 0 {
		b.AppendNewline()
	}
	if s.http != nil {
		im.writeHTTP(b.AppendNewBlock("http", nil).Body(), s)
	} else {
		im.writeStdio(b.AppendNewBlock("stdio", nil).Body(), s)
	}
	if s.timeout != "" {
		b.AppendNewline()
		raw(b.AppendNewBlock("timeouts", nil).Body(), "call", addr.Quote(s.timeout))
	}
	b.AppendNewline()
	im.comment(b, say("Choose: \"mcpcat plan\" names the tools that are listed and not declared."))
	raw(b, "tools", "[]")
}

func (im *importer) writeHTTP(b *hclwrite.Body, s *server) {
	raw(b, "url", im.expression(s, "the url", s.http.url))
	im.writePairs(b, s, "headers", s.http.headers)
	if s.http.bearer != nil {
		raw(b.AppendNewBlock("auth", nil).Body(), "bearer", im.expression(s, "the bearer token", s.http.bearer))
	}
	if s.http.private {
		raw(b.AppendNewBlock("egress", nil).Body(), "allow_private", "true")
	}
}

func (im *importer) writeStdio(b *hclwrite.Body, s *server) {
	raw(b, "command", im.expression(s, "the command", s.stdio.command))
	if len(s.stdio.args) > 0 {
		lines := false
		var list []string
		for _, a := range s.stdio.args {
			if a.expr == nil {
				lines = true
				list = append(list, "# "+im.line(a.out))
				continue
			}
			list = append(list, im.expression(s, "an argument", a.expr)+",")
		}
		if all := strings.Join(list, " "); !lines && len(all) < 80 {
			raw(b, "args", "["+strings.TrimSuffix(all, ",")+"]")
		} else {
			raw(b, "args", "[\n"+strings.Join(list, "\n")+"\n]")
		}
	}
	im.writePairs(b, s, "env", s.stdio.env)
	if s.stdio.workdir != nil {
		raw(b, "workdir", im.expression(s, "the cwd", s.stdio.workdir))
	}
}

// writePairs writes a map of texts. Its keys are quoted unless they are identifiers of the language.
func (im *importer) writePairs(b *hclwrite.Body, s *server, name string, pairs []outPair) {
	if len(pairs) == 0 {
		return
	}
	var out strings.Builder
	out.WriteString("{\n")
	for _, p := range pairs {
		key := im.quoted(s, "a name in "+name, p.name)
		if hclsyntax.ValidIdentifier(p.name) {
			key = p.name
		}
		out.WriteString(key + " = " + im.expression(s, "a value in "+name, p.value) + "\n")
	}
	raw(b, name, out.String()+"}")
}

// expression and quoted write texts of the config. What holds a secret after all ends the import.
func (im *importer) expression(s *server, where string, e expr) string {
	im.guard(s, where, e.literals())
	return e.hcl()
}

func (im *importer) quoted(s *server, where, text string) string {
	im.guard(s, where, text)
	return addr.Quote(text)
}

func (im *importer) guard(s *server, where, text string) {
	if !im.exposes(text) {
		return
	}
	at, whose := 0, ""
	if s != nil {
		at, whose = s.at, fmt.Sprintf(" of %s", im.shown(s.name))
	}
	im.fail("import.exposed", "Secret in an open place", at,
		"The config has one text in two places: in %s%s, and in env, headers or arguments, where literals are taken for secrets. It is not shown, and nothing was imported. Change one of the two.", where, whose)
}

// raw sets an attribute to an expression. Quoting and layout are the caller's and those of the final formatting.
func raw(b *hclwrite.Body, name, expression string) {
	b.SetAttributeRaw(name, hclwrite.Tokens{{Type: hclsyntax.TokenIdent, Bytes: []byte(expression)}})
}

func (im *importer) line(c sentence) string {
	return strings.ReplaceAll(im.render(c), "\n", " ")
}

func (im *importer) comment(b *hclwrite.Body, c sentence) {
	b.AppendUnstructuredTokens(hclwrite.Tokens{{Type: hclsyntax.TokenComment, Bytes: []byte(strings.TrimRight("# "+im.line(c), " ") + "\n")}})
}
