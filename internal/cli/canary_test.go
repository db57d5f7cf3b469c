package cli_test

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The tests of this file put one random secret into every place where a secret may stand, have servers, proxies and other
// origins do what they can with what they are sent, run the real commands, and look for the secrets in every spelling: in
// all that was printed, in every file that was written, and in every byte that reached an origin other than the secret's own.

// canaryPlaces are the places, and the characters that a secret may have there beside letters and digits.
var canaryPlaces = map[string]string{
	"bearer": `/"<&>+\%~:`, "header": ` "<&>/\%=`, "encoded": ` /"<&+:`, "path": ` /?#%&"`, "query": ` &=+%/#"<`, "environment": "\t \"\\/<&>%'$\n", "proxy": `:/@?#%+& "`,
}

// newCanaryPlace makes an empty catalog directory whose commands find the canaries in the environment.
func newCanaryPlace(t *testing.T, c canaries) *echoPlace {
	t.Helper()
	p := emptyPlace(t)
	for place, value := range c {
		p.env["MCPCAT_VAR_"+place] = value
	}
	return p
}

// catalog writes the catalog: the servers, and an agent that has all their tools.
func (p *echoPlace) catalog(servers map[string]string) {
	p.t.Helper()
	var b strings.Builder
	var refs []string
	for name, block := range servers {
		for place := range canaryPlaces {
			if strings.Contains(block, "var."+place) {
				fmt.Fprintf(&b, "variable %q {\n  sensitive = true\n}\n", place)
			}
		}
		fmt.Fprintf(&b, "server %q {\n%s\n  tools = [\"berth\"]\n}\n", name, block)
		refs = append(refs, "server."+name)
	}
	fmt.Fprintf(&b, "agent \"pilot\" {\n  tools = [%s]\n}\n", strings.Join(refs, ", "))
	p.file("catalog.hcl", b.String())
}

// officeBlock is a server at origin that is given a secret in each place that a request has.
func officeBlock(origin string) string {
	return "  http {\n    url = \"" + origin + "/${urlencode(var.path)}/mcp?k=${urlencode(var.query)}\"\n" +
		"    headers = {\n      \"X-Canary\" = var.header\n      \"X-Encoded\" = \"Key ${urlencode(var.encoded)}\"\n    }\n    auth {\n      bearer = var.bearer\n    }\n    egress {\n      allow_private = true\n    }\n  }"
}

// depotBlock is a child that is given a secret in its environment.
func depotBlock(mode, record string) string {
	return fmt.Sprintf("  stdio {\n    command = \"echochild\"\n    args = [%q, %q]\n    env = { CANARY = var.environment }\n  }", mode, record)
}

const agentMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// sample is all of modes, or with the race detector, which makes everything slow and is not what these tests are for, some.
func sample[M any](modes map[string]M) map[string]M {
	if !raceDetector {
		return modes
	}
	some := map[string]M{}
	for i, name := range slices.Sorted(maps.Keys(modes)) {
		if i%5 == 0 || name == "good" || name == "notes" {
			some[name] = modes[name]
		}
	}
	return some
}

// clean fails if one of the secrets is in what was printed or written.
func (p *echoPlace) clean(search *leakSearch) {
	p.t.Helper()
	if found := search.in(p.everything()); found != "" {
		p.t.Errorf("in what was printed or written: %s", found)
	}
}

// pinned applies what the servers offer now, and wants that to succeed.
func (p *echoPlace) pinned() {
	p.t.Helper()
	if code, _ := p.run("apply", "-contact=all", "-auto-approve"); code != 0 {
		p.t.Fatalf("apply exited %d:\n%s", code, &p.out)
	}
}

