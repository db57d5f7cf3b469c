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
	add("metadata", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::254/128", "fd20:ce::254/128")
	add("unspecified", "0.0.0.0/8", "::/128")
	add(classLoopback, "127.0.0.0/8", "::1/128")
	add("link-local", "169.254.0.0/16", "fe80::/10")
	add("multicast", "224.0.0.0/4", "ff00::/8")
	add("reserved", "240.0.0.0/4", "100::/64")
	add(classPrivate, "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15",
		"fc00::/7", "fec0::/10", "64:ff9b:1::/48")
	return list
}()

// classify returns what kind of place an address is, judging the IPv4 address inside where an IPv6 form carries one.
func classify(a netip.Addr) string {
	zone := a.Zone() != ""
	a = a.WithZone("")
	name := classOf(a)
	if v4, ok := embedded(a); ok && (name == classPublic || a.Is4In6()) {
		name = classOf(v4)
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

// embedded returns the IPv4 address that packets to a end up at: mapped, compatible, NAT64 (RFC 6052), 6to4 (RFC 3056),
// Teredo (RFC 4380) and ISATAP (RFC 5214).
func embedded(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return netip.Addr{}, false
	}
	b := a.As16()
	last := netip.AddrFrom4([4]byte(b[12:16]))
	hi, mid := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint32(b[8:12])
	switch {
	case a.Is4In6(), hi == 0 && mid == 0, hi == 0x0064_ff9b_0000_0000 && mid == 0:
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
