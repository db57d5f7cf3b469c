package cli_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// canaries are one random secret for each place where a secret may stand. Between two characters that some spelling
// changes there are eight random letters and digits, so a window of any spelling is found nowhere by chance.
type canaries map[string]string

// newCanaries makes a canary for each place; the value of an entry is the characters that it may have beside
// letters and digits.
func newCanaries(t *testing.T, places map[string]string) canaries {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("the canaries are those of seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	word := func() string {
		const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
		b := make([]byte, 8)
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	c := canaries{}
	for _, place := range slices.Sorted(maps.Keys(places)) {
		v := word()
		for _, odd := range places[place] {
			v += string(odd) + word()
		}
		c[place] = v + word()
	}
	return c
}

// leakWindows are, for each form in which a secret may come out, how many bytes of that form are enough to be a leak.
func leakWindows(value []byte) map[string][]string {
	text := string(value)
	out := map[string][]string{}
	add := func(form, s string, window int) {
		if len(s) < window {
			window = len(s)
		}
		for i := 0; i+window <= len(s); i++ {
			out[form] = append(out[form], s[i:i+window])
		}
	}
	each := func(format string) string {
		var b strings.Builder
		for _, c := range value {
			fmt.Fprintf(&b, format, c)
		}
		return b.String()
	}
	add("plain", text, 10)
	for shift := range 3 {
		padded := append(make([]byte, shift), value...)
		for name, enc := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64url": base64.RawURLEncoding} {
			s := enc.EncodeToString(padded)
			add(name, s[(shift*8+5)/6:len(padded)*8/6], 13)
		}
	}
	add("hex", hex.EncodeToString(value), 20)
	add("HEX", strings.ToUpper(hex.EncodeToString(value)), 20)
	for name, format := range map[string]string{
		"percent": "%%%02X", "percent lower": "%%%02x", "percent twice": "%%25%02X", "percent twice lower": "%%25%02x",
		"JSON": `\u%04x`, "JSON upper": `\u%04X`, "Go hex": `\x%02x`, "HTML": "&#%d;", "HTML hex": "&#x%x;",
	} {
		add(name, each(format), 10*len(fmt.Sprintf(format, 'q')))
	}
	for name, s := range map[string]string{
		"query": url.QueryEscape(text), "query twice": url.QueryEscape(url.QueryEscape(text)), "path": url.PathEscape(text),
		"HTML text": html.EscapeString(text), "Go": strings.Trim(strconv.Quote(text), `"`), "pointer": strings.NewReplacer("~", "~0", "/", "~1").Replace(text),
	} {
		add(name, s, 14)
		add(name+" lower", strings.ReplaceAll(s, "%2F", "%2f"), 14)
	}
	for _, escapeHTML := range []bool{true, false} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escapeHTML)
		if err := e.Encode(text); err != nil {
			panic(err) // a string
		}
		s := strings.Trim(strings.TrimSpace(b.String()), `"`)
		add("JSON text", s, 16)
		add("JSON text, slashes", strings.ReplaceAll(s, "/", `\/`), 16)
	}
	return out
}

// leakSearch finds secrets in bytes, whatever their spelling.
type leakSearch struct {
	windows map[int]map[string]string // by length: window to what it is of
	first   []uint64                  // a bit for each three bytes that begin a window
}

func newLeakSearch(values map[string][]byte) *leakSearch {
	l := &leakSearch{windows: map[int]map[string]string{}, first: make([]uint64, 1<<24/64)}
	for place, value := range values {
		for form, windows := range leakWindows(value) {
			for _, w := range windows {
				if l.windows[len(w)] == nil {
					l.windows[len(w)] = map[string]string{}
				}
				l.windows[len(w)][w] = place + " (" + form + ")"
				n := three(w)
				l.first[n/64] |= 1 << (n % 64)
			}
		}
	}
	return l
}

func three[S string | []byte](s S) int { return int(s[0])<<16 | int(s[1])<<8 | int(s[2]) }

