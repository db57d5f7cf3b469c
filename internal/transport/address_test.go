package transport

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

func TestEndpoints(t *testing.T) {
	for url, want := range map[string]string{
		"https://tools.example/mcp":            "",
		"http://127.0.0.1:80/":                 "",
		"http://[::1]/":                        "",
		"http://localhost/":                    "",
		"http://LOCALHOST./":                   "",
		"http://a.localhost/":                  "",
		"http://tools.example/?k=query-secret": "http:// is for this machine only",
		"http://10.0.0.1/":                     "http:// is for this machine only",
		"http://localhost.evil.example/":       "http:// is for this machine only",
		"http://127.0.0.1.evil.example/":       "http:// is for this machine only",
		// Spellings that the resolver of the system, or a proxy, would make an address of.
		"http://2130706433/":                      "is a number",
		"http://0x7f000001/":                      "is a number",
		"http://0x7F.0.0.1/":                      "is a number",
		"http://0177.0.0.1/":                      "is a number",
		"http://017700000001/":                    "is a number",
		"http://127.1/":                           "is a number",
		"http://127.0.1/":                         "is a number",
		"http://127.0.0.1./":                      "is a number",
		"http://127.0.0.01/":                      "is a number",
		"http://127.0.0.256/":                     "is a number",
		"https://2852039166/":                     "is a number",
		"https://0xa9fea9fe/":                     "is a number",
		"https://0xa9.254.0xfe.1/":                "is a number",
		"https://a.b.0x/":                         "is a number",
		"https://1.2.3.4.5/":                      "is a number",
		"https://127.0.0.1.nip.example/":          "",
		"https://0x7f.example/":                   "",
		"https://a.0xg/":                          "",
		"https://7f/":                             "",
		"https://10.0.0.1/":                       "", // judged when it is dialled
		"https://user:query-secret@tools.example": "user information",
		"ftp://tools.example/":                    "scheme",
		"https:///x?k=query-secret":               "no host",
		"://query-secret":                         "not a URL",
		"":                                        "scheme",
	} {
		h, err := NewHTTP(HTTPConfig{URL: url})
		if (want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("NewHTTP(%q) = %v, want %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows the URL: %v", err)
		}
		if h != nil {
			h.Close()
		}
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string][3]string{ // default, private allowed, http://
		"8.8.8.8": {"", "", ReasonPlaintext}, "2606:4700::1": {"", "", ReasonPlaintext},
		"127.9.9.9": {"loopback", "", ""}, "172.31.0.1": {"private", "", ReasonPlaintext}, "172.32.0.1": {"", "", ReasonPlaintext},
		"198.18.0.1": {"private", "", ReasonPlaintext}, "fec0::1": {"private", "", ReasonPlaintext},
		"100.100.100.200": {"metadata", "metadata", "metadata"}, "fd00:ec2::254": {"metadata", "metadata", "metadata"},
		"64:ff9b::a9fe:a9fe": {"link-local", "link-local", "link-local"}, "64:ff9b::808:808": {"", "", ReasonPlaintext},
		"2001:0:1:2:3:4:80ff:fffe": {"loopback", "", ""}, // Teredo for 127.0.0.1
		"2002:a00:1::":             {"private", "", ReasonPlaintext},
		"2001:db8::5efe:10.0.0.1":  {"private", "", ReasonPlaintext}, // ISATAP
		"fe80::5efe:8.8.8.8":       {"link-local", "link-local", "link-local"},
		"255.255.255.255":          {"reserved", "reserved", "reserved"}, "0.1.2.3": {"unspecified", "unspecified", "unspecified"},
		"::ffff:0:a9fe:a9fe": {"link-local", "link-local", "link-local"}, "::ffff:0:7f00:1": {"loopback", "", ""}, "::ffff:0:808:808": {"", "", ReasonPlaintext}, // IPv4-translated
		"::8.8.8.8": {"", "", ReasonPlaintext}, "::a9fe:a9fe": {"link-local", "link-local", "link-local"},
		"64:ff9b::a00:1": {"private", "", ReasonPlaintext}, "64:ff9b::6440:1": {"private", "", ReasonPlaintext},
		// NAT64 of a site, with prefixes of 96, 64, 56 and 48 bits.
		"64:ff9b:1::808:808": {"private", "", ReasonPlaintext}, "64:ff9b:1:ffff::a9fe:a9fe": {"link-local", "link-local", "link-local"},
		"64:ff9b:1:1:a9:fea9:fe00:0": {"link-local", "link-local", "link-local"}, "64:ff9b:1:1a9:fe:a9fe::": {"link-local", "link-local", "link-local"},
		"64:ff9b:1:a9fe:a9:fe00::": {"link-local", "link-local", "link-local"}, "64:ff9b:1:6464:64:c800::": {"metadata", "metadata", "metadata"},
		"2002:a9fe:a9fe::1": {"link-local", "link-local", "link-local"}, "2002:808:808::1": {"", "", ReasonPlaintext},
		"2001:0:1:2:3:4:5601:5601":     {"link-local", "link-local", "link-local"}, // Teredo for 169.254.169.254
		"2001:db8::200:5efe:a9fe:a9fe": {"link-local", "link-local", "link-local"}, "fd00::5efe:7f00:1": {"private", "", ReasonPlaintext},
		"0.0.0.0": {"unspecified", "unspecified", "unspecified"}, "0.255.255.255": {"unspecified", "unspecified", "unspecified"}, "1.0.0.0": {"", "", ReasonPlaintext},
		"100.63.255.255": {"", "", ReasonPlaintext}, "100.64.0.0": {"private", "", ReasonPlaintext}, "100.127.255.255": {"private", "", ReasonPlaintext}, "100.128.0.0": {"", "", ReasonPlaintext},
		"169.253.255.255": {"", "", ReasonPlaintext}, "169.254.0.0": {"link-local", "link-local", "link-local"}, "169.254.170.2": {"link-local", "link-local", "link-local"},
		"fe80::1": {"link-local", "link-local", "link-local"}, "febf::1": {"link-local", "link-local", "link-local"}, "fe7f::1": {"", "", ReasonPlaintext},
		"fc00::": {"private", "", ReasonPlaintext}, "fdff::1": {"private", "", ReasonPlaintext}, "fbff::1": {"", "", ReasonPlaintext}, "feff::1": {"private", "", ReasonPlaintext},
		"192.0.0.8": {"private", "", ReasonPlaintext}, "192.0.0.192": {"metadata", "metadata", "metadata"}, "168.63.129.16": {"metadata", "metadata", "metadata"},
		"fd20:ce::254": {"metadata", "metadata", "metadata"}, "fd00:ec2::23": {"metadata", "metadata", "metadata"}, "::ffff:100.100.100.200": {"metadata", "metadata", "metadata"},
		"fd00:42::42": {"metadata", "metadata", "metadata"}, "fd00:c1::a9fe:a9fe": {"metadata", "metadata", "metadata"},
		"192.0.2.1": {"", "", ReasonPlaintext}, "198.51.100.1": {"", "", ReasonPlaintext}, "2001:db8::1": {"", "", ReasonPlaintext}, // for documentation: nothing is there
		"198.17.255.255": {"", "", ReasonPlaintext}, "198.19.255.255": {"private", "", ReasonPlaintext}, "2001:2::1": {"private", "", ReasonPlaintext}, // benchmarks
		"192.88.99.1": {"reserved", "reserved", "reserved"}, "240.0.0.1": {"reserved", "reserved", "reserved"}, "100::1": {"reserved", "reserved", "reserved"},
		"2001:10::1": {"reserved", "reserved", "reserved"}, "2001:2f::1": {"reserved", "reserved", "reserved"}, "5f00::1": {"reserved", "reserved", "reserved"},
		"224.0.0.1": {"multicast", "multicast", "multicast"}, "ff02::1": {"multicast", "multicast", "multicast"},
		"2001:4860::1%eth0": {"zone", "zone", "zone"}, "fe80::1%eth0": {"link-local", "link-local", "link-local"},
		"::1%lo": {"zone", "zone", "zone"}, "fd00::1%eth0": {"zone", "zone", "zone"},
		"::ffff:8.8.8.8": {"", "", ReasonPlaintext},
	} {
		a := netip.MustParseAddr(address)
		for i, got := range []error{
			checkAddress(netip.AddrPortFrom(a, 1).String(), false, false),
			checkAddress(netip.AddrPortFrom(a, 1).String(), true, false),
			checkAddress(netip.AddrPortFrom(a, 1).String(), true, true),
		} {
			reason := ""
			var refused *AddressError
			if errors.As(got, &refused) {
				reason = refused.Reason
			}
			if reason != want[i] {
				t.Errorf("%s, way %d: %q, want %q", address, i, reason, want[i])
			}
		}
	}
}

