package catalog

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

// tlsFixtures are the certificates and the key of testdata/load/tls.txtar: ca.pem, tls/both.pem with two of them,
// tls/chain.pem for the client, and its key.
func tlsFixtures(t *testing.T) map[string]string {
	t.Helper()
	a, err := txtar.ParseFile("testdata/load/tls.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range a.Files {
		files[f.Name] = string(f.Data)
	}
	return files
}

// tlsDir writes a catalog with one server whose tls block has these lines, beside the fixtures, and returns the directory.
func tlsDir(t *testing.T, lines ...string) string {
	t.Helper()
	fixtures := tlsFixtures(t)
	dir := filepath.Join(t.TempDir(), "catalog")
	for name, text := range map[string]string{
		"catalog/catalog.hcl":  "server \"a\" {\n  http {\n    url = \"https://a.example/mcp\"\n    tls {\n      " + strings.Join(lines, "\n      ") + "\n    }\n  }\n}\n",
		"catalog/tls/ca.pem":   fixtures["tls/ca.pem"],
		"catalog/tls/both.pem": fixtures["tls/both.pem"],
		"catalog/chain.pem":    fixtures["tls/chain.pem"],
		"keys/client.key":      fixtures["outside/keys/client.key"],
	} {
		path := filepath.Join(filepath.Dir(dir), filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func loadDir(t *testing.T, dir string) (*Catalog, string) {
	t.Helper()
	c, list := Load(Options{Dir: dir})
	return c, rendered(t, nil, list)
}

// TestTLSFilesAreKept: what a server is reached with is what was read, in a form that crypto/tls takes.
func TestTLSFilesAreKept(t *testing.T) {
	dir := tlsDir(t, `ca_file = "tls/both.pem"`, `client_cert_file = "chain.pem"`, `client_key_file = "KEYS/client.key"`)
	hcl := filepath.Join(dir, "catalog.hcl")
	text, err := os.ReadFile(hcl)
	if err != nil {
		t.Fatal(err)
	}
	keys := filepath.ToSlash(filepath.Join(filepath.Dir(dir), "keys"))
	if err := os.WriteFile(hcl, bytes.ReplaceAll(text, []byte("KEYS"), []byte(keys)), 0o600); err != nil {
		t.Fatal(err)
	}
	c, shown := loadDir(t, dir)
	if c == nil || shown != "" {
		t.Fatalf("got %s", shown)
	}
	got := c.Servers[0].HTTP.TLS
	if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(got.CA.Text) {
		t.Error("the certificates of ca_file are no pool")
	}
	if n := bytes.Count(got.CA.Text, []byte("-----BEGIN")); n != 2 {
		t.Errorf("%d certificates, want 2", n)
	}
	sum := sha256.Sum256(got.CA.Text)
	if want := "sha256:" + hex.EncodeToString(sum[:]); got.CA.Digest.String() != want {
		t.Errorf("digest %s, want %s", got.CA.Digest, want)
	}
	pair, err := tls.X509KeyPair(got.Certificate.Text, []byte(got.Key.Expose()))
	if err != nil || len(pair.Certificate) != 2 {
		t.Errorf("pair of %d certificates, %v", len(pair.Certificate), err)
	}
	// The key is hidden in what mcpcat writes, and no server is looked for it, since none is given it.
	block, _ := pem.Decode([]byte(got.Key.Expose()))
	line := strings.Split(got.Key.Expose(), "\n")[1]
	if block == nil || len(line) < 40 {
		t.Fatalf("key of %d bytes", len(got.Key.Expose()))
	}
	if !secret.NewRedactor(c.Secrets()...).Holds([]byte("x " + line + " y")) {
		t.Error("the key is not among the secrets of the catalog")
	}
	for _, v := range c.Servers[0].Secrets() {
		if v.Ref() == keyRef {
			t.Error("the key is among the secrets that the server was given")
		}
	}
	if secret.NewRedactor(c.Secrets()...).Holds([]byte("-----BEGIN PRIVATE KEY-----")) {
		t.Error("the words that begin every key are taken for a secret")
	}
}

// TestTLSFilesInTheDigests: an edited file is another endpoint and another configuration, another spelling of its line
// ends is not.
func TestTLSFilesInTheDigests(t *testing.T) {
	dir := tlsDir(t, `ca_file = "tls/ca.pem"`)
	fixtures := tlsFixtures(t)
	read := func(text string) *Catalog {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "tls", "ca.pem"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, shown := loadDir(t, dir)
		if c == nil {
			t.Fatal(shown)
		}
		return c
	}
	ca := fixtures["tls/ca.pem"]
	plain := read(ca)
	for name, text := range map[string]string{"CR LF": strings.ReplaceAll(ca, "\n", "\r\n"), "byte order mark": "\ufeff" + ca} {
		if c := read(text); c.Digest != plain.Digest || c.Servers[0].EndpointDigest() != plain.Servers[0].EndpointDigest() {
			t.Errorf("%s: digests %s %s, want %s %s", name, c.Digest, c.Servers[0].EndpointDigest(), plain.Digest, plain.Servers[0].EndpointDigest())
		}
	}
	for name, text := range map[string]string{"other certificates": fixtures["tls/both.pem"], "a comment": "# x\n" + ca} {
		if c := read(text); c.Digest == plain.Digest || c.Servers[0].EndpointDigest() == plain.Servers[0].EndpointDigest() {
			t.Errorf("%s: the digests stay %s %s", name, c.Digest, c.Servers[0].EndpointDigest())
		}
	}
}

// TestTLSFileLimits: a file of 1 MiB is read, one byte more is refused.
func TestTLSFileLimits(t *testing.T) {
	dir := tlsDir(t, `ca_file = "tls/ca.pem"`)
	ca := tlsFixtures(t)["tls/ca.pem"]
	pad := MaxNamedFileBytes - len(ca)
	for size, want := range map[int]bool{pad: true, pad + 1: false} {
		text := "#" + strings.Repeat("x", size-2) + "\n" + ca
		if err := os.WriteFile(filepath.Join(dir, "tls", "ca.pem"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, shown := loadDir(t, dir)
		if (c != nil) != want {
			t.Errorf("%d bytes: loaded %v, want %v\n%s", len(text), c != nil, want, shown)
		}
		if !want && !strings.Contains(shown, "larger than 1048576 bytes") {
			t.Errorf("%d bytes: %s", len(text), shown)
		}
	}
}

// TestTLSFileLinks: a relative path may follow links within the catalog directory, not out of it; and a link does not
// hide that a key lies in it.
func TestTLSFileLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights")
	}
	dir := tlsDir(t, `ca_file = "link.pem"`)
	link := filepath.Join(dir, "link.pem")
	for target, want := range map[string]string{
		"tls/ca.pem":                          "",
		"../keys/client.key":                  "path escapes from parent",
		filepath.Join(dir, "tls", "ca.pem"):   "path escapes from parent",
		"tls":                                 "not a regular file",
		"/dev/zero":                           "path escapes from parent",
		"link.pem":                            "too many levels",
		"tls/../../catalog/tls/../tls/ca.pem": "path escapes from parent",
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		c, shown := loadDir(t, dir)
		if (c != nil) != (want == "") || !strings.Contains(shown, want) {
			t.Errorf("link to %s: loaded %v, want %q in\n%s", target, c != nil, want, shown)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}

	dir = tlsDir(t, `client_cert_file = "chain.pem"`, `client_key_file = "OUT/link.key"`)
	out := filepath.Dir(dir)
	key := filepath.Join(dir, "committed.key")
	if err := os.Rename(filepath.Join(out, "keys", "client.key"), key); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(key, filepath.Join(out, "link.key")); err != nil {
		t.Fatal(err)
	}
	hcl := filepath.Join(dir, "catalog.hcl")
	text, err := os.ReadFile(hcl)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hcl, bytes.ReplaceAll(text, []byte("OUT"), []byte(out)), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, shown := loadDir(t, dir); c != nil || !strings.Contains(shown, "Private key in the catalog directory") {
		t.Errorf("a link into the catalog directory: loaded %v\n%s", c != nil, shown)
	}
}

func TestParsePin(t *testing.T) {
	const text = "e9qjG74IQWa6Z4bqJMDTtTaYtdmHKIe8SKz5GO8Liqw="
	p, err := ParsePin(text)
	if err != nil || p.String() != text {
		t.Errorf("ParsePin(%s) = %s, %v", text, p, err)
	}
	for _, bad := range []string{"", text[:43], text + "=", " " + text, text + "\n", strings.Repeat("A", 44), strings.Repeat("=", 44), "canary-" + text} {
		if _, err := ParsePin(bad); err == nil || !strings.Contains(err.Error(), "openssl") || strings.Contains(err.Error(), "canary") {
			t.Errorf("ParsePin(%q): %v", bad, err)
		}
	}
}

func TestReadCertificates(t *testing.T) {
	dir := tlsDir(t, `server_name = "a.example"`)
	f, err := ReadCertificates(dir, "tls/both.pem")
	if err != nil || f.Path != "tls/both.pem" || f.Digest.IsZero() {
		t.Errorf("%+v, %v", f, err)
	}
	if abs, err := ReadCertificates(dir, filepath.Join(dir, "tls", "both.pem")); err != nil || abs.Digest != f.Digest {
		t.Errorf("absolute: %+v, %v", abs, err)
	}
	for path, want := range map[string]string{
		"": "is empty", "../keys/client.key": "must be an absolute path", "tls/gone.pem": "no such file", "catalog.hcl": "line 1", "tls": "not a regular file",
	} {
		if _, err := ReadCertificates(dir, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadCertificates(%q): %v, want %q", path, err, want)
		}
	}
}

// TestNoTLSNoPosture: endpoints without the block keep the form, and so the digest, that they had before there was one.
func TestNoTLSNoPosture(t *testing.T) {
	c := accepted(t, one("server \"a\" {\n  http {\n    url = \"https://a.example/mcp\"\n  }\n}\n"))
	if got, want := string(c.Servers[0].Endpoint()), `{"egress":{"allow_private":false},"headers":{},"transport":"http","url":"https://a.example/mcp"}`; got != want {
		t.Errorf("endpoint %s, want %s", got, want)
	}
	if c.Servers[0].HTTP.TLS != nil {
		t.Error("there is a tls block")
	}
}
