package importer

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
)

// part is a piece of a value: a literal text, or a reference.
type part struct {
	lit string
	ref *reference
}

type refKind int

const (
	refUnknown   refKind = iota
	refEnv               // ${NAME}, ${NAME:-default}, ${env:NAME}
	refInput             // ${input:id}
	refWorkspace         // ${workspaceFolder}
	refHome              // ${userHome}
)

type reference struct {
	kind   refKind
	name   string
	def    string // behind :-
	hasDef bool
	raw    string // as written
}

// split takes a value apart at its references. What opens with ${ and does not close is a literal.
func split(s string) []part {
	var out []part
	lit := func(t string) {
		if n := len(out); n > 0 && out[n-1].ref == nil {
			out[n-1].lit += t
		} else if t != "" {
			out = append(out, part{lit: t})
		}
	}
	for s != "" {
		open := strings.Index(s, "${")
		if open < 0 {
			lit(s)
			break
		}
		length := strings.IndexByte(s[open:], '}')
		if length < 0 {
			lit(s)
			break
		}
		lit(s[:open])
		raw := s[open : open+length+1]
		s = s[open+length+1:]
		switch inner := raw[2 : len(raw)-1]; inner {
		case "pathSeparator", "/":
			lit("/")
		default:
			out = append(out, part{ref: parseReference(inner, raw)})
		}
	}
	return out
}

func parseReference(inner, raw string) *reference {
	r := &reference{raw: raw}
	switch id, isInput := strings.CutPrefix(inner, "input:"); {
	case isInput && id != "":
		r.kind, r.name = refInput, id
		return r
	case inner == "workspaceFolder", inner == "workspaceRoot":
		r.kind = refWorkspace
		return r
	case inner == "userHome":
		r.kind = refHome
		return r
	}
	name := strings.TrimPrefix(inner, "env:")
	name, r.def, r.hasDef = strings.Cut(name, ":-")
	switch {
	case !catalog.ValidEnvName(name) || strings.Contains(r.def, "${"):
	case name == "CLAUDE_PROJECT_DIR":
		r.kind, r.def, r.hasDef = refWorkspace, "", false
	default:
		r.kind, r.name = refEnv, name
	}
	return r
}

func literal(parts []part) (string, bool) {
	switch len(parts) {
	case 0:
		return "", true
	case 1:
		return parts[0].lit, parts[0].ref == nil
	}
	return "", false
}

// expr is an expression of the catalog: literal texts and references in a row.
type expr []piece

type piece struct {
	lit string
	ref string // an expression, such as var.token; "" for a literal
	def string // the default of a variable that is no secret
}

func text(s string) expr { return expr{{lit: s}} }
func ref(s string) expr  { return expr{{ref: s}} }

// literals are the texts that are written out.
func (e expr) literals() string {
	var b strings.Builder
	for _, p := range e {
		b.WriteString(p.lit)
	}
	return b.String()
}

// plain is the value of an expression without secrets where no variable is set.
func (e expr) plain() string {
	var b strings.Builder
	for _, p := range e {
		b.WriteString(p.lit + p.def)
	}
	return b.String()
}

