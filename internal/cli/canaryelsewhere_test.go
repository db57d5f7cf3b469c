package cli_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// otherOrigin is where a redirect leads to. Nothing may reach it.
func otherOrigin(t *testing.T) *wire {
	t.Helper()
	w := newWire(t)
	w.each(t, func(c net.Conn) {
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		_, _ = io.Copy(io.Discard, c)
	})
	return w
}

// vercel/ai#15963, danny-avila/LibreChat#12266: credentials went along to where a server redirected.
func TestRedirectsTakeNothingAway(t *testing.T) {
	c := newCanaries(t, canaryPlaces)
	search := c.but()
	codes := []int{301, 302, 303, 307, 308}
	if raceDetector {
		codes = codes[3:]
	}
	for _, code := range codes {
		for form, location := range map[string]string{"other port": "http://OTHER/", "without scheme": "//OTHER/x", "over TLS": "https://OTHER/", "by name": "http://localhost:PORT/"} {
			for _, step := range []string{"", "tools/call"} {
				t.Run(fmt.Sprintf("%d-%s-%s", code, strings.ReplaceAll(form, " ", "-"), strings.ReplaceAll(step, "/", "-")), func(t *testing.T) {
					t.Parallel()
					p := newCanaryPlace(t, c)
					office, other := newEchoOrigin(t, nil), otherOrigin(t)
					p.catalog(map[string]string{"office": officeBlock(office.URL)})
					p.pinned()
					_, port, _ := net.SplitHostPort(other.Addr().String())
					to := strings.NewReplacer("OTHER", other.Addr().String(), "PORT", port).Replace(location)
					office.set(echoMode{step: step, raw: func(w http.ResponseWriter, said string) {
						hijack(w, fmt.Sprintf("HTTP/1.1 %d %s\r\nLocation: %s?%s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", code, said, to, strings.ReplaceAll(said, " ", "+")))
					}})
					p.tour("office", false)
					p.clean(search)
					if got, conns := other.seen(); conns > 0 {
						t.Errorf("%d connections to the other origin, %d bytes: %.200q", conns, len(got), got)
					}
					wired, _ := office.wire.seen()
					if c.only("bearer").in(wired) == "" {
						t.Error("the server was not sent its token, so nothing was tested")
					}
				})
			}
		}
	}
}

// TestFailingServersGetNoSecret: what answers is not the server that was asked for, or nothing at all. Of what it is sent
// every byte is looked at, and so is what is said about it.
func TestFailingServersGetNoSecret(t *testing.T) {
	c := newCanaries(t, canaryPlaces)
	search := c.but()
	ca := newAuthority(t, "other CA")
	own := func(template x509.Certificate) tls.Certificate {
		a := &authority{t: t}
		_, key, text := a.make(&template)
		block, _ := pem.Decode([]byte(text))
		return tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key}
	}
	selfSigned := own(x509.Certificate{Subject: pkix.Name{CommonName: "office"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	handshake := func(cert tls.Certificate, decrypted io.Writer) func(net.Conn) {
		return func(c net.Conn) {
			s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}})
			_, _ = io.Copy(decrypted, s)
		}
	}
	for name, test := range map[string]struct {
		scheme string
		tls    string // lines of the tls block
		serve  func(c canaries, decrypted io.Writer) func(net.Conn)
	}{
		"self-signed": {"https", "", func(_ canaries, d io.Writer) func(net.Conn) { return handshake(selfSigned, d) }},
		"another name": {"https", "tls {\n      ca_file = \"ca.pem\"\n    }\n", func(c canaries, d io.Writer) func(net.Conn) {
			// The name that the certificate is for is text of the server, and gets into errors.
			certificate, key := ca.leaf(regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(c["header"], "-") + ".example")
			pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
			if err != nil {
				t.Error(err)
			}
			return handshake(pair, d)
		}},
		"another key": {"https", "tls {\n      ca_file = \"ca.pem\"\n      pin_sha256 = \"e9qjG74IQWa6Z4bqJMDTtTaYtdmHKIe8SKz5GO8Liqw=\"\n    }\n", func(_ canaries, d io.Writer) func(net.Conn) {
			certificate, key := ca.leaf("127.0.0.1")
			pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
			if err != nil {
				t.Error(err)
			}
			return handshake(pair, d)
		}},
		"self-signed, TLS 1.2": {"https", "", func(_ canaries, d io.Writer) func(net.Conn) {
			return func(c net.Conn) {
				s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{selfSigned}, MaxVersion: tls.VersionTLS12})
				_, _ = io.Copy(d, s)
			}
		}},
		"old TLS": {"https", "", func(_ canaries, d io.Writer) func(net.Conn) {
			return func(c net.Conn) {
				s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{selfSigned}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
				_, _ = io.Copy(d, s)
			}
		}},
		"plain HTTP": {"https", "", func(_ canaries, d io.Writer) func(net.Conn) {
			return func(c net.Conn) {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}")
				_, _ = io.Copy(d, c)
			}
		}},
		"noise": {"https", "", func(c canaries, d io.Writer) func(net.Conn) {
			return func(conn net.Conn) {
				_, _ = io.WriteString(conn, strings.Repeat(c["bearer"], 100))
				_, _ = io.Copy(d, conn)
			}
		}},
		"closes at once": {"https", "", func(canaries, io.Writer) func(net.Conn) { return func(net.Conn) {} }},
		"resets": {"https", "", func(canaries, io.Writer) func(net.Conn) {
			return func(c net.Conn) { _ = c.(*wireConn).Conn.(*net.TCPConn).SetLinger(0) }
		}},
		"closes at once, no TLS": {"http", "", func(canaries, io.Writer) func(net.Conn) { return func(net.Conn) {} }},
		"resets, no TLS": {"http", "", func(canaries, io.Writer) func(net.Conn) {
			return func(c net.Conn) { _ = c.(*wireConn).Conn.(*net.TCPConn).SetLinger(0) }
		}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			p := newCanaryPlace(t, c)
			p.file("ca.pem", ca.pem)
			server := newWire(t)
			decrypted := &lockedBuffer{}
			server.each(t, func(conn net.Conn) {
				_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
				test.serve(c, decrypted)(conn)
			})
			block := strings.Replace(officeBlock(test.scheme+"://"+server.Addr().String()), "    egress", "    "+test.tls+"    egress", 1)
			p.catalog(map[string]string{"office": block})
			code, out := p.run("plan", "-json", "-contact=all", "-out=p.mcpplan")
			if code != 5 || !json.Valid([]byte(out)) {
				t.Errorf("plan exited %d: %s", code, out)
			}
			p.tour("office", name == "self-signed")
			p.clean(search)
			got, conns := server.seen()
			if conns == 0 {
				t.Error("the server was not asked, so nothing was tested")
			}
			if test.scheme == "http" {
				return // it is its own origin, and may have what was on its way
			}
			if found := search.in(append(got, decrypted.bytes()...)); found != "" {
				t.Errorf("the server was sent %s", found)
			}
			if n := len(decrypted.bytes()); test.serve != nil && n > 0 && name != "plain HTTP" && name != "noise" {
				t.Errorf("%d bytes were sent behind the handshake", n)
			}
		})
	}
}
