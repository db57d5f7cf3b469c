package upstream

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// selfSigned writes a certificate and its key into the two directories and returns the certificate.
func selfSigned(t *testing.T, dir, keys string) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{
		filepath.Join(dir, "cert.pem"):    {Type: "CERTIFICATE", Bytes: der},
		filepath.Join(keys, "client.key"): {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// httpTransport loads a server of these lines of an http block and returns its transport. In the lines KEYS is the directory
// of the key.
func httpTransport(t *testing.T, env map[string]string, o catalog.Options, lines string) (*mcp.HTTPTransport, *x509.Certificate, error) {
	t.Helper()
	o.Dir = t.TempDir()
	keys := t.TempDir()
	cert := selfSigned(t, o.Dir, keys)
	if strings.Contains(lines, "GONE") {
		keys, lines = filepath.Join(keys, "gone"), strings.ReplaceAll(lines, "GONE", "KEYS")
	}
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	lines = strings.NewReplacer("KEYS", filepath.ToSlash(keys), "PIN", base64.StdEncoding.EncodeToString(sum[:])).Replace(lines)
	if err := os.WriteFile(filepath.Join(o.Dir, "catalog.hcl"), []byte("server \"harbour\" {\n  http {\n"+lines+"\n  }\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o.Lookup = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	cat, diags := catalog.Load(o)
	if cat == nil {
		t.Fatal(diags)
	}
	tr, err := Dialer{Dir: o.Dir, Lookup: o.Lookup}.Transport(cat.Servers[0])
	if err != nil {
		return nil, cert, err
	}
	return tr.(*mcp.HTTPTransport), cert, nil
}

// TestTLS: each argument of the block reaches the connection, and nothing else does.
func TestTLS(t *testing.T) {
	const address = "url = \"https://harbour.example/mcp\"\n"
	tr, _, err := httpTransport(t, nil, catalog.Options{}, address)
	if err != nil || tr.TLS != nil || tr.Pins != nil || tr.Proxy != nil {
		t.Errorf("without a block: %+v, %v", tr, err)
	}
	tr, cert, err := httpTransport(t, nil, catalog.Options{}, address+"tls {\npin_sha256 = \"PIN\"\n}")
	if err != nil || tr.TLS != nil || len(tr.Pins) != 1 || tr.Pins[0] != sha256.Sum256(cert.RawSubjectPublicKeyInfo) {
		t.Errorf("a pin: %+v, %v", tr, err)
	}
	tr, _, err = httpTransport(t, nil, catalog.Options{}, address+"tls {\nserver_name = \"ledger.example\"\n}")
	if err != nil || tr.TLS == nil || tr.TLS.ServerName != "ledger.example" || tr.TLS.RootCAs != nil || tr.TLS.GetClientCertificate != nil || tr.Pins != nil {
		t.Errorf("a name: %+v, %v", tr, err)
	}
	tr, cert, err = httpTransport(t, nil, catalog.Options{}, address+"tls {\nca_file = \"cert.pem\"\nclient_cert_file = \"cert.pem\"\nclient_key_file = \"KEYS/client.key\"\n}")
	if err != nil {
		t.Fatal(err)
	}
	want := x509.NewCertPool()
	want.AddCert(cert)
	if !tr.TLS.RootCAs.Equal(want) || tr.TLS.ServerName != "" || tr.TLS.InsecureSkipVerify {
		t.Errorf("files: %+v", tr.TLS)
	}
	shown, err := tr.TLS.GetClientCertificate(nil)
	if err != nil || len(shown.Certificate) != 1 || string(shown.Certificate[0]) != string(cert.Raw) || shown.PrivateKey == nil {
		t.Errorf("client certificate: %v", err)
	}

	// What was loaded for reading alone is no way to a server.
	_, _, err = httpTransport(t, nil, catalog.Options{AllowMissingSecrets: true}, address+"tls {\nclient_cert_file = \"cert.pem\"\nclient_key_file = \"GONE/client.key\"\n}")
	var server *mcp.ServerError
	if !errors.As(err, &server) || server.Server != "server.harbour" || !strings.Contains(err.Error(), "client_key_file") {
		t.Errorf("without its key: %v", err)
	}
}

// TestProxy: no proxy unless the catalog says so; the environment's as Lookup has it, never this process's; and none that
// cannot be used is passed over.
func TestProxy(t *testing.T) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://canary.example:1")
	}
	env := func(pairs ...string) map[string]string {
		m := map[string]string{"HTTP_PROXY": "http://plain.example:1", "ALL_PROXY": "http://all.example:1", "PW": "s3cret%2Fvalue"}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	const environment = "\"environment\""
	for name, test := range map[string]struct {
		proxy string
		env   map[string]string
		want  string // "" for none, "!" and a part of the error
	}{
		"absent":              {"null", env("HTTPS_PROXY", "http://proxy.example:3128"), ""},
		"named":               {"\"http://proxy.example:3128\"", env("HTTPS_PROXY", "http://other.example:1", "NO_PROXY", "*"), "http://proxy.example:3128"},
		"with password":       {"\"http://me:${env(\"PW\")}@proxy.example:3128\"", env(), "http://me:s3cret%2Fvalue@proxy.example:3128"},
		"empty environment":   {environment, env(), ""},
		"environment":         {environment, env("HTTPS_PROXY", "http://proxy.example:3128"), "http://proxy.example:3128"},
		"lower case":          {environment, env("https_proxy", "proxy.example:3128", "no_proxy", "other.example"), "http://proxy.example:3128"},
		"excepted":            {environment, env("HTTPS_PROXY", "http://proxy.example:3128", "NO_PROXY", "other.example, harbour.example"), ""},
		"excepted domain":     {environment, env("HTTPS_PROXY", "http://proxy.example:3128", "no_proxy", ".example"), ""},
		"excepted port":       {environment, env("HTTPS_PROXY", "http://proxy.example:3128", "NO_PROXY", "harbour.example:8443"), ""},
		"other port":          {environment, env("HTTPS_PROXY", "http://proxy.example:3128", "NO_PROXY", "harbour.example:443"), "http://proxy.example:3128"},
		"all excepted":        {environment, env("HTTPS_PROXY", "http://proxy.example:3128", "NO_PROXY", "*"), ""},
		"other kind":          {environment, env("HTTPS_PROXY", "socks5://s3cret.example:1080"), "!not supported"},
		"other kind excepted": {environment, env("HTTPS_PROXY", "socks5://s3cret.example:1080", "NO_PROXY", "harbour.example"), ""},
		"damaged":             {environment, env("HTTPS_PROXY", "http://s3cret example:3128"), "!want http://host:port"},
		"unreadable":          {environment, env("HTTPS_PROXY", "http://s3cret%zz:3128"), "!want http://host:port"},
		"with a path":         {environment, env("HTTPS_PROXY", "http://s3cret.example:3128/x"), "!want http://host:port"},
	} {
		tr, _, err := httpTransport(t, test.env, catalog.Options{}, "url = \"https://harbour.example:8443/mcp\"\negress {\nproxy = "+test.proxy+"\n}")
		if part, isError := strings.CutPrefix(test.want, "!"); isError {
			var lower *mcp.TransportError
			if err == nil || !errors.As(err, &lower) || !strings.Contains(err.Error(), part) || strings.Contains(fmt.Sprintf("%v %+v", err, lower), "s3cret") {
				t.Errorf("%s: %v, want an error with %q and without the value", name, err, part)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := ""
		if tr.Proxy != nil {
			u, err := tr.Proxy(&url.URL{Scheme: "https", Host: "harbour.example:8443"})
			if err != nil || u == nil {
				t.Errorf("%s: %v, %v", name, u, err)
				continue
			}
			got = u.String()
		}
		if got != test.want {
			t.Errorf("%s: proxy %q, want %q", name, got, test.want)
		}
	}
}
