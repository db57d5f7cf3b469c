package transport

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err == nil {
		a.cert, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// issue makes a certificate for this machine and tools.example, or what change makes of it.
func (a *authority) issue(t testing.TB, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "harbour"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost", "tools.example"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)},
	}
	if change != nil {
		change(template)
	}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

func pin(c *x509.Certificate) [sha256.Size]byte { return sha256.Sum256(c.RawSubjectPublicKeyInfo) }

// secureServer is a server with TLS that answers every request with an empty result.
type secureServer struct {
	*httptest.Server
	requests atomic.Int32
	proto    atomic.Value
	header   atomic.Value
}

func serveTLS(t testing.TB, config *tls.Config, h2 bool) *secureServer {
	t.Helper()
	s := &secureServer{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		s.proto.Store(r.Proto)
		s.header.Store(r.Header.Clone())
		text, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", mediaJSON)
		io.WriteString(w, `{"jsonrpc":"2.0","id":`+rawID(t, text)+`,"result":{}}`)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS, s.EnableHTTP2 = config, h2
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// secured is a configuration for a server on this machine.
func secured(url string, config *tls.Config, pins ...[sha256.Size]byte) HTTPConfig {
	return HTTPConfig{URL: url + "/mcp?key=query-secret", AllowPrivate: true, TLS: config, Pins: pins, Headers: secretHeaders(), Connect: 5 * time.Second}
}

// refusedTLS makes a call that must fail with a TLSError before anything is sent.
func refusedTLS(t *testing.T, c HTTPConfig, reason string) {
	t.Helper()
	_, err := newClient(t, c).Do(t.Context(), call(1, "tools/list"))
	var refused *TLSError
	var e *Error
	if !errors.As(err, &refused) || refused.Reason != reason || !errors.As(err, &e) || e.Op != "connect" || e.Delivered || e.Status != 0 {
		t.Fatalf("Do = %v (%+v), want a TLSError with reason %q before anything is sent", err, refused, reason)
	}
	u, _ := url.Parse(c.URL)
	if refused.Host != address(u) || !strings.Contains(err.Error(), u.Host) || strings.Contains(err.Error(), "secret") {
		t.Errorf("%q: error %q is about %q, want it about %q", reason, err, refused.Host, u.Host)
	}
	printable(t, err)
	if len(err.Error()) > 600 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

func TestCertificates(t *testing.T) {
	ours, theirs := newAuthority(t, "Ours \u202e\x07"+strings.Repeat("o", 300)), newAuthority(t, "Theirs")
	trust := &tls.Config{RootCAs: ours.pool()}
	right := ours.issue(t, nil)
	both := right // with another certificate behind it, which has nothing to do with the chain
	both.Certificate = append([][]byte{}, right.Certificate[0], theirs.cert.Raw)
	forged := newAuthority(t, ours.cert.Subject.CommonName).issue(t, nil)
	for name, tt := range map[string]struct {
		cert   tls.Certificate
		client *tls.Config
		pins   [][sha256.Size]byte
		reason string
	}{
		"own authority":        {right, trust, nil, ""},
		"pin of the leaf":      {right, trust, [][32]byte{{1}, pin(right.Leaf)}, ""},
		"pin of the authority": {right, trust, [][32]byte{pin(ours.cert)}, ""},
		"another pin":          {right, trust, [][32]byte{{1}, pin(theirs.cert)}, TLSPin},
		"pin of a stowaway":    {both, trust, [][32]byte{pin(theirs.cert)}, TLSPin},
		"pin without trust":    {right, nil, [][32]byte{pin(right.Leaf)}, TLSUntrusted},
		"no authority given":   {right, nil, nil, TLSUntrusted},
		"another authority":    {right, &tls.Config{RootCAs: theirs.pool()}, nil, TLSUntrusted},
		"forged by name":       {forged, trust, nil, TLSUntrusted},
		"expired":              {ours.issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), trust, nil, TLSExpired},
		"not yet":              {ours.issue(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }), trust, nil, TLSExpired},
		"another name":         {right, &tls.Config{RootCAs: ours.pool(), ServerName: "other.example"}, nil, TLSName},
		"name as configured":   {right, &tls.Config{RootCAs: ours.pool(), ServerName: "tools.example"}, nil, ""},
		"for clients only":     {ours.issue(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), trust, nil, TLSUntrusted},
		"names of a bad writer": {ours.issue(t, func(c *x509.Certificate) {
			c.IPAddresses = nil
			c.DNSNames = []string{strings.Repeat("n", 300) + "\x1b[31m"}
		}), trust, nil, TLSName},
	} {
		for _, h2 := range []bool{false, true} {
			srv := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{tt.cert}}, h2)
			c := secured(srv.URL, tt.client, tt.pins...)
			if tt.reason != "" {
				t.Run(name, func(t *testing.T) { refusedTLS(t, c, tt.reason) })
				if n := srv.requests.Load(); n != 0 {
					t.Errorf("%s: %d requests reached the server", name, n)
				}
				continue
			}
			m, err := newClient(t, c).Do(t.Context(), call(1, "tools/list"))
			good(t, outcome{m, err}, "1")
			if want := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[h2]; srv.proto.Load() != want {
				t.Errorf("%s: spoke %v, want %s", name, srv.proto.Load(), want)
			}
		}
	}
}

