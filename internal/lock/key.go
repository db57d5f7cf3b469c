package lock

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
)

// Keys of the entries that exist once.
const (
	keyFormat  = "meta/format"
	keyLineage = "meta/lineage"
	keySerial  = "meta/serial"
	keyParent  = "meta/parent"
	keyRoot    = "meta/root"
	keySeal    = "meta/seal"
	keyGate    = "settings/gate"
	keyPolicy  = "settings/policy"
)

const metaPrefix = "meta/"

// metaKeys lists every key that begins with metaPrefix.
var metaKeys = []string{keyFormat, keyLineage, keyParent, keyRoot, keySeal, keySerial}

// errUnknownKind marks a key that no part of this format has. With a newer minor format it means that this version is
// too old, otherwise that the file is damaged.
type errUnknownKind struct{ key string }

func (e errUnknownKind) Error() string { return "unknown kind of key" }

func serverKey(a addr.Server) string { return joinKey("server", a.String()) }

func itemKey(a addr.Item) string { return joinKey(string(a.Kind), a.Server.String(), a.Name) }

func agentKey(name string) string { return joinKey("agent", name) }

// joinKey makes a key of a kind and its parts. Different parts give different keys: every byte but ASCII letters,
// digits, ".", "_", "-" and "~" is written %XX in upper-case hex, so the slash only ever separates.
func joinKey(kind string, parts ...string) string {
	n := len(kind)
	for _, p := range parts {
		n += 1 + len(p)
	}
	b := make([]byte, 0, n+8)
	b = append(b, kind...)
	for _, p := range parts {
		b = append(b, '/')
		for i := range len(p) {
			if plainKeyByte(p[i]) {
				b = append(b, p[i])
			} else {
				b = append(b, '%', upperHex[p[i]>>4], upperHex[p[i]&15])
			}
		}
	}
	return string(b)
}

const upperHex = "0123456789ABCDEF"

func plainKeyByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-' || c == '~'
}

// splitKey undoes joinKey. It accepts exactly what joinKey writes.
func splitKey(key string) (kind string, parts []string, err error) {
	kind, rest, found := strings.Cut(key, "/")
	for found {
		var part string
		part, rest, found = strings.Cut(rest, "/")
		p, err := unescapePart(part)
		if err != nil {
			return "", nil, err
		}
		parts = append(parts, p)
	}
	return kind, parts, nil
}

func unescapePart(s string) (string, error) {
	if s == "" {
		return "", fmt.Errorf("key has an empty part")
	}
	plain := true
	for i := range len(s) {
		if !plainKeyByte(s[i]) {
			plain = false
			break
		}
	}
	if plain {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if plainKeyByte(s[i]) {
			b = append(b, s[i])
			continue
		}
		if s[i] != '%' || i+2 >= len(s) {
			return "", fmt.Errorf("key has a byte that should be written as %%XX")
		}
		hi, lo := strings.IndexByte(upperHex, s[i+1]), strings.IndexByte(upperHex, s[i+2])
		if hi < 0 || lo < 0 {
			return "", fmt.Errorf("key has a %% without two upper-case hex digits")
		}
		c := byte(hi<<4 | lo)
		if plainKeyByte(c) {
			return "", fmt.Errorf("key escapes a byte that needs no escape")
		}
		b = append(b, c)
		i += 2
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("key is not valid UTF-8 after unescaping")
	}
	return string(b), nil
}

// parseServerPart reads the address of a server out of a key part and accepts only the one spelling that String gives.
func parseServerPart(s string) (addr.Server, error) {
	a, err := addr.ParseServer(s)
	if err != nil {
		return addr.Server{}, fmt.Errorf("key has no server address: %w", err)
	}
	if got := a.String(); got != s {
		return addr.Server{}, fmt.Errorf("key spells a server address %s, want %s", quote(s), quote(got))
	}
	return a, nil
}
