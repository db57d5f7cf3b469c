package lock

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
)

// resealed computes root and seal of entries anew, as somebody who edits a lock by hand and knows the format would.
func resealed(entries []KV) []KV {
	var rest, all []KV
	values := map[string]string{}
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Key, "meta/"):
			values[e.Key] = string(e.Value)
		default:
			rest = append(rest, e)
		}
	}
	root := rootOf(rest)
	values[keyRoot] = fmt.Sprintf("%q", root)
	seal := digest.OfBytes("seal", fmt.Appendf(nil, `{"format":%s,"lineage":%s,"parent":%s,"root":%s,"serial":%s}`,
		values[keyFormat], values[keyLineage], values[keyParent], values[keyRoot], values[keySerial]))
	values[keySeal] = fmt.Sprintf("%q", seal)
	all = append(all, rest...)
	for key, value := range values {
		all = append(all, KV{key, []byte(value)})
	}
	sortEntries(all)
	return all
}

func replaced(entries []KV, key, old, new string) []KV {
	entries = slices.Clone(entries)
	for i, e := range entries {
		if e.Key == key {
			if !strings.Contains(string(e.Value), old) {
				panic("no " + old + " in " + string(e.Value))
			}
			entries[i].Value = []byte(strings.Replace(string(e.Value), old, new, 1))
			return entries
		}
	}
	panic("no entry " + key)
}

func renamed(entries []KV, key, to string) []KV {
	entries = slices.Clone(entries)
	for i, e := range entries {
		if e.Key == key {
			entries[i].Key = to
			sortEntries(entries)
			return entries
		}
	}
	panic("no entry " + key)
}

func without(entries []KV, key string) []KV {
	return slices.DeleteFunc(slices.Clone(entries), func(e KV) bool { return e.Key == key })
}

const (
	toolKey   = "tool/server.harbour/tide_table"
	wikiKey   = "server/server.wiki%5B%22eu%22%5D"
	agentsKey = "agent/skipper"
)

