package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// The lengths in bytes from which a value is looked for. A shorter one would be found in ordinary words.
const (
	// MinRedacted is for what is shown, where a find costs one word, and for what is to be pinned, where it costs a
	// question that the operator can answer.
	MinRedacted = 6
	// MinWithheld is for what is held back as a whole when a value is found in it: an answer to an agent, and a file that
	// mcpcat itself would write, which is full of words of its own.
	MinWithheld = 8
)

// minLine is the length from which one line of a longer value is looked for by itself.
const minLine = 16

// Redactor replaces known secrets in bytes by Mask. It looks for each value of MinRedacted bytes or more as it is, in
// base64 (both alphabets, at every alignment inside a longer encoded text), in hexadecimal, URL-encoded, escaped as in HTML, as
// a part of a JSON Pointer, escaped as in JSON and as in Go, also twice, and for every line of 16 bytes or more of a value of
// several lines. In a text that is whole it is found also if any of its characters are written as \uXXXX or \xXX, up to three
// times over; a Writer does not find that. What a program transforms in another way is not found, nor is what was cut,
// wrapped or escaped before: redact first.
//
// The nil Redactor and one without values change nothing. A Redactor is safe for concurrent use.
type Redactor struct{ now atomic.Pointer[forms] }

// forms are what a Redactor looks for. They are not changed.
type forms struct {
	byFirst [256][][]byte // by first byte, longest first
	longest int
}

var noForms forms

// NewRedactor returns a Redactor for values.
func NewRedactor(values ...String) *Redactor {
	r := &Redactor{}
	r.Set(values...)
	return r
}

// Set makes r look for values from now on, and for no others.
func (r *Redactor) Set(values ...String) { r.now.Store(newForms(values)) }

// forms returns what r looks for at present.
func (r *Redactor) forms() *forms {
	if r == nil {
		return &noForms
	}
	if f := r.now.Load(); f != nil {
		return f
	}
	return &noForms
}

func newForms(values []String) *forms {
	seen := map[string]bool{}
	for _, v := range values {
		value := v.Expose()
		addForms(seen, value)
		if strings.ContainsAny(value, "\r\n") {
			for line := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == '\r' || r == '\n' }) {
				if len(line) >= minLine {
					addForms(seen, line)
				}
			}
		}
	}
	r := &forms{}
	for form := range seen {
		first := form[0]
		r.byFirst[first] = append(r.byFirst[first], []byte(form))
		r.longest = max(r.longest, len(form))
	}
	for i := range r.byFirst {
		slices.SortFunc(r.byFirst[i], func(a, b []byte) int {
			if len(a) != len(b) {
				return len(b) - len(a)
			}
			return bytes.Compare(a, b)
		})
	}
	return r
}

// AtLeast returns the values of n bytes or more.
func AtLeast(n int, values ...String) []String {
	var long []String
	for _, v := range values {
		if len(v.Expose()) >= n {
			long = append(long, v)
		}
	}
	return long
}

func addForms(seen map[string]bool, value string) {
	if len(value) < MinRedacted {
		return
	}
	add := func(form string) {
		if len(form) >= MinRedacted {
			seen[form] = true
		}
	}
	add(value)
	for shift := range 3 {
		std := base64Core(value, shift)
		add(std)
		add(strings.NewReplacer("+", "-", "/", "_").Replace(std))
	}
	digits := hex.EncodeToString([]byte(value))
	add(digits)
	add(strings.ToUpper(digits))
	add(html.EscapeString(value))
	path := &url.URL{Path: value}
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value), path.EscapedPath(), percentAll(value, unreserved), percentAll(value, "")} {
		add(escaped)
		add(lowerHex(escaped))
	}
	for _, text := range []string{value, pointerEscape.Replace(value)} {
		add(text)
		for _, once := range quotings(text) {
			add(once)
			add(pointerEscape.Replace(once))
			for _, twice := range quotings(once) {
				add(twice)
			}
		}
	}
}

// pointerEscape writes a member name as a part of a JSON Pointer (RFC 6901).
var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// quotings returns text as it stands between the quotation marks of JSON and Go.
func quotings(text string) []string {
	var forms []string
	if b, err := json.Marshal(text); err == nil {
		forms = append(forms, string(b[1:len(b)-1]))
	}
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err == nil {
		inner := strings.TrimSuffix(plain.String(), "\n")
		inner = inner[1 : len(inner)-1]
		forms = append(forms, inner, strings.ReplaceAll(inner, "/", `\/`))
	}
	for _, quoted := range []string{strconv.Quote(text), strconv.QuoteToASCII(text)} {
		forms = append(forms, quoted[1:len(quoted)-1])
	}
	return forms
}

