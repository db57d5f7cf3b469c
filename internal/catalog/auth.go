package catalog

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

const (
	maxScopes     = 64
	maxScopeBytes = 256
)

// OAuth is how tokens of an authorization server are had.
type OAuth struct {
	Grant    string // "authorization_code", "client_credentials" or "jwt_bearer"
	ClientID string // "": the client registers itself
	// ClientSecret is nil if there is none.
	ClientSecret *secret.String
	Scopes       []string // as written; nil: those that the server asks for
	Issuer       string   // an https URL; "": the one that the server names
	// Key is the private key of private_key_file in PEM form. It is nil without one, and zero where Options allow it to be
	// missing.
	Key          *secret.String
	RedirectPort int // 1 to 65535; 0: any free one
}

// readAuth reads an auth block, which has exactly one way to prove who asks.
func (l *loader) readAuth(b *hclsyntax.Block, w where, h *HTTP) {
	t := httpBlock.block("auth")
	c := l.contents(b.Body, w, t)
	type form struct {
		name string
		rng  hcl.Range
	}
	var forms []form
	for _, a := range sortedAttributes(b.Body) {
		name := a.Name
		switch {
		case t.argument(name) == nil:
			continue
		case name == "value":
			name = "header"
		}
		if !slices.ContainsFunc(forms, func(f form) bool { return f.name == name }) {
			forms = append(forms, form{name, a.NameRange})
		}
	}
	if o := c.blocks["oauth"]; o != nil {
		forms = append(forms, form{"oauth", header(o)})
	}
	slices.SortFunc(forms, func(a, b form) int { return a.rng.Start.Byte - b.rng.Start.Byte })
	switch {
	case len(forms) == 0 && len(b.Body.Attributes)+len(b.Body.Blocks) == 0:
		l.fail("catalog.missing", "Missing argument", header(b), w, "An auth block needs one of bearer, header with value, command, and a block oauth.")
		return
	case len(forms) == 0:
		return // what is there was reported
	case len(forms) > 1:
		for _, f := range forms[1:] {
			l.fail("catalog.auth", "Two ways to authorise", f.rng, w, "The block has %s, and %s at %s. Keep one of the two.", f.name, forms[0].name, place(forms[0].rng))
		}
		return
	}
	switch forms[0].name {
	case "bearer":
		h.Bearer = c.readBearer(h)
	case "header":
		h.AuthHeader = c.readAuthHeader(h)
	case "command":
		h.AuthCommand, h.tokens = c.readAuthCommand(h), &secret.Learned{}
	case "oauth":
		h.OAuth = c.readOAuth(c.blocks["oauth"], h)
	}
}

// secretOnly reads an argument that must refer to a secret.
func (c *contents) secretOnly(name, what string, maxBytes int) (Text, bool) {
	a := c.args[name]
	t, ok := c.l.mayBeSecret(a.Expr, name, maxBytes, c.w)
	if !ok {
		return Text{}, false
	}
	if !t.Secret() {
		c.l.fail("catalog.secret_needed", upperFirst(what)+" in the catalog", a.Expr.Range(), c.w,
			"%s must refer to a secret: a variable with sensitive = true, or env(\"NAME\"). A %s written into the catalog is known to everybody who reads it.", name, what)
		return Text{}, false
	}
	return t, true
}

// missing reports whether a secret has no value because Options allow that.
func (l *loader) missing(t Text) bool { return t.Secret() && t.Expose() == "" && l.offline() }

func (c *contents) readBearer(h *HTTP) *secret.String {
	t, ok := c.secretOnly("bearer", "token", maxHeaderBytes)
	if !ok {
		return nil
	}
	r := c.exprRange("bearer")
	if !c.l.missing(t) && !ValidToken(t.Expose()) {
		c.l.fail("catalog.value", "Invalid token", r, c.w, "The value of %s is empty, or contains a blank, a line end or another character that a bearer token cannot have. It is not shown.", shownRef(t))
		return nil
	}
	c.headerClash("Authorization", "bearer", r, h)
	return &t.sec
}

// ValidToken reports whether a text may stand behind "Authorization: Bearer".
func ValidToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// headerClash reports a header that both headers and auth set.
func (c *contents) headerClash(name, by string, r hcl.Range, h *HTTP) {
	for _, x := range h.Headers {
		if strings.EqualFold(x.Name, name) {
			c.l.fail("catalog.header", "Two authorisations", r, c.w, "headers sets %s, and so does %s. Keep one of the two.", diag.Escape(name), by)
		}
	}
}

func (c *contents) readAuthHeader(h *HTTP) *Header {
	for _, pair := range [][2]string{{"header", "value"}, {"value", "header"}} {
		if a := c.args[pair[0]]; a != nil && c.args[pair[1]] == nil {
			c.l.fail("catalog.missing", "Missing argument", a.NameRange, c.w, "%s needs %s beside it: header is the name of a header, value the secret that it carries.", pair[0], pair[1])
			return nil
		}
	}
	name, ok := c.required("header", 1024)
	if !ok || !c.l.checkHeaderName(name, c.exprRange("header"), c.w) {
		return nil
	}
	c.headerClash(name, "auth", c.exprRange("header"), h)
	t, ok := c.secretOnly("value", "credential", maxHeaderBytes)
	if !ok {
		return nil
	}
	r := c.exprRange("value")
	if t.Expose() == "" && !c.l.missing(t) {
		c.l.fail("catalog.value", "Invalid header value", r, c.w, "The value of %s is empty.", shownRef(t))
		return nil
	}
	if !c.l.checkHeaderValue(name, t, r, c.w) {
		return nil
	}
	return &Header{Name: name, Value: t}
}

