package cli_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/cli"
	"github.com/mcpcat-dev/mcpcat/internal/term"
)

// authority signs certificates for tests.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key, a.pem = a.make(&x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// make signs a certificate, or lets it sign itself if a has none yet.
func (a *authority) make(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey, string) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = serial, time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// leaf signs a certificate for a host, or for a client without one, and returns it with its key, both in PEM form.
func (a *authority) leaf(hosts ...string) (certificate, key string) {
	a.t.Helper()
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "leaf"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if len(hosts) == 0 {
		template.ExtKeyUsage[0] = x509.ExtKeyUsageClientAuth
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	_, private, certificate := a.make(template)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return certificate, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func pinOf(t *testing.T, certificate string) string {
	t.Helper()
	block, _ := pem.Decode([]byte(certificate))
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// secureServer is an MCP server over TLS that counts what it is asked.
type secureServer struct {
	*httptest.Server
	mu       sync.Mutex
	methods  []string
	clients  []string // common names of client certificates, one for each request
	received []string // Authorization of each request
}

func newSecureServer(t *testing.T, certificate, key string, clients *authority) *secureServer {
	t.Helper()
	s := &secureServer{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal(b, &m)
		s.mu.Lock()
		s.methods = append(s.methods, m.Method)
		s.received = append(s.received, r.Header.Get("Authorization"))
		for _, c := range r.TLS.PeerCertificates {
			s.clients = append(s.clients, c.Subject.CommonName)
		}
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, echoing("", "", m.Method, string(m.ID)))
	}))
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	if clients != nil {
		s.TLS.ClientAuth, s.TLS.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		s.TLS.ClientCAs.AddCert(clients.cert)
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// asked is how many requests came since the last time.
func (s *secureServer) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.methods)
	s.methods = nil
	return n
}

// securePlace is a catalog directory with keys beside it, in which commands run within this process.
type securePlace struct {
	t   *testing.T
	dir string
	env map[string]string
	out bytes.Buffer // of all runs
}

func newSecurePlace(t *testing.T) *securePlace {
	t.Helper()
	p := &securePlace{t: t, dir: filepath.Join(t.TempDir(), "catalog"), env: map[string]string{}}
	for _, dir := range []string{p.dir, filepath.Join(p.dir, "..", "keys")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// write writes a file; its path is relative to the catalog directory.
func (p *securePlace) write(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, filepath.FromSlash(name))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return filepath.ToSlash(path)
}

// catalog writes a catalog of one server.
func (p *securePlace) catalog(url string, blocks ...string) {
	p.t.Helper()
	p.write("catalog.hcl", "variable \"secret\" {\n  sensitive = true\n}\n\nserver \"office\" {\n  http {\n    url = \""+url+"\"\n    "+strings.Join(blocks, "\n    ")+"\n  }\n  tools = [\"berth\"]\n}\n")
}

// run wants an exit status and returns both outputs.
func (p *securePlace) run(status int, args ...string) string {
	p.t.Helper()
	var both bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	code := cli.Main(ctx, args, &term.Process{
		Stdin: strings.NewReader(""), Stdout: &both, Stderr: &both, Dir: p.dir, State: filepath.Join(p.dir, "..", "state"), Width: 400,
		Lookup: func(name string) (string, bool) { v, ok := p.env[name]; return v, ok },
	})
	p.out.Write(both.Bytes())
	if code != status {
		p.t.Fatalf("mcpcat %s exited %d, want %d\n%s", strings.Join(args, " "), code, status, both.String())
	}
	return strings.Join(strings.Fields(both.String()), " ")
}

// contains wants texts in an output, whose white space does not matter.
func contains(t *testing.T, out string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(out, want) {
			t.Errorf("the output does not say %q:\n%s", want, out)
		}
	}
}