// TestSecretsReachTheirOwnOriginOnly is the positive control of the other tests: each secret is found where it belongs, so
// they do not pass because nothing was sent; and there only, though all servers stand in one catalog.
func TestSecretsReachTheirOwnOriginOnly(t *testing.T) {
	c := newCanaries(t, canaryPlaces)
	p := newCanaryPlace(t, c)
	record := filepath.Join(t.TempDir(), "record")
	office := newEchoOrigin(t, nil)
	vault := newVault(t, p)
	mode := p.file("mode.said", "")
	p.targets = map[string]string{"office": office.URL, "depot": "-- echochild " + mode + " " + record}
	p.catalog(map[string]string{"office": officeBlock(office.URL), "depot": depotBlock(mode, record), "vault": vault.block})
	p.pinned()
	for _, server := range []string{"office", "depot", "vault"} {
		p.tour(server, true)
	}
	child, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	vault.proxy.mu.Lock()
	heads, passed := strings.Join(vault.proxy.heads, ""), vault.proxy.passed.String()
	vault.proxy.mu.Unlock()
	officeWire, _ := office.wire.seen()
	all := maps.Clone(c)
	all["key"] = vault.key
	for _, at := range []struct {
		origin string
		got    string
		own    []string
	}{
		{"office", office.received() + string(officeWire), []string{"bearer", "header", "encoded", "path", "query"}},
		{"depot", string(child), []string{"environment"}},
		{"proxy", heads + passed, []string{"proxy"}},
		{"vault", vault.received(), nil},
	} {
		for _, place := range at.own {
			if c.only(place).in([]byte(at.got)) == "" {
				t.Errorf("%s was not sent the secret of %s, so nothing was tested", at.origin, place)
			}
		}
		if found := all.but(at.own...).in([]byte(at.got)); found != "" {
			t.Errorf("%s was sent the secret of %s", at.origin, found)
		}
	}
	if !strings.Contains(vault.received(), "tools/call") || vault.clients() == 0 {
		t.Error("the vault was not called with the client certificate, so the key was not tested")
	}
	p.clean(all.but())
	for _, shown := range []string{"server.office", "server.depot", "server.vault", "berth"} {
		if !strings.Contains(string(p.everything()), shown) {
			t.Errorf("the output does not even say %s: the search is broken", shown)
		}
	}
}

// vault is a server behind a proxy that wants credentials, with an authority of its own, which wants a client certificate.
type vault struct {
	*echoOrigin
	proxy *connectProxy
	block string
	key   string // the number in the client's private key
	seen  *int
}

func newVault(t *testing.T, p *echoPlace) *vault {
	t.Helper()
	ca := newAuthority(t, "vault CA")
	certificate, key := ca.leaf("vault.example")
	clientCert, clientKey := ca.leaf()
	v := &vault{seen: new(int)}
	v.echoOrigin = newEchoOrigin(t, func(s *httptest.Server) {
		pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
		if err != nil {
			t.Fatal(err)
		}
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
		s.TLS.ClientCAs.AddCert(ca.cert)
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
	})
	v.proxy = newConnectProxy(t, v.Listener.Addr().String(), "")
	block, _ := pem.Decode([]byte(clientKey))
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	number, err := private.(*ecdsa.PrivateKey).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	v.key = string(number)
	p.file("ca.pem", ca.pem)
	p.file("client.pem", clientCert)
	keyFile := filepath.Join(t.TempDir(), "client.key")
	if err := os.WriteFile(keyFile, []byte(clientKey), 0o600); err != nil {
		t.Fatal(err)
	}
	v.block = fmt.Sprintf("  http {\n    url = \"https://vault.example/mcp\"\n    tls {\n      ca_file = \"ca.pem\"\n      client_cert_file = \"client.pem\"\n      client_key_file = %q\n    }\n"+
		"    egress {\n      proxy = \"http://clerk:${urlencode(var.proxy)}@%s\"\n    }\n  }", keyFile, v.proxy.Addr())
	return v
}

// clients is how many requests the vault has had; without the client's certificate there are none.
func (v *vault) clients() int { return strings.Count(v.received(), mark) }

// TestEchoedSecrets has a server say again what it was sent, in every place of an answer.
func TestEchoedSecrets(t *testing.T) {
	modes := map[string]echoMode{"notes": {notes: echoNotes}, "good": {}}
	for _, list := range []map[string]string{places, callPlaces} {
		for name, place := range list {
			modes[name] = echoMode{place: place}
		}
	}
	for _, list := range []map[string]func(http.ResponseWriter, string){rawAnswers, canaryRaw} {
		for name, raw := range list {
			modes["HTTP "+name] = echoMode{raw: raw}
			modes["HTTP "+name+" to a call"] = echoMode{raw: raw, step: "tools/call"}
		}
	}
	for _, name := range []string{"error message", "description", "call error", "call result", "HTTP 500", "HTTP header line", "HTTP 401"} {
		for _, spelling := range []string{"base64", "URL", "JSON", "Go"} {
			mode := modes[name]
			mode.spell = spellings[spelling]
			modes[name+" as "+spelling] = mode
		}
	}
	echoes(t, modes, func(p *echoPlace) (string, func(echoMode), func() []byte) {
		office := newEchoOrigin(p.t, nil)
		p.targets = map[string]string{"office": office.URL}
		p.catalog(map[string]string{"office": officeBlock(office.URL)})
		return "office", office.set, func() []byte { return []byte(office.received()) }
	})
}