func TestPrivateAddressIsRefusedWhenDialled(t *testing.T) {
	srv := serveRaw(t, func(p *peer) { p.result() })
	c := srv.config()
	c.AllowPrivate = false
	_, err := newClient(t, c).Do(t.Context(), call(1, "x"))
	var refused *AddressError
	var e *Error
	if !errors.As(err, &refused) || refused.Reason != "loopback" || !errors.As(err, &e) || e.Op != "connect" || e.Delivered || srv.conns != 0 {
		t.Errorf("Do = %v with %d connections", err, srv.conns)
	}
}

// resolving is a resolver whose name server gives the next of answers, a list of addresses, to each lookup of a name, and the
// last one again and again. asked counts the lookups.
func resolving(t *testing.T, asked *int, answers ...[]string) *net.Resolver {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	return &net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		wg.Go(func() {
			defer theirs.Close()
			for {
				head := make([]byte, 2)
				if _, err := io.ReadFull(theirs, head); err != nil {
					return
				}
				query := make([]byte, binary.BigEndian.Uint16(head))
				if _, err := io.ReadFull(theirs, query); err != nil {
					return
				}
				end := 12 // of the question
				for query[end] != 0 {
					end += 1 + int(query[end])
				}
				kind := binary.BigEndian.Uint16(query[end+1:])
				mu.Lock()
				list := answers[min(*asked, len(answers)-1)]
				if kind == 1 {
					*asked++ // the other question of a lookup comes before or after
				}
				mu.Unlock()
				reply := append([]byte{}, query[:end+5]...)
				copy(reply[2:12], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
				for _, text := range list {
					a := netip.MustParseAddr(text)
					if (kind == 1) != a.Is4() {
						continue
					}
					reply[7]++
					reply = append(reply, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(a.BitLen()/8))
					reply = append(reply, a.AsSlice()...)
				}
				if _, err := theirs.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
					return
				}
			}
		})
		return ours, nil
	}}
}