// TestPinsOfAResumedSession: what was verified in the first handshake is held against the pins in every later one.
func TestPinsOfAResumedSession(t *testing.T) {
	ours := newAuthority(t, "Ours")
	cert := ours.issue(t, nil)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		srv := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{cert}, MaxVersion: version}, false)
		var resumed atomic.Bool
		sessions := &tls.Config{RootCAs: ours.pool(), ClientSessionCache: tls.NewLRUClientSessionCache(4), VerifyConnection: func(s tls.ConnectionState) error {
			resumed.Store(s.DidResume)
			return nil
		}}
		for i, want := range []bool{false, true} {
			m, err := newClient(t, secured(srv.URL, sessions, pin(cert.Leaf))).Do(t.Context(), call(1, "tools/list"))
			good(t, outcome{m, err}, "1")
			if resumed.Load() != want {
				t.Fatalf("%x: connection %d resumed is %v, want %v: nothing was tested", version, i, resumed.Load(), want)
			}
		}
		before := srv.requests.Load()
		refusedTLS(t, secured(srv.URL, sessions, [32]byte{1}), TLSPin)
		if n := srv.requests.Load(); n != before {
			t.Errorf("%x: a request reached the server", version)
		}
	}
}

func TestOwnVerificationIsAskedToo(t *testing.T) {
	ours := newAuthority(t, "Ours")
	cert := ours.issue(t, nil)
	srv := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{cert}}, false)
	c := &tls.Config{RootCAs: ours.pool(), VerifyConnection: func(tls.ConnectionState) error { return errors.New("not on a Sunday") }}
	refusedTLS(t, secured(srv.URL, c, pin(cert.Leaf)), TLSHandshake)
	refusedTLS(t, secured(srv.URL, c), TLSHandshake)
}

