package mcptest

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"time"
)

// tlsFaults are the faults of TLS, all of which come before anything of a request is sent.
func tlsFaults() []Fault {
	certificate := func(name string, leaf func() tls.Certificate) Fault {
		return Fault{Name: name, http: httpFault{secure: func(c *tls.Config) { c.Certificates = []tls.Certificate{leaf()} }}}
	}
	changed := func(name string, change func(c *x509.Certificate)) Fault {
		return certificate(name, func() tls.Certificate { return authority().leaf(change) })
	}
	accept := func(name string, f func(x *Exchange)) Fault { return Fault{Name: name, http: httpFault{accept: f}} }
	hello := func(x *Exchange) { // the whole of what the client says first, or most of it
		_, _ = x.raw.Read(make([]byte, 4<<10))
	}
	return []Fault{
		{Name: "control", Legal: true, Steps: answered, http: httpFault{act: func(x *Exchange, _ Request, answer string) { x.Send(body(answer)) }}},
		certificate("self-signed", func() tls.Certificate { return (&issuer{key: newKey()}).selfSigned() }),
		certificate("unknown-authority", func() tls.Certificate {
			other := &issuer{key: newKey()}
			other.cert = other.sign(authorityTemplate("another authority"), other.key)
			return other.leaf(nil)
		}),
		changed("another-key", func(*x509.Certificate) {}),
		changed("expired", func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(-48*time.Hour), time.Now().Add(-24*time.Hour)
		}),
		changed("not-yet-valid", func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(24*time.Hour), time.Now().Add(48*time.Hour)
		}),
		changed("wrong-name", func(c *x509.Certificate) {
			c.DNSNames, c.IPAddresses = []string{"elsewhere.example", "x.\x1b[31m.example"}, []net.IP{net.IPv4(192, 0, 2, 1)}
		}),
		changed("not-for-servers", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning} }),
		{Name: "old-version", http: httpFault{secure: func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }}},
		{Name: "wants-client-certificate", http: httpFault{secure: func(c *tls.Config) {
			c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12
		}}},
		{Name: "wants-client-certificate-13", http: httpFault{secure: func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }}},
		accept("plain-http", func(x *Exchange) {
			hello(x)
			x.Send("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
		}),
		accept("garbage", func(x *Exchange) { hello(x); x.Send("220 harbour.example ESMTP \x1b[31mready\x1b[0m\r\n") }),
		accept("alert", func(x *Exchange) { hello(x); x.Send("\x15\x03\x03\x00\x02\x02\x28") }), // fatal, handshake_failure
		accept("handshake-silence", func(x *Exchange) { hello(x); x.Hold() }),
		accept("handshake-half-then-silence", func(x *Exchange) { hello(x); x.Send("\x16\x03\x03\x00\x7a\x02\x00"); x.Hold() }),
		accept("handshake-close", hello),
		accept("handshake-reset", func(x *Exchange) { hello(x); x.Reset() }),
		accept("handshake-endless", func(x *Exchange) { hello(x); x.Endless(x.Send, "\x16\x03\x03\x00\x04\x00\x00\x00\x00") }),
		plain("answer-not-encrypted", func(x *Exchange, _ Request, answer string) {
			s := body(answer)
			n, _ := x.raw.Write([]byte(s))
			x.f.written.Add(int64(n))
		}),
		plain("broken-record", func(x *Exchange, _ Request, _ string) {
			_, _ = x.raw.Write([]byte("\x17\x03\x03\x00\x20" + strings.Repeat("x", 32)))
		}),
	}
}

// nameFaults are the faults of finding the address of a name.
func nameFaults() []Fault {
	lookup := func(name string, f func([]byte) []byte) Fault {
		return Fault{Name: name, http: httpFault{named: true, before: func(p *Faulty) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.lookup = f
		}}}
	}
	return []Fault{
		lookup("name-unknown", noSuchName),
		lookup("name-without-address", func(query []byte) []byte { return reply(query, 0) }),
		lookup("name-server-fails", func(query []byte) []byte { return reply(query, 2) }),
		lookup("name-server-silent", func([]byte) []byte { return nil }),
		lookup("name-of-nobody", address([4]byte{127, 0, 0, 99})), // where nothing listens at the port
		lookup("name-of-metadata", address([4]byte{169, 254, 169, 254})),
		lookup("name-of-anything", address([4]byte{0, 0, 0, 0})),
	}
}
