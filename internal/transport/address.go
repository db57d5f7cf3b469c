package transport

import (
	"encoding/binary"
	"net/netip"
	"strings"
)

// The classes of an address. Public ones may always be contacted, loopback and private ones if the configuration says
// so, all others never.
const (
	classPublic   = "public"
	classLoopback = "loopback"
	classPrivate  = "private"
)

type class struct {
	prefix netip.Prefix
	name   string
}

// classes is searched from the front. What an address means is decided after embedded IPv4 addresses are unpacked.
var classes = func() []class {
	var list []class
	add := func(name string, prefixes ...string) {
		for _, p := range prefixes {
			list = append(list, class{netip.MustParsePrefix(p), name})
		}
	}
	// The addresses at which cloud providers hand out credentials, where they are not link-local.
	add("metadata", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",
		"fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128", "fd00:c1::a9fe:a9fe/128", "fd00:42::42/128")
	add("unspecified", "0.0.0.0/8", "::/128")
	add(classLoopback, "127.0.0.0/8", "::1/128")
	add("link-local", "169.254.0.0/16", "fe80::/10")
	add("multicast", "224.0.0.0/4", "ff00::/8")
	// The limited broadcast, the relays of 6to4, discard, ORCHIDs, segment identifiers: no server has such an address.
	add("reserved", "240.0.0.0/4", "192.88.99.0/24", "100::/64", "100:0:0:1::/64", "2001:10::/28", "2001:20::/28", "5f00::/16")
	// Beside what is called private: carriers, protocol assignments, benchmarks, site-local, translation within a site.
	add(classPrivate, "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15",
		"2001:2::/48", "fc00::/7", "fec0::/10", "64:ff9b:1::/48")
	// Addresses for documentation are public: nothing is there, and nothing has to be kept from them.
	return list
}()

// classify returns what kind of place an address is, judging the IPv4 address inside where an IPv6 form carries one.
func classify(a netip.Addr) string {
	zone := a.Zone() != ""
	a = a.WithZone("")
	name := classOf(a)
	switch v4, ok := embedded(a); {
	case ok && (name == classPublic || a.Is4In6()):
		name = classOf(v4)
	case siteNAT64.Contains(a):
		// How long the prefix is, and so where the IPv4 address stands, is the site's secret.
		for _, v4 := range translated(a) {
			if inside := classOf(v4); inside == "metadata" || inside == "link-local" {
				name = inside
			}
		}
	}
	if zone && (name == classPublic || name == classPrivate || name == classLoopback) {
		return "zone"
	}
	return name
}

func classOf(a netip.Addr) string {
	for _, c := range classes {
		if c.prefix.Contains(a) {
			return c.name
		}
	}
	return classPublic
}

// siteNAT64 is for translators of a site (RFC 8215).
var siteNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")

// translated returns the IPv4 addresses that a NAT64 address may hold, for prefixes of 48, 56, 64 and 96 bits; bits 64 to
// 71 are not used.
//
// Spec: RFC 6052 section 2.2.
func translated(a netip.Addr) []netip.Addr {
	b := a.As16()
	return []netip.Addr{
		netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]}), netip.AddrFrom4([4]byte{b[7], b[9], b[10], b[11]}),
		netip.AddrFrom4([4]byte{b[9], b[10], b[11], b[12]}), netip.AddrFrom4([4]byte(b[12:16])),
	}
}

// embedded returns the IPv4 address that packets to a end up at: mapped and translated (RFC 2765), compatible, NAT64 (RFC
// 6052), 6to4 (RFC 3056), Teredo (RFC 4380) and ISATAP (RFC 5214).
func embedded(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return netip.Addr{}, false
	}
	b := a.As16()
	last := netip.AddrFrom4([4]byte(b[12:16]))
	hi, mid := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint32(b[8:12])
	switch {
	case a.Is4In6(), hi == 0 && (mid == 0 || mid == 0xffff_0000), hi == 0x0064_ff9b_0000_0000 && mid == 0:
		return last, true
	case hi>>48 == 0x2002:
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case hi>>32 == 0x2001_0000:
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}), true
	case mid&^0x0200_0000 == 0x0000_5efe:
		return last, true
	}
	return netip.Addr{}, false
}

// checkHost refuses a host that some programs take for an IPv4 address and others for a name: what ends in a number and is
// not written as four decimal ones. A resolver or a proxy could make 127.0.0.1 of it.
//
// Spec: WHATWG URL, ends-in-a-number checker.
func checkHost(host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	last := strings.TrimSuffix(host, ".")
	last = strings.ToLower(last[strings.LastIndexByte(last, '.')+1:])
	digits, rest := "0123456789", last
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		digits, rest = "0123456789abcdef", hex
	}
	if last == "" || strings.Trim(rest, digits) != "" {
		return nil
	}
	return &AddressError{Host: excerpt([]byte(host), defaultExcerpt), Reason: ReasonSpelling}
}

// checkAddress is the policy for an address that is about to be dialled, "ip:port".
func checkAddress(address string, allowPrivate, plaintext bool) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &AddressError{Host: excerpt([]byte(address), defaultExcerpt), Reason: "reserved"}
	}
	switch name := classify(ap.Addr()); {
	case name == classPublic || name == classPrivate:
		if plaintext {
			return &AddressError{Host: ap.Addr().String(), Reason: ReasonPlaintext}
		}
		if name == classPrivate && !allowPrivate {
			return &AddressError{Host: ap.Addr().String(), Reason: name}
		}
	case name != classLoopback || !allowPrivate:
		return &AddressError{Host: ap.Addr().String(), Reason: name}
	}
	return nil
}

// local reports whether host is a way to write this machine: a loopback address or a name that RFC 6761 keeps for it.
// What the name resolves to is checked when it is dialled.
func local(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return classify(a) == classLoopback
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}