// written is everything that was written by commands: outputs, and files of the catalog directory and of the state but
// those that the test wrote.
func (p *securePlace) written() string {
	p.t.Helper()
	all := p.out.String()
	err := filepath.WalkDir(filepath.Dir(p.dir), func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || d.IsDir() || ext == ".hcl" || ext == ".key" || ext == ".pem" {
			return err
		}
		b, err := os.ReadFile(path)
		all += string(b)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

const (
	private = "egress {\n      allow_private = true\n    }"
	bearers = "auth {\n      bearer = var.secret\n    }"
)

// TestTLSOfTheCatalog: a server with a private authority, a pin and client certificates is planned, applied and called
// with what the catalog says, and every lie about it has a diagnostic of its own, before anything secret is sent.
func TestTLSOfTheCatalog(t *testing.T) {
	ca, other := newAuthority(t, "office CA"), newAuthority(t, "other CA")
	certificate, key := ca.leaf("127.0.0.1")
	s := newSecureServer(t, certificate, key, ca)
	p := newSecurePlace(t)
	p.env["MCPCAT_VAR_secret"] = "canary-bearer-token"
	clientCert, clientKey := ca.leaf()
	strangeCert, strangeKey := other.leaf()
	p.write("ca.pem", ca.pem)
	p.write("other.pem", other.pem)
	p.write("client.pem", clientCert)
	p.write("strange.pem", strangeCert)
	strangePath := p.write("../keys/strange.key", strangeKey)
	keyPath := p.write("../keys/client.key", clientKey)

	trusted, pinned := "ca_file = \"ca.pem\"\n", fmt.Sprintf("pin_sha256 = [%q, %q]\n", pinOf(t, strangeCert), pinOf(t, certificate))
	client := fmt.Sprintf("client_cert_file = \"client.pem\"\nclient_key_file = %q\n", keyPath)
	block := func(lines ...string) string { return "tls {\n" + strings.Join(lines, "") + "}" }

	for name, test := range map[string]struct {
		blocks []string
		wants  []string
	}{
		"no block": {nil, []string{"not signed by an authority that is trusted here", `tls { ca_file = "FILE" } in the http block`}},
		"other authority": {[]string{block("ca_file = \"other.pem\"\n", client)}, []string{
			"not signed by an authority that is trusted here", "only the certificates of ca_file are trusted",
		}},
		"other name":            {[]string{block(trusted, client, "server_name = \"ledger.example\"\n")}, []string{"certificate is for another name", "server_name says"}},
		"other key":             {[]string{block(trusted, client, fmt.Sprintf("pin_sha256 = %q\n", pinOf(t, strangeCert)))}, []string{"no certificate of the server's chain has a pinned key", "put the new one into pin_sha256"}},
		"no client certificate": {[]string{block(trusted, pinned)}, []string{"server refuses the client certificate", "client_cert_file ="}},
		"other client certificate": {[]string{block(trusted, fmt.Sprintf("client_cert_file = \"strange.pem\"\nclient_key_file = %q\n", strangePath))}, []string{
			"server refuses the client certificate", "It was shown that of client_cert_file",
		}},
	} {
		p.catalog(s.URL+"/mcp", append(test.blocks, private, bearers)...)
		out := p.run(5, "plan", "-contact=all")
		contains(t, out, append(test.wants, "server.office not checked: ")...)
		contains(t, p.run(5, "plan", "-contact=all", "-json"), `"code":"server.tls"`)
		if n := s.asked(); n > 0 {
			t.Errorf("%s: the server got %d requests, want none", name, n)
		}
	}

	p.catalog(s.URL+"/mcp", block(trusted, pinned, client), private, bearers)
	out := p.run(0, "plan", "-contact=all", "-out=p.mcpplan")
	contains(t, out, "tls ca_file = ", "client_cert_file = ", pinOf(t, certificate))
	p.run(0, "apply", "p.mcpplan")
	p.run(0, "verify")
	p.run(0, "call", "server.office.tool.berth")
	s.mu.Lock()
	if len(s.clients) < 5 || len(s.clients) != len(s.received) || strings.Join(s.clients, "") != strings.Repeat("leaf", len(s.clients)) {
		t.Errorf("%d requests, with client certificates of %q", len(s.received), s.clients)
	}
	for _, got := range s.received {
		if got != "Bearer canary-bearer-token" {
			t.Errorf("Authorization: %s", got)
		}
	}
	s.mu.Unlock()
	s.asked()

	// Another content of the file is another endpoint, whatever its name: no call before it is planned and applied.
	p.write("ca.pem", ca.pem+other.pem)
	contains(t, p.run(3, "call", "server.office.tool.berth"), "The endpoint in the catalog is not the applied one")
	p.run(3, "verify")
	if n := s.asked(); n > 0 {
		t.Errorf("the server got %d requests although its endpoint changed", n)
	}
	contains(t, p.run(0, "plan", "-contact=all", "-out=p.mcpplan"), "endpoint/tls/ca_file", "other certificates are trusted")
	p.run(0, "apply", "p.mcpplan")
	p.run(0, "call", "server.office.tool.berth")

	// A lost key is an error where servers are asked, and does not matter offline.
	if err := os.Remove(filepath.FromSlash(keyPath)); err != nil {
		t.Fatal(err)
	}
	contains(t, p.run(1, "plan", "-contact=all"), "The file that client_key_file names: no such file or directory.")
	delete(p.env, "MCPCAT_VAR_secret")
	p.run(0, "validate")
	contains(t, p.run(5, "plan", "-contact=none"), "not contacted, because of -contact=none")
	contains(t, p.run(1, "plan", "-contact=all"), `The variable "secret" has no default and no value`)

	hidden := append(strings.Split(clientKey, "\n")[1:3], "canary-bearer-token", base64.StdEncoding.EncodeToString([]byte("canary-bearer-token")))
	for _, text := range hidden {
		if len(text) < 16 || strings.Contains(p.written(), text) {
			t.Errorf("%q was written", text)
		}
	}
	if !strings.Contains(p.written(), "client_cert_file") {
		t.Error("what was written does not name the certificate either: the search is broken")
	}
}

// connectProxy is a proxy that connects every target to one address, and keeps what it was sent.
type connectProxy struct {
	net.Listener
	mu     sync.Mutex
	heads  []string                 // requests to the proxy
	passed bytes.Buffer             // what went through it towards the server
	refuse func(head string) string // if set, what it answers to everything
}

func newConnectProxy(t *testing.T, to, authorization string) *connectProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &connectProxy{Listener: l}
	var running sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); running.Wait() })
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(c, to, authorization) })
		}
	})
	return p
}

