package catalog

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

const (
	maxHosts     = 64
	maxHostBytes = 260
	maxRedirects = 10
)

func (l *loader) readEgress(b *hclsyntax.Block, w where, h *HTTP) {
	c := l.contents(b.Body, w, httpBlock.block("egress"))
	h.AllowHosts = c.readHosts()
	h.AllowPrivate = c.boolean("allow_private", false)
	redirects, _ := c.integer("redirects", 0, maxRedirects)
	if h.Redirects = int(redirects); h.Redirects > 0 {
		// A redirect leads to a URL that is not in the lock.
		l.notEnforced("redirects above 0", c.exprRange("redirects"), w)
	}
	h.Proxy = l.readProxy(c)
}

// readHosts reads allow_hosts: nil if it is absent or in error, otherwise in lower case, sorted.
func (c *contents) readHosts() []string {
	before := c.l.errors
	list, present := c.texts("allow_hosts", maxHosts, maxHostBytes)
	if !present {
		return nil
	}
	out := []string{}
	first := map[string]hcl.Range{}
	for _, e := range list {
		host, fault := parseHost(e.text)
		if fault != "" {
			c.l.fail("catalog.egress", "Invalid host", e.rng, c.w, "A host of allow_hosts %s.", fault)
			continue
		}
		if earlier, twice := first[host]; twice {
			c.l.fail("catalog.duplicate", "Host listed twice", e.rng, c.w, "%s was already listed at %s.", diag.Quote(host, 0), place(earlier))
			continue
		}
		first[host] = e.rng
		out = append(out, host)
	}
	if c.l.errors > before {
		return nil
	}
	slices.Sort(out)
	return out
}

// parseHost reads a host, or host and port, as allow_hosts has them, and returns it in lower case, or what is wrong with it.
// The text is not repeated: it may be a URL with a credential in it.
func parseHost(s string) (host, fault string) {
	host, port := s, ""
	if strings.Contains(s, "://") || strings.ContainsAny(s, "/@?#") {
		return "", "is a URL or a part of one, want a name such as mcp.acme.example, an IP address, or one of them with a port, as in \"mcp.acme.example:8443\""
	}
	if strings.Contains(s, "*") {
		return "", "has \"*\" in it, which is not supported: list each host"
	}
	if _, err := netip.ParseAddr(s); err != nil {
		if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
			host, port = s[:i], s[i+1:]
			if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || strings.HasPrefix(port, "0") || strings.HasPrefix(port, "+") {
				return "", "has a port that is no number from 1 to 65535"
			}
		}
		bare, bracketed := strings.CutPrefix(host, "[")
		if bracketed {
			host = strings.TrimSuffix(bare, "]")
		}
		if a, err := netip.ParseAddr(host); bracketed && (err != nil || !a.Is6()) || !bracketed && err == nil && a.Is6() {
			return "", "is an IPv6 address with something around it, want \"::1\", or \"[::1]:8443\" with a port"
		}
	}
	if class, ok := classify(host); !ok || class == hostInvalid || strings.HasSuffix(host, ".") {
		return "", "must be a name of letters, digits, hyphens and dots, not ending in a dot, or an IP address in its usual form"
	}
	if a, err := netip.ParseAddr(host); err == nil && a.String() != host {
		return "", "is an IP address that is not in its usual form, want " + a.String()
	}
	host = strings.ToLower(host)
	if port != "" {
		host = net.JoinHostPort(host, port)
	}
	return host, ""
}

// checkAllowed reports a url whose own host is not in allow_hosts.
func (l *loader) checkAllowed(c *contents, h *HTTP, u *url.URL) {
	if h.AllowHosts == nil {
		return
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	host := strings.ToLower(u.Hostname())
	if a, err := netip.ParseAddr(host); err == nil {
		host = a.String()
	}
	if slices.Contains(h.AllowHosts, host) || slices.Contains(h.AllowHosts, net.JoinHostPort(host, port)) {
		return
	}
	a := c.blocks["egress"].Body.Attributes["allow_hosts"]
	l.fail("catalog.egress", "Own host not allowed", a.Expr.Range(), c.inside("egress"), "allow_hosts has neither %s, the host of url, nor %s, so nothing could be contacted.",
		diag.Quote(host, 0), diag.Quote(net.JoinHostPort(host, port), 0))
}
