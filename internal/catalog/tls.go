package catalog

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

const (
	maxPins       = 16
	maxPinBytes   = 256
	maxServerName = 253
)

// TLS is the tls block of an https endpoint: what the server's certificate is held against, and the certificate that the
// server is shown. Files are as they were when the catalog was loaded. The zero TLS is what an endpoint without a block
// has.
type TLS struct {
	// CA holds the certificates that are trusted instead of the system's, one or more in PEM form; nil: the system's.
	CA *File
	// ServerName is the DNS name or IP address that the certificate must be for; "": the host of the URL.
	ServerName string
	// Pins are SHA-256 digests of a SubjectPublicKeyInfo, of which one certificate of the verified chain must have one:
	// at most 16, sorted, each once; nil: any key.
	Pins []Pin
	// Certificate is the chain that the server is shown, in PEM form, the client's own certificate first; nil: none.
	Certificate *File
	// Key is the private key of Certificate in PEM form. It is zero without a Certificate, and where Options allow it to be
	// missing.
	Key secret.String
}

// Pin is the SHA-256 digest of a certificate's SubjectPublicKeyInfo in DER form (RFC 5280, section 4.1).
type Pin [sha256.Size]byte

// String returns the pin in base64, 44 characters, as catalogs write it.
func (p Pin) String() string { return base64.StdEncoding.EncodeToString(p[:]) }

// readTLS returns nil if the block says nothing.
func (l *loader) readTLS(b *hclsyntax.Block, w where) *TLS {
	c := l.contents(b.Body, w, httpBlock.block("tls"))
	if len(b.Body.Attributes)+len(b.Body.Blocks) == 0 {
		l.fail("catalog.missing", "Missing argument", header(b), w, "A tls block needs one of ca_file, server_name, pin_sha256, client_cert_file.")
		return nil
	}
	t := &TLS{}
	t.CA, _ = l.readCertificates(c, "ca_file")
	if name, ok := c.text("server_name", maxServerName); ok {
		if msg := serverNameFault(name); msg != "" {
			l.fail("catalog.tls", "Invalid server name", c.exprRange("server_name"), w, "server_name %s.", msg)
		}
		t.ServerName = name
	}
	t.SetPins(l.readPins(c))
	l.readClient(c, t)
	if t.CA == nil && t.ServerName == "" && len(t.Pins) == 0 && t.Certificate == nil {
		return nil
	}
	return t
}

// serverNameFault returns what is wrong with a name that certificates are checked for, or "".
func serverNameFault(s string) string {
	if a, err := netip.ParseAddr(s); err == nil {
		if a.Zone() != "" {
			return "is an address with a zone, which no certificate is for"
		}
		return ""
	}
	switch _, ok := classify(s); {
	case strings.HasPrefix(s, "*."):
		return "is a pattern, want the name itself: a certificate for *.NAME is accepted for it"
	case strings.HasPrefix(s, "["), strings.Contains(s, "://"):
		return "is a part of a URL, want a name such as mcp.acme.example or an IP address, without brackets, port and scheme"
	case !ok || strings.HasSuffix(s, "."):
		return "must be a DNS name of letters, digits, hyphens and dots, not ending in a dot, or an IP address in its usual form"
	}
	return ""
}

// pinHint ends every message about a pin.
const pinHint = "want the SHA-256 digest of a SubjectPublicKeyInfo in base64, 44 characters. It is made from a certificate with:\n\n" +
	"    openssl x509 -in cert.pem -noout -pubkey |\n" +
	"      openssl pkey -pubin -outform DER |\n" +
	"      openssl dgst -sha256 -binary | openssl base64"

func (l *loader) readPins(c *contents) []Pin {
	list := c.textOrTexts("pin_sha256", maxPins, maxPinBytes, "catalog.pin", "No pins", "Leave it out to accept every key of a trusted certificate, or list 1 to %d pins.")
	var pins []Pin
	first := map[Pin]hcl.Range{}
	for _, e := range list {
		p, fault := parsePin(e.text)
		if fault != "" {
			l.fail("catalog.pin", "Invalid pin", e.rng, c.w, "The pin %s; %s", fault, pinHint)
			continue
		}
		if earlier, twice := first[p]; twice {
			l.fail("catalog.duplicate", "Pin listed twice", e.rng, c.w, "The same pin was already listed at %s.", place(earlier))
			continue
		}
		first[p] = e.rng
		pins = append(pins, p)
	}
	return pins
}

// SetPins sets Pins, sorted and each once.
func (t *TLS) SetPins(pins []Pin) {
	t.Pins = slices.Clone(pins)
	slices.SortFunc(t.Pins, func(a, b Pin) int { return strings.Compare(a.String(), b.String()) })
	t.Pins = slices.Compact(t.Pins)
}

var (
	hexDigest = regexp.MustCompile(`^[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2}){31}$`)
	pinPrefix = regexp.MustCompile(`^(?i)(pin-)?sha-?256(//?|:|=|-)`)
)

// ParsePin reads a pin as catalogs write it. The error says what is wrong and how a pin is made, and does not repeat s.
func ParsePin(s string) (Pin, error) {
	p, fault := parsePin(s)
	if fault != "" {
		return p, errors.New("the pin " + fault + "; " + pinHint)
	}
	return p, nil
}

// parsePin returns the pin, or what is wrong with the text. The text is not repeated: it may be anything.
func parsePin(s string) (Pin, string) {
	var p Pin
	bare := pinPrefix.ReplaceAllString(s, "")
	switch {
	case hexDigest.MatchString(bare):
		return p, "is written in hexadecimal digits, and if it is the fingerprint of a whole certificate it is not of the key"
	case bare != s:
		return p, "has the name of the algorithm in front, which is left out here"
	case len(s) == 43 && !strings.HasSuffix(s, "="):
		return p, `has 43 characters: the "=" at its end is missing`
	case len(s) != 44:
		return p, fmt.Sprintf("has %d characters", len(s))
	case strings.ContainsAny(s, "-_"):
		return p, `is in the base64 of URLs: write "+" for "-" and "/" for "_"`
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != len(p) {
		return p, "is not the base64 of 32 bytes"
	}
	copy(p[:], b)
	return p, ""
}

// posture is the block as the endpoint states it: files by their content, and the private key not at all, since it is the
// one that belongs to the certificate.
func (t *TLS) posture() map[string]any {
	p := map[string]any{}
	if t.CA != nil {
		p["ca_file"] = t.CA.Digest.String()
	}
	if t.ServerName != "" {
		p["server_name"] = t.ServerName
	}
	if len(t.Pins) > 0 {
		pins := make([]string, len(t.Pins))
		for i, pin := range t.Pins {
			pins[i] = pin.String()
		}
		p["pin_sha256"] = pins
	}
	if t.Certificate != nil {
		p["client_cert_file"] = t.Certificate.Digest.String()
	}
	return p
}
