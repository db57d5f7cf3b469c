package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestDiscoverOverTLS: discover says what is missing, takes it as flags, and prints a block that works.
func TestDiscoverOverTLS(t *testing.T) {
	ca := newAuthority(t, "office CA")
	certificate, key := ca.leaf("127.0.0.1")
	s := newSecureServer(t, certificate, key, nil)
	p := newSecurePlace(t)
	p.write("ca.pem", ca.pem)
	p.write("../outside.pem", ca.pem)
	url := s.URL + "/mcp"
	contains(t, p.run(1, "discover", url), "discover takes -ca-file=FILE")
	contains(t, p.run(1, "discover", url, "-ca-file=ca.pem", "-pin-sha256="+strings.Repeat("A", 43)+"="), "pinned key")
	contains(t, p.run(1, "discover", url, "-ca-file=gone.pem"), "Certificates cannot be read", "no such file or directory")
	contains(t, p.run(1, "discover", url, "-ca-file=../keys"), "not a regular file")
	contains(t, p.run(1, "discover", url, "-pin-sha256=sha256//"+pinOf(t, certificate)), "name of the algorithm", "openssl x509 -in cert.pem")
	contains(t, p.run(1, "discover", "http://127.0.0.1:1/mcp", "-ca-file=ca.pem"), "only a server with an https URL has one")
	contains(t, p.run(1, "discover", "-ca-file=ca.pem", "--", "program"), "only a server with an https URL has one")
	if n := s.asked(); n > 0 {
		t.Errorf("the server got %d requests, want none", n)
	}
	contains(t, p.run(0, "discover", url, "-ca-file=../outside.pem", "-pin-sha256="+pinOf(t, ca.pem)), "1 tool, nothing of it is pinned")
	contains(t, p.run(0, "discover", "-hcl", url, "-ca-file=../outside.pem"), "ca_file = \""+filepath.ToSlash(filepath.Join(filepath.Dir(p.dir), "outside.pem"))+"\" }")
	p.out.Reset()
	out := p.run(0, "discover", "-hcl", url, "-ca-file=ca.pem", "-pin-sha256="+pinOf(t, certificate), "-pin-sha256="+pinOf(t, ca.pem))
	contains(t, out, `tls { ca_file = "ca.pem" pin_sha256 = ["`)
	p.write("catalog.hcl", p.out.String())
	contains(t, p.run(0, "plan", "-contact=all"), "1 to add", "tls ca_file = ")
}