// hcl writes the expression: a reference alone as it is, everything else as a template.
func (e expr) hcl() string {
	if len(e) == 1 && e[0].ref != "" {
		return e[0].ref
	}
	var b strings.Builder
	b.WriteByte('"')
	for i, p := range e {
		if p.ref != "" {
			b.WriteString("${" + p.ref + "}")
			continue
		}
		lit, tail := p.lit, ""
		if i+1 < len(e) && e[i+1].ref != "" {
			// A dollar sign in front of ${ would be an escape.
			lit = strings.TrimRight(p.lit, "$%")
			tail = p.lit[len(lit):]
		}
		quoted := addr.Quote(lit)
		b.WriteString(quoted[1 : len(quoted)-1])
		if tail != "" {
			b.WriteString("${" + addr.Quote(tail) + "}")
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Words and forms that no credential has.
var (
	trivial    = []string{"", "0", "1", "true", "false", "yes", "no", "on", "off", "none", "null", "True", "False", "TRUE", "FALSE"}
	simpleWord = regexp.MustCompile(`^[a-z]{1,16}$`)
	pathLike   = regexp.MustCompile(`^(~|\.{0,2}|[A-Za-z]:)([/\\][A-Za-z0-9._ -]{1,64})+[/\\]?$`)
	urlLike    = regexp.MustCompile(`^https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._-]{1,32})*/?$`)
)

// allowed are the variables whose values are written out if they have the form. A name that begins with an underscore stands
// for every name that ends in it.
var allowed = []struct {
	names []string
	form  *regexp.Regexp
}{
	{[]string{"LOG_LEVEL", "LOGLEVEL", "_LOG_LEVEL", "_LOGLEVEL"}, regexp.MustCompile(`^(?i)(trace|debug|verbose|info|notice|warn|warning|error|critical|fatal|silent|quiet|[0-9]{1,2})$`)},
	{[]string{"NODE_ENV", "APP_ENV", "ENVIRONMENT", "ENV"}, regexp.MustCompile(`^(development|production|staging|testing|test|local|dev|prod)$`)},
	{[]string{"LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "Accept-Language"}, regexp.MustCompile(`^([A-Za-z]{1,3}|POSIX)([_-][A-Za-z]{2,4})?(\.[A-Za-z]{2,5}-?[0-9]{0,2})?$`)},
	{[]string{"TZ"}, regexp.MustCompile(`^[A-Z][A-Za-z]{1,15}(/[A-Z][A-Za-z_]{1,20})?$`)},
	{[]string{"DEBUG"}, regexp.MustCompile(`^(\*|[a-z]{1,16}(:(\*|[a-z]{1,16}))*)$`)},
	{[]string{"PORT", "_PORT"}, regexp.MustCompile(`^[0-9]{2,5}$`)},
	{[]string{"TIMEOUT", "_TIMEOUT", "_TIMEOUT_MS"}, regexp.MustCompile(`^[0-9]{1,6}$`)},
	{[]string{"PYTHONIOENCODING"}, regexp.MustCompile(`^(utf-?8|ascii|latin-?1)$`)},
}

// harmless reports whether a literal in env or headers cannot be a credential, whatever it is for.
func harmless(name, value string) bool {
	if slices.Contains(trivial, value) {
		return true
	}
	return slices.ContainsFunc(allowed, func(a struct {
		names []string
		form  *regexp.Regexp
	},
	) bool {
		return a.form.MatchString(value) && slices.ContainsFunc(a.names, func(n string) bool {
			return strings.EqualFold(n, name) || n[0] == '_' && strings.HasSuffix(strings.ToUpper(name), n)
		})
	})
}

var (
	moreNames = regexp.MustCompile(`(?i)(^|[^a-z])(pat|pwd|pass|auth|key|dsn|sas|sig|signature|session|bearer|apikey|jwt)([^a-z]|$)`)
	inner     = regexp.MustCompile(`(?i)(^|[^a-z0-9])((ghp_|gho_|ghs_|ghu_|github_pat_|glpat-|sk-|sk_|pk_|rk_|xox[abprs]-|xapp-|AKIA|ASIA|eyJ|AIza|ya29\.|npm_|pypi-|hf_|ntn_|secret_|lin_api_|dop_v1_|shpat_|SG\.)[A-Za-z0-9._-]{10,}|(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,})`)
	userInfo  = regexp.MustCompile(`://[^/\s@]*:[^/\s@]+@`)
	hexRun    = regexp.MustCompile(`^[0-9a-fA-F]{32,}$`)
	uuid      = regexp.MustCompile(`(?i)(^|[^0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}([^0-9a-f]|$)`)
	digests   = regexp.MustCompile(`sha(256:[0-9a-f]{64}|512:[0-9a-f]{128})|@[0-9a-f]{40}$`)
)

// credentialName reports whether a name says that its value is a credential.
func credentialName(name string) bool {
	return catalog.CredentialName(name) || moreNames.MatchString(name)
}

// credentialValue reports whether a text looks like a credential, or holds one. Digests of images and commits do not.
func credentialValue(s string) bool {
	s = digests.ReplaceAllString(s, "")
	if knownCredential(s) || uuid.MatchString(s) {
		return true
	}
	return slices.ContainsFunc(strings.FieldsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	}), random)
}

// knownCredential reports whether a text has the form of a credential that is known by its form.
func knownCredential(s string) bool {
	return catalog.CredentialValue(s) || inner.MatchString(s) || userInfo.MatchString(s)
}

// random reports whether a run of letters and digits is none that people write: a long hexadecimal number, or 16 and more
// characters that mix letters with digits.
func random(s string) bool {
	if hexRun.MatchString(s) {
		return true
	}
	digits := 0
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			digits++
		}
	}
	return len(s) >= 16 && digits >= 2 && digits < len(s)
}

// secretLiteral reports whether a literal in env or headers is left behind. One that also stands openly in a command, an
// argument or a url, and is a plain word, path or address under a name that says nothing of credentials, is not: it is no secret.
func (im *importer) secretLiteral(name, value string) bool {
	if harmless(name, value) {
		return false
	}
	if credentialName(name) || credentialValue(value) || !simpleWord.MatchString(value) && !pathLike.MatchString(value) && !urlLike.MatchString(value) {
		return true
	}
	return !slices.ContainsFunc(im.public, func(p string) bool { return strings.Contains(p, value) })
}

var (
	schemeWord = regexp.MustCompile(`^(?i)(bearer|basic|token|apikey|api-key|key|bot)[ =:]+$`)
	separators = regexp.MustCompile(`^[ :;,/|.@=+_-]*$`)
	pathTail   = regexp.MustCompile(`^(/[A-Za-z0-9._-]{1,32})+/?$`)
	scheme     = regexp.MustCompile(`^[a-z][a-z0-9+.-]{0,15}://$`)
)

// keepable reports whether a literal beside references may be written out.
func keepable(lit string) bool {
	return schemeWord.MatchString(lit) || separators.MatchString(lit) || scheme.MatchString(lit) || pathTail.MatchString(lit) && !credentialValue(lit)
}

// collect remembers what a value in env or headers holds that is left behind.
func (im *importer) collect(name, value string) {
	parts := split(value)
	if lit, ok := literal(parts); ok {
		if im.secretLiteral(name, lit) {
			im.keepSecret(lit)
			if _, token, ok := cutBearer(lit); ok {
				im.keepSecret(token)
			}
		}
		return
	}
	for _, p := range parts {
		switch {
		case p.ref != nil && p.ref.hasDef && !im.publicDefault(p.ref):
			im.keepSecret(p.ref.def)
		case p.ref == nil && !keepable(p.lit):
			im.keepSecret(p.lit)
		}
	}
}

// publicDefault reports whether the default of a reference may be written out.
func (im *importer) publicDefault(r *reference) bool {
	return slices.Contains(trivial, r.def) || !credentialName(r.name) && !credentialValue(r.def) && textFault(r.def) == ""
}

// cutBearer splits "Bearer TOKEN".
func cutBearer(s string) (word, token string, ok bool) {
	const n = len("bearer")
	if len(s) <= n || !strings.EqualFold(s[:n], "bearer") || s[n] != ' ' {
		return "", "", false
	}
	return s[:n], strings.TrimLeft(s[n:], " "), true
}

// value converts a value where a secret may stand. kind is env or header, or what the messages call the place.
func (im *importer) value(s *server, kind, name, value string) expr {
	parts := split(value)
	if lit, ok := literal(parts); ok {
		if !im.secretLiteral(name, lit) && textFault(lit) == "" && (kind != "header" || strings.TrimSpace(lit) == lit) {
			return text(lit)
		}
		im.keepSecret(lit)
		return ref(im.secretFor(s, kind, name, sentence{}))
	}
	var e expr
	for _, p := range parts {
		if p.ref == nil {
			if !keepable(p.lit) || textFault(p.lit) != "" {
				return im.composed(s, kind, name, parts, "")
			}
			e = append(e, piece{lit: p.lit})
			continue
		}
		x, ok := im.secretRef(s, p.ref)
		if !ok {
			return im.composed(s, kind, name, parts, p.ref.raw)
		}
		e = append(e, x)
	}
	e = join(e)
	// A path, as it seems, under the name of a credential, or a header with a blank at one of its ends.
	if len(e) == 1 && e[0].ref == "" && (credentialName(name) || credentialValue(e[0].lit)) ||
		kind == "header" && (strings.HasPrefix(e[0].lit, " ") || strings.HasSuffix(e[len(e)-1].lit, " ")) {
		return im.composed(s, kind, name, parts, "")
	}
	return e
}

// join makes neighbouring literals one.
func join(e expr) expr {
	var out expr
	for _, p := range e {
		if n := len(out); n > 0 && p.ref == "" && out[n-1].ref == "" {
			out[n-1].lit += p.lit
		} else {
			out = append(out, p)
		}
	}
	return out
}

// composed is a variable for a value that is a text around references and cannot be written as it is.
func (im *importer) composed(s *server, kind, name string, parts []part, unknown string) expr {
	x := im.secretFor(s, kind, name, sentence{})
	variable := strings.TrimPrefix(x, "var.")
	if unknown != "" {
		im.note(s, "import.changed", "%s %s refers to %s, which mcpcat does not know. Its whole value is the variable %s now.", kind, foreign(name), foreign(unknown), variable)
		return ref(x)
	}
	var refs []any
	for _, p := range parts {
		if p.ref != nil {
			refs = append(refs, foreign(p.ref.raw))
		}
	}
	refs = refs[:min(len(refs), 8)]
	im.note(s, "import.changed", "%s %s puts a text around "+list(len(refs))+", and a text that is not plainly public is left behind. Its whole value is the variable %s now: set it to all of it.",
		append(append([]any{kind, foreign(name)}, refs...), variable)...)
	return ref(x)
}

// list is a format for n things in a row.
func list(n int) string { return strings.TrimSuffix(strings.Repeat("%s, ", n), ", ") }

// secretRef converts a reference where a secret may stand.
func (im *importer) secretRef(s *server, r *reference) (piece, bool) {
	switch r.kind {
	case refEnv:
		im.asked[r.name] = true
		if !r.hasDef {
			return piece{ref: "env(" + addr.Quote(r.name) + ")"}, true
		}
		if !im.publicDefault(r) || im.exposes(r.def) {
			im.note(s, "import.left_out", "The default of the environment variable %s may be a credential and is not written. Set the variable, or add a default as second argument of env.", foreign(r.name))
			return piece{ref: "env(" + addr.Quote(r.name) + ")"}, true
		}
		return piece{ref: "env(" + addr.Quote(r.name) + ", " + addr.Quote(r.def) + ")"}, true
	case refInput:
		return piece{ref: "var." + im.inputVariable(s, r.name).name}, true
	case refHome:
		im.asked["HOME"] = true
		return piece{ref: `env("HOME")`}, true
	case refWorkspace:
		im.workspace(s)
		return piece{lit: s.base}, s.base != ""
	}
	return piece{}, false
}

// publicRef converts a reference where no secret may stand. why is set if it cannot be.
func (im *importer) publicRef(s *server, r *reference) (p piece, why sentence) {
	home := r.kind == refHome || r.kind == refEnv && (r.name == "HOME" || r.name == "USERPROFILE")
	switch {
	case r.kind == refWorkspace && s.base == "":
		return p, say("it refers to %s, and the server starts elsewhere", foreign(r.raw))
	case r.kind == refWorkspace:
		im.workspace(s)
		return piece{lit: s.base}, why
	case home && im.o.Home != "" && textFault(im.o.Home) == "":
		return im.home(), why
	case r.kind == refInput:
		if in := im.input(r.name); in != nil {
			in.used = true
		}
		return p, say("it refers to %s, which is a secret here", foreign(r.raw))
	case r.kind == refEnv && r.hasDef && im.publicDefault(r) && !im.exposes(r.def):
		def := r.def
		v := im.variableFor("env "+r.name+"="+def, r.name, variable{def: &def, description: say("The client took it from the environment variable %s.", foreign(r.name))})
		im.note(s, "import.changed", "%s became var.%s, a variable that is no secret. To give it another value, set MCPCAT_VAR_%s instead of %s.", foreign(r.raw), v.name, v.name, foreign(r.name))
		return piece{ref: "var." + v.name, def: def}, why
	case r.kind == refEnv:
		return p, say("it refers to the environment variable %s, and what comes from the environment is a secret here", foreign(r.name))
	}
	return p, say("it refers to %s, which mcpcat does not know", foreign(r.raw))
}

func (im *importer) home() piece {
	def := im.o.Home
	v := im.variableFor("home", "home", variable{def: &def})
	v.description = say("The home directory. Set MCPCAT_VAR_%s where it is another one.", v.name)
	return piece{ref: "var." + v.name, def: def}
}

// workspace says once for each server what became of ${workspaceFolder}.
func (im *importer) workspace(s *server) {
	if !s.workspace {
		s.workspace = true
		im.note(s, "import.changed", "The workspace folder became the catalog directory. Keep the catalog in the root of the workspace.")
	}
}

// inputVariable is the variable for an input of VS Code.
func (im *importer) inputVariable(s *server, id string) *variable {
	v := variable{sensitive: true, use: say("input %s", foreign(id)), description: say("The input %s.", foreign(id))}
	switch in := im.input(id); {
	case in == nil:
		im.note(s, "import.changed", "It refers to the input %s, which the file does not declare. It is a sensitive variable here all the same.", foreign(id))
	default:
		in.used = true
		if in.description != "" && len(in.description) <= 1024 && textFault(in.description) == "" && !im.exposes(in.description) {
			v.description = say("%s", in.description)
		}
	}
	return im.variableFor("input "+id, id, v)
}
