package lock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// mirrorHead tells a reader of the mirror what it is.
const mirrorHead = "# Text of an mcpcat lock file, for review. It is written by mcpcat together with the lock and never read as input.\n"

// Mirror returns l as text for a review: the same lock gives the same bytes.
//
// Each entry is a line with its address and digest, followed by its value as canonical JSON, indented by two spaces:
// the gate settings, each server with its items, then the agents. The digest of a server is that of its endpoint.
// Serial, lineage and root stand at the end. Characters that cannot be seen are written \uXXXX; the digests are over the
// value itself.
//
// l comes from FromEntries or has been through Seal.
func Mirror(l *Lock) []byte {
	b := bytes.NewBufferString(mirrorHead)
	if l.Gate != nil {
		mirrorEntry(b, "settings.gate", digest.OfBytes("settings", l.Gate), l.Gate)
	}
	if l.Policy != nil {
		mirrorEntry(b, "settings.policy", digest.OfBytes("settings", l.Policy), l.Policy)
	}
	items := l.Items
	for i := range l.Servers {
		s := l.Servers[i]
		// Every server of a sound lock encodes; in an unsound one the faulty value is shown as a fault.
		value, err := encodeServer(&s)
		if err != nil {
			value = faultValue(err)
		}
		for len(items) > 0 && items[0].Addr.Server.Compare(s.Addr) < 0 {
			mirrorItem(b, &items[0])
			items = items[1:]
		}
		mirrorEntry(b, s.Addr.String(), s.EndpointDigest, value)
		for len(items) > 0 && items[0].Addr.Server == s.Addr {
			mirrorItem(b, &items[0])
			items = items[1:]
		}
	}
	for i := range items {
		mirrorItem(b, &items[i])
	}
	for i := range l.Agents {
		a := l.Agents[i]
		value, err := encodeAgent(&a)
		if err != nil {
			value = faultValue(err)
		}
		mirrorEntry(b, agentAddress(a.Name), digest.OfBytes("agent", value), value)
	}
	fmt.Fprintf(b, "\nformat %d.%d\nserial %d\nlineage %s\nroot %s\n", FormatMajor, l.Minor, l.Serial, l.Lineage, l.Root)
	return b.Bytes()
}

func mirrorItem(b *bytes.Buffer, it *Item) {
	value, err := strictjson.AppendCanonical(nil, it.Definition, jsonLimits)
	if err != nil {
		value = faultValue(err)
	}
	mirrorEntry(b, it.Addr.String(), it.Digest, value)
}

func mirrorEntry(b *bytes.Buffer, address string, d digest.Digest, value []byte) {
	fmt.Fprintf(b, "\n%s %s\n", address, d)
	var indented bytes.Buffer
	if err := json.Indent(&indented, value, "", "  "); err != nil {
		panic("mcpcat: internal error: mirror of a value that is not JSON: " + err.Error())
	}
	b.Write(diag.EscapeJSON(indented.Bytes()))
	b.WriteByte('\n')
}

func faultValue(err error) []byte {
	return append(strictjson.AppendString([]byte(`{"fault":`), strings.ToValidUTF8(err.Error(), "?")), '}')
}

func agentAddress(name string) string {
	for i := range len(name) {
		if !plainKeyByte(name[i]) {
			return "agent[" + quote(name) + "]"
		}
	}
	return "agent." + name
}