func TestClientCertificates(t *testing.T) {
	ours, theirs := newAuthority(t, "Ours"), newAuthority(t, "Theirs")
	client := func(a *authority) []tls.Certificate {
		return []tls.Certificate{a.issue(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })}
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, h2 := range []bool{false, true} {
			srv := serveTLS(t, &tls.Config{
				Certificates: []tls.Certificate{ours.issue(t, nil)}, MaxVersion: version,
				ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ours.pool(),
			}, h2)
			m, err := newClient(t, secured(srv.URL, &tls.Config{RootCAs: ours.pool(), Certificates: client(ours)})).Do(t.Context(), call(1, "tools/list"))
			good(t, outcome{m, err}, "1")
			// Of Certificates crypto/tls gives none that the server names no authority for.
			wrong := client(theirs)
			for name, config := range map[string]*tls.Config{
				"none": {}, "wrong": {Certificates: wrong},
				"wrong and given": {GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &wrong[0], nil }},
			} {
				config.RootCAs = ours.pool()
				_, err := newClient(t, secured(srv.URL, config)).Do(t.Context(), call(1, "tools/list"))
				var refused *TLSError
				if !errors.As(err, &refused) || refused.Reason != TLSClientCert || refused.Host != strings.TrimPrefix(srv.URL, "https://") {
					t.Errorf("%x, HTTP/2 %v, %s: %v, want the client certificate refused", version, h2, name, err)
				}
			}
			if n := srv.requests.Load(); n != 1 {
				t.Errorf("%x, HTTP/2 %v: %d requests, want the one of the right certificate", version, h2, n)
			}
		}
	}
}