// base64Core returns the characters that encode value, and nothing else, when value begins shift bytes after a multiple
// of three in a longer text. They do not depend on what stands before or behind.
func base64Core(value string, shift int) string {
	padded := append(make([]byte, shift), value...)
	enc := base64.RawStdEncoding.EncodeToString(padded)
	from := (shift*8 + 5) / 6
	to := len(padded) * 8 / 6
	return enc[from:to]
}

// unreserved are the characters of RFC 3986 that are never escaped without need.
const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

// percentAll escapes everything but the characters of plain.
func percentAll(s, plain string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// lowerHex spells the escapes of s with lower-case digits.
func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// Redact returns src with every known secret replaced by Mask; overlapping finds become one Mask. The result does not
// alias src unless nothing was found.
func (r *Redactor) Redact(src []byte) []byte {
	f := r.forms()
	if f.longest == 0 {
		return src
	}
	out, _, _ := f.scan(make([]byte, 0, len(src)), src, 0, true)
	if bytes.Equal(out, src) {
		out = src
	}
	return f.redactSpelled(out)
}

// RedactString is Redact for a string.
func (r *Redactor) RedactString(s string) string {
	if r.forms().longest == 0 {
		return s
	}
	return string(r.Redact([]byte(s)))
}

// Holds reports whether text holds a known secret.
func (r *Redactor) Holds(text []byte) bool { return !bytes.Equal(r.Redact(text), text) }

// scan appends buf to out with finds replaced. The first covered bytes of buf belong to a find whose Mask is already
// written. Unless final, it stops where the rest may be the beginning of a secret, and returns that rest and how much
// of it is covered.
func (r *forms) scan(out, buf []byte, covered int, final bool) (_, rest []byte, restCovered int) {
	i := 0
	for ; i < len(buf); i++ {
		these := r.byFirst[buf[i]]
		if !final && len(buf)-i < r.longest && mayBegin(these, buf[i:]) {
			break
		}
		if n := match(these, buf[i:]); n > 0 {
			if covered <= i {
				out = append(out, Mask...)
			}
			covered = max(covered, i+n)
		}
		if i >= covered {
			out = append(out, buf[i])
		}
	}
	return out, buf[i:], max(covered-i, 0)
}

// match returns the length of the longest form that text begins with, or 0.
func match(forms [][]byte, text []byte) int {
	for _, f := range forms {
		if bytes.HasPrefix(text, f) {
			return len(f)
		}
	}
	return 0
}

// mayBegin reports whether text is a proper prefix of a form.
func mayBegin(forms [][]byte, text []byte) bool {
	for _, f := range forms {
		if len(f) > len(text) && bytes.HasPrefix(f, text) {
			return true
		}
	}
	return false
}

// Writer returns a writer that redacts what passes through it to w, also a secret that is split over several writes.
func (r *Redactor) Writer(w io.Writer) *Writer { return &Writer{r: r, w: w} }

// Writer redacts a stream. It keeps back at most as many bytes as the longest form of a secret, while they may be the
// beginning of one; Flush and Close write them. It is safe for concurrent use if the writer below is only used
// through it.
type Writer struct {
	r *Redactor
	w io.Writer

	// mu guards what was kept back; it is held while writing, so that the order of writes stays.
	mu      sync.Mutex
	kept    []byte
	covered int
}

// Write takes all of p, or returns the error of the writer below. The count is len(p) on success and 0 otherwise,
// because the bytes below are not those of p.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.r.forms()
	if f.longest == 0 && len(w.kept) == 0 {
		return w.w.Write(p)
	}
	buf := append(w.kept, p...)
	out, rest, covered := f.scan(make([]byte, 0, len(buf)), buf, w.covered, false)
	w.kept, w.covered = append([]byte(nil), rest...), covered
	if err := writeAll(w.w, out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what was kept back. A secret whose beginning is kept back at that moment is no longer recognised.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.kept) == 0 {
		return nil
	}
	out, _, _ := w.r.forms().scan(nil, w.kept, w.covered, true)
	w.kept, w.covered = nil, 0
	return writeAll(w.w, out)
}

// Close is Flush; it does not close the writer below.
func (w *Writer) Close() error { return w.Flush() }

func writeAll(w io.Writer, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	n, err := w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}