// in returns what is found in b, with what stands around it, or "". A secret that is wrapped over lines is found too.
func (l *leakSearch) in(b []byte) string {
	if found := l.search(b); found != "" {
		return found
	}
	return l.search(wrapped.ReplaceAll(b, nil))
}

// wrapped is the end of a line and what begins the next one in a text that is wrapped, or in a table.
var wrapped = regexp.MustCompile(`[ \t|│]*\n[ \t|│]*`)

func (l *leakSearch) search(b []byte) string {
	for i := 0; i+3 <= len(b); i++ {
		if n := three(b[i : i+3]); l.first[n/64]&(1<<(n%64)) == 0 {
			continue
		}
		for length, set := range l.windows {
			if i+length > len(b) {
				continue
			}
			if what, found := set[string(b[i:i+length])]; found {
				return fmt.Sprintf("%s: %q", what, b[max(i-150, 0):min(i+length+150, len(b))])
			}
		}
	}
	return ""
}

// only is the search for the canaries of the places named.
func (c canaries) only(places ...string) *leakSearch {
	values := map[string][]byte{}
	for _, place := range places {
		if c[place] == "" {
			panic("no canary " + place)
		}
		values[place] = []byte(c[place])
	}
	return newLeakSearch(values)
}

// but is the search for all canaries but those of the places named.
func (c canaries) but(places ...string) *leakSearch {
	values := map[string][]byte{}
	for place, v := range c {
		values[place] = []byte(v)
	}
	for _, place := range places {
		if c[place] == "" {
			panic("no canary " + place)
		}
		delete(values, place)
	}
	return newLeakSearch(values)
}

func percentEach(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02x", s[i])
	}
	return b.String()
}

// TestLeakSearch: the search finds a secret in every spelling, also a part of it, in the middle of other text.
func TestLeakSearch(t *testing.T) {
	c := newCanaries(t, map[string]string{"one": `/"<&>+\%~: `, "two": ""})
	search := c.but()
	v := c["one"]
	quoted, _ := json.Marshal(v) // a string
	for form, text := range map[string]string{
		"wrapped": v[:5] + "\n" + v[5:9] + "\n    " + v[9:], "in a table": v[:6] + " |\n  | " + v[6:11] + "  |\n  | " + v[11:], "every byte": percentEach(v), "wrapped base64": base64.StdEncoding.EncodeToString([]byte(v))[:9] + "\n  " + base64.StdEncoding.EncodeToString([]byte(v))[9:],
		"plain": v, "part": v[3:15], "other": c["two"], "base64": base64.StdEncoding.EncodeToString([]byte(v)), "Basic": base64.StdEncoding.EncodeToString([]byte("me:" + v)),
		"base64url": base64.URLEncoding.EncodeToString([]byte("x" + v)), "raw base64": base64.RawStdEncoding.EncodeToString([]byte("xx" + v + "xx")),
		"hex": hex.EncodeToString([]byte(v)), "HEX": fmt.Sprintf("%X", v), "query": url.QueryEscape(v), "path": url.PathEscape(v), "twice": url.QueryEscape(url.QueryEscape(v)),
		"lower": strings.ToLower(url.QueryEscape(":")) + strings.ReplaceAll(url.QueryEscape(v), "%2F", "%2f"), "JSON": string(quoted), "slash": strings.ReplaceAll(string(quoted), "/", `\/`),
		"HTML": html.EscapeString(v), "Go": strconv.Quote(v), "bytes": fmt.Sprintf("%x", []byte(v)[5:20]), "pointer": strings.ReplaceAll(v, "~", "~0"),
	} {
		if search.in([]byte("some text before it "+text+" and behind it")) == "" {
			t.Errorf("%s: %q is not found", form, text)
		}
	}
	for _, harmless := range []string{"", "ab", strings.Repeat("harmless text: (sensitive) %2F &quot; \\u003c sha256:0123456789abcdef ", 100), v[:7], hex.EncodeToString([]byte(v[:8]))} {
		if found := search.in([]byte(harmless)); found != "" {
			t.Errorf("found %s in %q", found, harmless)
		}
	}
	if found := c.only("two").in([]byte(v)); found != "" {
		t.Errorf("found %s in another canary", found)
	}
}