// TestLostAfterTheCertificate: a server that took the certificate and then hung up has not refused it.
func TestLostAfterTheCertificate(t *testing.T) {
	ours := newAuthority(t, "Ours")
	certs := []tls.Certificate{ours.issue(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		config := &tls.Config{
			Certificates: []tls.Certificate{ours.issue(t, nil)}, MaxVersion: version,
			ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ours.pool(),
		}
		ln := listenTCP(t)
		defer ln.Close()
		go func() {
			for {
				raw, err := ln.Accept()
				if err != nil {
					return
				}
				r, err := http.ReadRequest(bufio.NewReader(tls.Server(raw, config)))
				if err == nil {
					_, err = io.Copy(io.Discard, r.Body)
				}
				if err != nil {
					t.Error(err)
				}
				_ = raw.Close()
			}
		}()
		_, err := newClient(t, secured("https://"+ln.Addr().String(), &tls.Config{RootCAs: ours.pool(), Certificates: certs})).Do(t.Context(), call(1, "tools/list"))
		var lost *LostError
		var refused *TLSError
		if !errors.As(err, &lost) || errors.As(err, &refused) {
			t.Errorf("%x: %v, want a lost connection", version, err)
		}
	}
}

// TestTextsOfAlerts holds the texts by which alerts are known against those of crypto/tls, by their numbers.
func TestTextsOfAlerts(t *testing.T) {
	var want []string
	for _, n := range []tls.AlertError{42, 43, 44, 45, 46, 48, 116, 49} {
		want = append(want, n.Error())
	}
	if !slices.Equal(clientAlerts, want) {
		t.Errorf("alerts are known by %q, crypto/tls writes %q", clientAlerts, want)
	}
	for text, asked := range map[string]bool{tls.AlertError(40).Error(): true, want[0]: false} {
		remote := &net.OpError{Op: "remote error", Err: errors.New(text)}
		if !clientRefused(remote, asked) || clientRefused(&net.OpError{Op: "local error", Err: remote.Err}, asked) {
			t.Errorf("%q is not taken for a refusal of the server's, or one of ours is", text)
		}
	}
}

// TestLostBesideANewConnection: what is said of a lost connection does not depend on another one, on which the server has not
// said yet what it thinks of the client's certificate.
func TestLostBesideANewConnection(t *testing.T) {
	ours := newAuthority(t, "Ours")
	certs := []tls.Certificate{ours.issue(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })}
	for name, given := range map[string][]tls.Certificate{"a certificate": certs, "none": nil} {
		config := &tls.Config{Certificates: []tls.Certificate{ours.issue(t, nil)}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: ours.pool(), SessionTicketsDisabled: true}
		ln := listenTCP(t)
		begun := make(chan *net.TCPConn, 2) // of requests that are not answered
		srv := serveOn(t, tls.NewListener(ln, config), func(p *peer) {
			if p.id() == "1" {
				p.keep = true
				p.result()
				return
			}
			begun <- p.Conn.(*tls.Conn).NetConn().(*net.TCPConn)
			p.untilGone()
		})
		h := newClient(t, secured("https://"+srv.addr, &tls.Config{RootCAs: ours.pool(), Certificates: given}))
		m, err := h.Do(t.Context(), call(1, "tools/list"))
		good(t, outcome{m, err}, "1")
		ctx, cancel := context.WithCancel(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { _, err := h.Do(ctx, call(2, "tools/call")); first <- err }()
		old := <-begun
		go func() { _, err := h.Do(ctx, call(3, "tools/call")); second <- err }()
		<-begun
		old.SetLinger(0)
		old.Close()
		err = <-first
		var lost *LostError
		if !errors.As(err, &lost) {
			t.Errorf("%s: %v, want a lost connection", name, err)
		}
		cancel()
		<-second
	}
}

func TestTLSConfigurations(t *testing.T) {
	for text, c := range map[string]*tls.Config{
		"InsecureSkipVerify": {InsecureSkipVerify: true}, "MinVersion": {MinVersion: tls.VersionTLS11}, "MaxVersion": {MaxVersion: tls.VersionTLS10},
	} {
		var e *Error
		if _, err := NewHTTP(HTTPConfig{URL: "https://tools.example/", TLS: c}); !errors.As(err, &e) || e.Op != "configure" || !strings.Contains(err.Error(), text) {
			t.Errorf("NewHTTP = %v, want %s refused", err, text)
		}
	}
	given := &tls.Config{MinVersion: tls.VersionTLS13}
	h := newClient(t, HTTPConfig{URL: "https://tools.example/", TLS: given, Pins: make([][32]byte, 1)})
	if h.tls == given || h.tls.MinVersion != tls.VersionTLS13 || given.VerifyConnection != nil || len(given.NextProtos) != 0 {
		t.Error("the caller's configuration is written to, or not heeded")
	}
}

// TestHandshakes has the server do something else than it should.
func TestHandshakes(t *testing.T) {
	silent := make(chan struct{})
	defer close(silent)
	for name, tt := range map[string]struct {
		serve  func(net.Conn)
		reason string // "" for a timeout
	}{
		"plain HTTP": {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\nyou sent canary-secret-token") }, TLSNotTLS},
		"SSH":        {func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH_9.6\r\n") }, TLSNotTLS},
		"hangs up":   {func(net.Conn) {}, TLSHandshake},
		"an alert":   {func(c net.Conn) { c.Write([]byte{21, 3, 3, 0, 2, 2, 40}) }, TLSHandshake},
		"nonsense":   {func(c net.Conn) { c.Write(append([]byte{22, 3, 3, 0, 9}, "nonsense!"...)) }, TLSHandshake},
		"cut":        {func(c net.Conn) { c.Write([]byte{22, 3, 3, 0, 90, 2}) }, TLSHandshake},
		"stalls":     {func(net.Conn) { <-silent }, ""},
		"stalls later": {func(c net.Conn) {
			c.Write([]byte{22, 3, 3, 0, 90, 2})
			<-silent
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ln := listenTCP(t)
			defer ln.Close()
			go func() {
				for {
					c, err := ln.Accept()
					if err != nil {
						return
					}
					go func() {
						defer c.Close()
						c.Read(make([]byte, 2048)) // the client's hello
						tt.serve(c)
					}()
				}
			}()
			c := secured("https://"+ln.Addr().String(), nil)
			if tt.reason != "" {
				refusedTLS(t, c, tt.reason)
				return
			}
			c.Connect = 100 * time.Millisecond
			_, err := newClient(t, c).Do(t.Context(), call(1, "tools/list"))
			var late *TimeoutError
			var e *Error
			if !errors.As(err, &late) || late.Waiting != "the TLS handshake" || late.After != c.Connect || !errors.As(err, &e) || e.Op != "connect" || e.Delivered {
				t.Errorf("Do = %v, want a timeout of the handshake", err)
			}
		})
	}
	old := serveTLS(t, &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}, false)
	refusedTLS(t, secured(old.URL, nil), TLSHandshake)
}