// TestFromEntriesRefuses edits a lock and computes root and seal anew, so that only the check of the edited part is left
// to notice. The first case is the just-allowed twin.
func TestFromEntriesRefuses(t *testing.T) {
	l := fixture(t)
	tool := l.Find(l.Agents[1].Tools[0].Address)
	for name, c := range map[string]struct {
		edit func(e []KV) []KV
		want string // in the error; empty: accepted
	}{
		"nothing": {func(e []KV) []KV { return e }, ""},

		"no format":                      {func(e []KV) []KV { return without(e, keyFormat) }, "it is missing"},
		"format text":                    {func(e []KV) []KV { return replaced(e, keyFormat, `{"major":1,"minor":0}`, `"1.0"`) }, "no major number"},
		"format no object":               {func(e []KV) []KV { return replaced(e, keyFormat, `{"major":1,"minor":0}`, `nonsense`) }, "damaged"},
		"format spelling":                {func(e []KV) []KV { return replaced(e, keyFormat, `"minor":0`, `"minor":0.0`) }, "not written as"},
		"newer major":                    {func(e []KV) []KV { return replaced(e, keyFormat, `"major":1`, `"major":2`) }, "needs mcpcat with lock format 2.0"},
		"older major":                    {func(e []KV) []KV { return replaced(e, keyFormat, `"major":1`, `"major":0`) }, "old format 0.0"},
		"newer minor that is understood": {func(e []KV) []KV { return replaced(e, keyFormat, `"minor":0`, `"minor":3`) }, ""},
		"newer minor with a key kind": {func(e []KV) []KV {
			return renamed(replaced(e, keyFormat, `"minor":0`, `"minor":3`), "agent/idle", "crew/idle")
		}, "needs mcpcat with lock format 1.3"},
		"newer minor with a meta key": {func(e []KV) []KV {
			return append(replaced(e, keyFormat, `"minor":0`, `"minor":3`), KV{"meta/zone", []byte("1")})
		}, "needs mcpcat with lock format 1.3"},
		"newer minor with a member": {func(e []KV) []KV {
			return replaced(replaced(e, keyFormat, `"minor":0`, `"minor":3`), wikiKey, `,"tools":{`, `,"tls":{},"tools":{`)
		}, "needs mcpcat with lock format 1.3"},

		"unknown key kind":  {func(e []KV) []KV { return renamed(e, "agent/idle", "crew/idle") }, "unknown kind of key"},
		"unknown meta key":  {func(e []KV) []KV { return renamed(e, keyParent, "meta/father") }, "damaged"},
		"new meta key":      {func(e []KV) []KV { return append(slices.Clip(e), KV{"meta/zone", []byte("1")}) }, "unknown kind of key"},
		"unknown setting":   {func(e []KV) []KV { return renamed(e, keyGate, "settings/other") }, "unknown kind of key"},
		"key with 2 parts":  {func(e []KV) []KV { return renamed(e, "agent/idle", "agent/idle/x") }, "unknown kind of key"},
		"key with no part":  {func(e []KV) []KV { return renamed(e, "agent/idle", "agent/") }, "empty part"},
		"key lower hex":     {func(e []KV) []KV { return renamed(e, wikiKey, "server/server.wiki%5b%22eu%22%5D") }, "upper-case hex"},
		"key needless %":    {func(e []KV) []KV { return renamed(e, "agent/idle", "agent/%69dle") }, "needs no escape"},
		"key raw byte":      {func(e []KV) []KV { return renamed(e, "agent/idle", "agent/idle!") }, "should be written as %XX"},
		"key cut escape":    {func(e []KV) []KV { return renamed(e, "agent/idle", "agent/idle%2") }, "should be written as %XX"},
		"key no text":       {func(e []KV) []KV { return renamed(e, "agent/idle", "agent/%FF") }, "UTF-8"},
		"key no address":    {func(e []KV) []KV { return renamed(e, wikiKey, "server/wiki") }, "no server address"},
		"key other address": {func(e []KV) []KV { return renamed(e, wikiKey, "server/server.wiki%5B%22%5Cu0065u%22%5D") }, "key "},

		"lineage upper case": {func(e []KV) []KV { return replaced(e, keyLineage, "abcdef", "ABCDEF") }, "32 lower-case hex digits"},
		"lineage short":      {func(e []KV) []KV { return replaced(e, keyLineage, "0", "") }, "32 lower-case hex digits"},
		"serial 0":           {func(e []KV) []KV { return replaced(e, keySerial, "7", "0") }, "serial is 0"},
		"serial fraction":    {func(e []KV) []KV { return replaced(e, keySerial, "7", "7.0") }, "not a whole number"},
		"serial padded":      {func(e []KV) []KV { return replaced(e, keySerial, "7", "07") }, "not a whole number"},
		"serial largest":     {func(e []KV) []KV { return replaced(e, keySerial, "7", "9007199254740991") }, ""},
		"serial too large":   {func(e []KV) []KV { return replaced(e, keySerial, "7", "9007199254740992") }, "want 1 to 9007199254740991"},
		"parent null":        {func(e []KV) []KV { return replaced(e, keyParent, string(mustValue(e, keyParent)), "null") }, "there is no parent"},
		"parent no digest":   {func(e []KV) []KV { return replaced(e, keyParent, string(mustValue(e, keyParent)), "7") }, "digest is not a string"},

		"gate white space": {func(e []KV) []KV { return replaced(e, keyGate, `:`, `: `) }, "not canonical"},
		"gate no object":   {func(e []KV) []KV { return replaced(e, keyGate, `{"recheck":"each_call"}`, `[]`) }, "damaged"},

		"definition":              {func(e []KV) []KV { return replaced(e, toolKey, `"string"`, `"number"`) }, "but the definition gives"},
		"definition's digest":     {func(e []KV) []KV { return replaced(e, toolKey, tool.Digest.Hex()[:4], flip(tool.Digest.Hex()[:4])) }, "but the definition gives"},
		"definition member twice": {func(e []KV) []KV { return replaced(e, toolKey, `"name":`, `"name":"x","name":`) }, "duplicate"},
		"definition white space":  {func(e []KV) []KV { return replaced(e, toolKey, `"name":`, `"name": `) }, "white space"},
		"white space behind it":   {func(e []KV) []KV { return replaced(e, toolKey, `}}}}`, `}}} }`) }, "white space"},
		"member behind it":        {func(e []KV) []KV { return replaced(e, toolKey, `}}}}`, `}}},"x":1}`) }, "damaged"},
		"members swapped":         {func(e []KV) []KV { return replaced(e, toolKey, `{"digest":`, `{"definition":`) }, "does not begin with a digest"},
		"upper-case digest":       {func(e []KV) []KV { return replaced(e, toolKey, tool.Digest.Hex(), strings.ToUpper(tool.Digest.Hex())) }, "digest"},
		"digest version":          {func(e []KV) []KV { return replaced(e, toolKey, "sha256:", "v999:") }, `unknown digest version "v999"`},
		"other name":              {func(e []KV) []KV { return renamed(e, toolKey, "tool/server.harbour/tide") }, "not the name in the key"},
		"kind changed":            {func(e []KV) []KV { return renamed(e, toolKey, "prompt/server.harbour/tide_table") }, "but the definition gives"},
		"resource under a name": {func(e []KV) []KV {
			return renamed(e, "resource/server.wiki%5B%22eu%22%5D/wiki%3A%2F%2Fa%2Fb%3Fc%3D%2520", "resource/server.wiki%5B%22eu%22%5D/b")
		}, "uri in the definition"},

		"server gone":           {func(e []KV) []KV { return without(e, wikiKey) }, "its server is not in the lock"},
		"endpoint":              {func(e []KV) []KV { return replaced(e, wikiKey, "wiki.example", "evil.example") }, "but the endpoint gives"},
		"server member unknown": {func(e []KV) []KV { return replaced(e, wikiKey, `,"tools":{`, `,"tls":{},"tools":{`) }, `unknown member "tls"`},
		"server member missing": {func(e []KV) []KV { return replaced(e, wikiKey, `"protocol":"2026-07-28",`, ``) }, `member "protocol" is missing`},
		"server members swapped": {func(e []KV) []KV {
			return replaced(replaced(e, wikiKey, `"ttl_ms":60000`, `"order":[]`), wikiKey, `"order":["read","admin.list/all"]`, `"ttl_ms":60000`)
		}, "not written as"},
		"server white space": {func(e []KV) []KV { return replaced(e, wikiKey, `:`, ` :`) }, "not written as"},
		"snapshot version":   {func(e []KV) []KV { return replaced(e, wikiKey, `"discovery":"sha256:`, `"discovery":"sha512:`) }, `unknown digest version "sha512"`},
		"ttl fraction":       {func(e []KV) []KV { return replaced(e, wikiKey, `"ttl_ms":60000`, `"ttl_ms":60000.5`) }, "ttl_ms is not a whole number"},
		"ttl negative":       {func(e []KV) []KV { return replaced(e, wikiKey, `"ttl_ms":60000}`, `"ttl_ms":-1}`) }, "-1 ms"},

		"agent's tool not pinned": {func(e []KV) []KV { return without(e, toolKey) }, "is not pinned"},
		"agent's digest":          {func(e []KV) []KV { return replaced(e, agentsKey, tool.Digest.Hex()[:4], flip(tool.Digest.Hex()[:4])) }, "but pinned is"},
		"agent's digest version":  {func(e []KV) []KV { return replaced(e, agentsKey, "sha256:", "v2:") }, `unknown digest version "v2"`},
		"agent's order":           {func(e []KV) []KV { return replaced(e, agentsKey, "harbour__tide_table", "z") }, "not greater than the one before"},
		"agent's address": {func(e []KV) []KV {
			return replaced(e, agentsKey, "server.harbour.tool.tide_table", "server.harbour.prompt.ask")
		}, "not the address of a tool"},
		"agent's names":  {func(e []KV) []KV { return replaced(e, agentsKey, "prefixed", "short") }, "want \"prefixed\" or \"plain\""},
		"agent's member": {func(e []KV) []KV { return replaced(e, agentsKey, `{"names"`, `{"all":true,"names"`) }, `unknown member "all"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := FromEntries(resealed(c.edit(mustEntries(t, l))))
			if c.want == "" {
				if err != nil {
					t.Errorf("FromEntries = %v, want it accepted", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("FromEntries = %v, %v, want %q in the error", got, err, c.want)
			}
			var format *FormatError
			var corrupt *CorruptError
			var version *DigestVersionError
			kinds := 0
			for _, is := range []bool{errors.As(err, &format), errors.As(err, &corrupt), errors.As(err, &version)} {
				if is {
					kinds++
				}
			}
			if kinds != 1 {
				t.Errorf("error %T is of %d documented types, want 1", err, kinds)
			}
		})
	}
}

func mustValue(entries []KV, key string) []byte {
	for _, e := range entries {
		if e.Key == key {
			return e.Value
		}
	}
	panic("no entry " + key)
}

// flip replaces each digit by another one.
func flip(hex string) string {
	return strings.Map(func(r rune) rune { return rune("123456789abcdef0"[strings.IndexRune("0123456789abcdef", r)]) }, hex)
}

// TestFromEntriesNoticesEveryByte changes each byte of each entry, without mending root and seal.
func TestFromEntriesNoticesEveryByte(t *testing.T) {
	entries := mustEntries(t, fixture(t))
	for i, e := range entries {
		for at := range len(e.Value) {
			c := slices.Clone(entries)
			c[i].Value = slices.Clone(e.Value)
			c[i].Value[at] ^= 1
			if got, err := FromEntries(c); err == nil {
				t.Fatalf("entry %s with byte %d changed to %q is accepted: %+v", e.Key, at, c[i].Value, got)
			}
		}
		if got, err := FromEntries(without(entries, e.Key)); err == nil {
			t.Errorf("lock without %s is accepted: %+v", e.Key, got)
		}
	}
	unsorted := slices.Clone(entries)
	unsorted[0], unsorted[1] = unsorted[1], unsorted[0]
	if _, err := FromEntries(unsorted); err == nil {
		t.Error("unsorted entries are accepted")
	}
	if _, err := FromEntries(append(entries[:1:1], entries...)); err == nil {
		t.Error("an entry that appears twice is accepted")
	}
}

func TestKeysAreInjective(t *testing.T) {
	forth := func(a, b string) bool {
		if a == "" || b == "" {
			return true
		}
		a, b = strings.ToValidUTF8(a, "?"), strings.ToValidUTF8(b, "?")
		kind, parts, err := splitKey(joinKey("tool", a, b))
		return err == nil && kind == "tool" && reflect.DeepEqual(parts, []string{a, b})
	}
	if err := quick.Check(forth, nil); err != nil {
		t.Error(err)
	}
	for _, parts := range [][2]string{{"a/b", "c"}, {"a", "b/c"}, {"a%2Fb", "c"}, {"%", "/"}, {"%25", "%2F"}, {"\x00", "é"}} {
		if !forth(parts[0], parts[1]) {
			t.Errorf("parts %q do not survive", parts)
		}
	}
}

func FuzzKey(f *testing.F) {
	for _, key := range []string{"tool/server.a/b", "agent/%2F", "meta/root", "a/%25/%", "server/server.wiki%5B%22eu%22%5D"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		kind, parts, err := splitKey(key)
		if err == nil && joinKey(kind, parts...) != key {
			t.Errorf("key %q is read as %q %q, which is written %q", key, kind, parts, joinKey(kind, parts...))
		}
	})
}

// FuzzFromEntries puts any value in any place of a lock, with root and seal computed anew. What is accepted must be what
// would be written.
func FuzzFromEntries(f *testing.F) {
	entries := mustEntries(f, fixture(f))
	for i, e := range entries {
		f.Add(uint8(i), e.Key, e.Value)
	}
	f.Add(uint8(0), "agent/idle", []byte(`{"names":"plain","tools":[{"address":"server.harbour.tool.tide_table","digest":"sha256:00","name":"x"}]}`))
	f.Fuzz(func(t *testing.T, i uint8, key string, value []byte) {
		c := slices.Clone(entries)
		c[int(i)%len(c)] = KV{key, value}
		c = resealed(c)
		l, err := FromEntries(c)
		if err != nil {
			return
		}
		again, err := l.Entries()
		if err != nil {
			t.Fatalf("an accepted lock has no entries: %v", err)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Errorf("an accepted lock is written differently:\n%s", diff)
		}
	})
}

func TestIsCompact(t *testing.T) {
	for src, want := range map[string]bool{
		`{"a":"b c","d":[1,2]}`: true, `{"a": 1}`: false, `{"a":1 }`: false, `["\"", 1]`: false, `["\" "]`: true, `["\\" ]`: false,
		`["\\\" x"]`: true, "[1,\n2]": false, "[1,\t2]": false, "[1,\r2]": false, `""`: true, `" "`: true, ``: true,
	} {
		if got := isCompact([]byte(src)); got != want {
			t.Errorf("isCompact(%s) = %v, want %v", src, got, want)
		}
	}
}