// TestEchoedEnvironment has a child say again its environment, in every place of an answer and on standard error.
func TestEchoedEnvironment(t *testing.T) {
	modes := map[string]string{"notes": "notes", "good": "", "exit": "exit server/discover", "exit at the list": "exit tools/list", "exit at the call": "exit tools/call"}
	for _, list := range []map[string]string{places, callPlaces} {
		maps.Copy(modes, list)
	}
	echoes(t, modes, func(p *echoPlace) (string, func(string), func() []byte) {
		record, mode := filepath.Join(p.t.TempDir(), "record"), p.file("mode.said", "")
		p.targets = map[string]string{"depot": "-- echochild " + mode + " " + record}
		p.catalog(map[string]string{"depot": depotBlock(mode, record)})
		return "depot", func(mode string) { p.file("mode.said", mode) }, func() []byte {
			got, err := os.ReadFile(record)
			if err != nil {
				p.t.Error(err)
			}
			return got
		}
	})
}

// echoes pins a server that answers as it should, has it say again what it is sent in each of its modes, and looks through all
// that commands make of it. Start writes the catalog of the server, and returns its label, what sets its mode, and what it was
// sent.
func echoes[M any](t *testing.T, modes map[string]M, start func(*echoPlace) (string, func(M), func() []byte)) {
	c := newCanaries(t, canaryPlaces)
	search := c.but()
	shown := make(chan string, len(modes))
	t.Run("modes", func(t *testing.T) {
		for name, mode := range sample(modes) {
			t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				p := newCanaryPlace(t, c)
				server, set, sent := start(p)
				p.pinned()
				set(mode)
				p.tour(server, name == "good" || name == "notes")
				p.clean(search)
				if search.in(sent()) == "" {
					t.Error("the server was not sent its secret, so nothing was tested")
				}
				if strings.Contains(string(p.everything()), mark) {
					shown <- name
				}
			})
		}
	})
	// Much of what a server says is refused whole. What is shown shows that secrets could come out there.
	if n := len(shown); n < len(sample(modes))/5 {
		t.Errorf("of %d answers that repeat what was sent, something was shown of %d only", len(sample(modes)), n)
	}
}

// TestProxyEchoes has a proxy say again the credentials that it was sent, in place of connecting.
func TestProxyEchoes(t *testing.T) {
	c := newCanaries(t, canaryPlaces)
	for name, refuse := range map[string]string{
		"407": "HTTP/1.1 407 T\r\nProxy-Authenticate: Basic realm=\"T\"\r\nProxy-Status: T\r\nContent-Length: 0\r\n\r\n", "403": "HTTP/1.1 403 T\r\n\r\nT",
		"502": "HTTP/1.1 502 T\r\nX: T\r\nContent-Type: text/plain\r\n\r\nT", "302": "HTTP/1.1 302 T\r\nLocation: http://127.0.0.1:1/T\r\n\r\n",
		"no HTTP": "T\r\n\r\n", "bad status": "HTTP/1.1 T\r\n\r\n", "bad header": "HTTP/1.1 200 OK\r\nT\r\n\r\n", "nothing": "", "no TLS": "HTTP/1.1 200 OK\r\n\r\nT",
	} {
		p := newCanaryPlace(t, c)
		v := newVault(t, p)
		p.catalog(map[string]string{"vault": v.block})
		p.pinned()
		v.proxy.mu.Lock()
		v.proxy.refuse = func(head string) string {
			return strings.ReplaceAll(refuse, "T\r\n", strings.ReplaceAll(mark+" "+head, "\r\n", " ")+"\r\n")
		}
		v.proxy.mu.Unlock()
		p.out.Reset()
		p.tour("vault", false)
		all := maps.Clone(c)
		all["key"] = v.key
		p.clean(all.but())
		v.proxy.mu.Lock()
		asked := strings.Join(v.proxy.heads, "")
		v.proxy.mu.Unlock()
		if c.only("proxy").in([]byte(asked)) == "" || !strings.Contains(p.out.String(), "vault") {
			t.Errorf("%s: the proxy was not sent its credentials", name)
		}
	}
}