func (c *contents) readAuthCommand(h *HTTP) []string {
	list, _ := c.texts("command", maxArgs, maxArgBytes)
	r := c.exprRange("command")
	if len(list) == 0 {
		if v, ok := c.valueOrNull("command"); ok && (v.IsNull() || isSequence(v.Type()) && v.LengthInt() == 0) {
			c.l.fail("catalog.command", "Invalid command", r, c.w, "command is empty. It is a program and its arguments, as in command = [\"acme-token\", \"--audience\", \"wiki\"].")
		}
		return nil
	}
	c.l.checkProgram(list[0].text, list[0].rng, "Each word is an element of the list, as in command = [\"acme-token\", \"--audience\", \"wiki\"].", c.w)
	c.headerClash("Authorization", "the token that command prints", r, h)
	words := make([]string, len(list))
	for i, e := range list {
		words[i] = e.text
	}
	return words
}

// readOAuth reads an oauth block. What it says is checked and kept, and nothing connects with it yet.
func (c *contents) readOAuth(b *hclsyntax.Block, h *HTTP) *OAuth {
	l := c.l
	oc := l.contents(b.Body, c.inside("oauth"), httpBlock.block("auth").block("oauth"))
	o := &OAuth{Grant: oc.word("grant", "authorization_code")}
	o.ClientID, _ = oc.text("client_id", maxScopeBytes)
	if oc.args["client_secret"] != nil {
		if t, ok := oc.secretOnly("client_secret", "secret", maxHeaderBytes); ok {
			o.ClientSecret = &t.sec
		}
	}
	scopes, _ := oc.texts("scopes", maxScopes, maxScopeBytes)
	first := map[string]hcl.Range{}
	for _, e := range scopes {
		switch earlier, twice := first[e.text]; {
		case !validScope(e.text):
			l.fail("catalog.value", "Invalid scope", e.rng, oc.w, "A scope has printable ASCII characters without blanks, quotation marks and backslashes. Each scope is an element of the list.")
		case twice:
			l.fail("catalog.duplicate", "Scope listed twice", e.rng, oc.w, "%s was already listed at %s.", diag.Quote(e.text, 0), place(earlier))
		default:
			first[e.text] = e.rng
			o.Scopes = append(o.Scopes, e.text)
		}
	}
	if s, ok := oc.text("issuer", maxURLBytes); ok {
		if !validIssuer(s) {
			l.fail("catalog.value", "Invalid issuer", oc.exprRange("issuer"), oc.w, "issuer must be a URL that begins with https:// and has no query and no fragment, as the authorization server's metadata states it.")
		}
		o.Issuer = s
	}
	if oc.args["private_key_file"] != nil {
		if key, ok := l.readKey(oc, "private_key_file"); ok {
			o.Key = &secret.String{}
			if key != nil {
				o.Key = &key.pem
			}
		}
	}
	port, _ := oc.integer("redirect_port", 1, 65535)
	o.RedirectPort = int(port)
	c.headerClash("Authorization", "oauth", header(b), h)
	l.notEnforced("auth { oauth {} }", header(b), c.w)
	return o
}

// validScope reports whether a text is one scope-token (RFC 6749, section 3.3).
func validScope(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// validIssuer reports whether a text can be an issuer identifier (RFC 8414, section 2).
func validIssuer(s string) bool {
	if !strings.HasPrefix(s, "https://") || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\\\"<>^`{|}", r) }) {
		return false
	}
	u, err := url.Parse(s)
	if err != nil || u.User != nil || strings.ContainsAny(s, "?#@") || dotSegment(u.Path) {
		return false
	}
	class, ok := classify(u.Hostname())
	return ok && class != hostInvalid
}

// authPosture is how the auth block stands in the endpoint; nil without one.
func (h *HTTP) authPosture() map[string]any {
	switch {
	case h.Bearer != nil:
		return map[string]any{"bearer": shape(SecretText(*h.Bearer))}
	case h.AuthHeader != nil:
		return map[string]any{"header": h.AuthHeader.Name, "value": shape(h.AuthHeader.Value)}
	case h.AuthCommand != nil:
		return map[string]any{"command": h.AuthCommand}
	case h.OAuth != nil:
		return map[string]any{"oauth": h.OAuth.posture()}
	}
	return nil
}

// posture leaves out the content of the private key, and says that there is one.
func (o *OAuth) posture() map[string]any {
	p := map[string]any{"grant": o.Grant}
	if o.ClientID != "" {
		p["client_id"] = o.ClientID
	}
	if o.ClientSecret != nil {
		p["client_secret"] = shape(SecretText(*o.ClientSecret))
	}
	if o.Scopes != nil {
		p["scopes"] = o.Scopes
	}
	if o.Issuer != "" {
		p["issuer"] = o.Issuer
	}
	if o.Key != nil {
		p["private_key_file"] = map[string]string{"secret": "private_key_file"}
	}
	if o.RedirectPort != 0 {
		p["redirect_port"] = o.RedirectPort
	}
	return p
}