// TestRebinding: what a name stood for a moment ago does not matter, and of several addresses each is judged by itself.
func TestRebinding(t *testing.T) {
	ours := newAuthority(t, "Ours")
	cert := ours.issue(t, nil)
	for name, tt := range map[string]struct {
		private bool
		answers [][]string
		want    []string // the reason of each call, "" for success
	}{
		"to link-local":   {true, [][]string{{"127.0.0.1"}, {"169.254.169.254"}, {"127.0.0.1"}}, []string{"", "link-local", ""}},
		"to metadata":     {true, [][]string{{"127.0.0.1"}, {"100.100.100.200"}}, []string{"", "metadata"}},
		"to mapped":       {true, [][]string{{"127.0.0.1"}, {"64:ff9b::a9fe:a9fe"}}, []string{"", "link-local"}},
		"not allowed":     {false, [][]string{{"127.0.0.1"}}, []string{"loopback"}},
		"private":         {false, [][]string{{"10.0.0.1"}, {"fd00::1"}}, []string{"private", "private"}},
		"all are judged":  {true, [][]string{{"169.254.169.254", "127.0.0.1"}}, []string{"", ""}},
		"all are refused": {true, [][]string{{"169.254.169.254", "100.100.100.200", "fe80::1"}}, []string{"link-local metadata"}},
		"unspecified":     {true, [][]string{{"0.0.0.0"}, {"::"}}, []string{"unspecified", "unspecified"}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serveOn(t, tls.NewListener(listenTCP(t), &tls.Config{Certificates: []tls.Certificate{cert}}), func(p *peer) {
				p.result()
				p.keep = false // the next call has to resolve the name again
			})
			_, port, _ := net.SplitHostPort(srv.addr)
			asked := 0
			c := secured("https://tools.example:"+port, &tls.Config{RootCAs: ours.pool()})
			c.AllowPrivate, c.Resolver = tt.private, resolving(t, &asked, tt.answers...)
			for i, want := range tt.want {
				h := newClient(t, c) // so that no kept connection is in use
				m, err := h.Do(t.Context(), call(1, "tools/list"))
				var refused *AddressError
				var e *Error
				switch {
				case want == "":
					good(t, outcome{m, err}, "1")
				case !errors.As(err, &refused) || !strings.Contains(want, refused.Reason) || !errors.As(err, &e) || e.Op != "connect" || e.Delivered:
					t.Errorf("call %d: %v, want the address refused as %s", i, err, want)
				}
				h.Close()
			}
			if asked != len(tt.want) {
				t.Errorf("the name was resolved %d times for %d connections", asked, len(tt.want))
			}
		})
	}
}

func TestUnknownHost(t *testing.T) {
	asked := 0
	h := newClient(t, HTTPConfig{URL: "https://tools.example/", Resolver: resolving(t, &asked, nil)})
	_, err := h.Do(t.Context(), call(1, "tools/list"))
	var connect *ConnectError
	if !errors.As(err, &connect) || connect.Reason != ConnectUnknownHost || connect.Host != "tools.example:443" || asked != 1 {
		t.Errorf("Do = %v after %d lookups, want an unknown host", err, asked)
	}
}