func (p *connectProxy) serve(c net.Conn, to, authorization string) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	var head []byte
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) && len(head) < 4096 {
		b := make([]byte, 1)
		if _, err := c.Read(b); err != nil {
			return
		}
		head = append(head, b[0])
	}
	p.mu.Lock()
	p.heads = append(p.heads, string(head))
	refuse := p.refuse
	p.mu.Unlock()
	if refuse != nil {
		_, _ = io.WriteString(c, refuse(string(head)))
		return
	}
	if authorization != "" && !strings.Contains(string(head), "\r\nProxy-Authorization: "+authorization+"\r\n") {
		_, _ = io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
		return
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(c, server); _ = c.Close() }()
	b := make([]byte, 4096)
	for {
		n, err := c.Read(b)
		p.mu.Lock()
		p.passed.Write(b[:n])
		p.mu.Unlock()
		if _, werr := server.Write(b[:n]); err != nil || werr != nil {
			return
		}
	}
}

// TestProxyOfTheCatalog: a server is reached through the proxy that the catalog names, or the environment where the
// catalog says so. The proxy learns the server's name and its own credentials, and nothing of a request; what is written
// has the credentials nowhere.
func TestProxyOfTheCatalog(t *testing.T) {
	ca := newAuthority(t, "office CA")
	certificate, key := ca.leaf("office.example")
	s := newSecureServer(t, certificate, key, nil)
	credentials := base64.StdEncoding.EncodeToString([]byte("clerk:canary/proxy-password"))
	proxy := newConnectProxy(t, s.Listener.Addr().String(), "Basic "+credentials)
	for name, test := range map[string]struct{ egress, environment string }{
		"named":       {`"http://clerk:${urlencode(env("PW"))}@` + proxy.Addr().String() + `"`, "http://nobody.example:1"},
		"environment": {`"environment"`, "clerk:canary%2Fproxy-password@" + proxy.Addr().String()},
	} {
		proxy.mu.Lock()
		proxy.heads = nil
		proxy.passed.Reset()
		proxy.mu.Unlock()
		p := newSecurePlace(t)
		p.env = map[string]string{"MCPCAT_VAR_secret": "canary-bearer-token", "PW": "canary/proxy-password", "HTTPS_PROXY": test.environment, "https_proxy": "http://nobody.example:2"}
		p.write("ca.pem", ca.pem)
		p.catalog("https://office.example/mcp", "tls {\nca_file = \"ca.pem\"\n}", "egress {\nproxy = "+test.egress+"\n}", bearers)
		p.run(0, "plan", "-contact=all", "-out=p.mcpplan")
		p.run(0, "apply", "p.mcpplan")
		p.run(0, "call", "server.office.tool.berth")
		if n := s.asked(); n < 5 {
			t.Errorf("%s: the server got %d requests", name, n)
		}
		proxy.mu.Lock()
		seen, heads := proxy.passed.String(), proxy.heads
		proxy.mu.Unlock()
		if len(heads) < 2 || len(seen) < 1000 {
			t.Errorf("%s: the proxy was asked %d times and passed %d bytes", name, len(heads), len(seen))
		}
		for _, text := range []string{"canary-bearer-token", "Authorization", "/mcp", "tools/list", "Mcp-"} {
			if strings.Contains(seen, text) {
				t.Errorf("%s: %q went through the proxy readable", name, text)
			}
		}
		for _, head := range heads {
			want := "CONNECT office.example:443 HTTP/1.1\r\nHost: office.example:443\r\n"
			rest, ok := strings.CutPrefix(head, want)
			if rest, _ = strings.CutSuffix(rest, "Proxy-Authorization: Basic "+credentials+"\r\n\r\n"); !ok || strings.Count(rest, "\r\n") > 1 || !strings.HasPrefix(rest, "User-Agent: mcpcat") {
				t.Errorf("%s: the proxy was sent %q", name, head)
			}
		}
		wrong := p.env["PW"] + "x"
		p.env["PW"], p.env["HTTPS_PROXY"] = wrong, strings.ReplaceAll(p.env["HTTPS_PROXY"], "password", "passwordx")
		contains(t, p.run(5, "plan", "-contact=all"), "407", proxy.Addr().String())
		contains(t, p.run(5, "plan", "-contact=all", "-json"), `"code":"server.connect_failed"`)
		written := p.written()
		for _, text := range []string{"canary/proxy", "canary%2Fproxy", "canary%2fproxy", credentials, credentials[8:32], "canary-bearer"} {
			if strings.Contains(written, text) {
				t.Errorf("%s: %q was written", name, text)
			}
		}
		contains(t, written, "proxy")
	}

	// A proxy that cannot be used is no reason to go without.
	p := newSecurePlace(t)
	p.env["HTTPS_PROXY"] = "socks5://clerk:canary-socks-password@" + proxy.Addr().String()
	p.env["MCPCAT_VAR_secret"] = "canary-bearer-token"
	p.catalog("https://office.example/mcp", "egress {\nproxy = \"environment\"\n}")
	contains(t, p.run(5, "plan", "-contact=all"), "HTTPS_PROXY names a kind of proxy that is not supported")
	if strings.Contains(p.written(), "canary-socks") {
		t.Error("the password of the environment was written")
	}
	if n := s.asked(); n > 0 {
		t.Errorf("the server got %d requests", n)
	}
}
