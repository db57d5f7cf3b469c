//go:build unix

package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

func TestLineLimit(t *testing.T) {
	const limit = 1000
	frame := func(n int) []byte {
		head, tail := `{"jsonrpc":"2.0","id":1,"result":{"x":"`, `"}}`
		return []byte(head + strings.Repeat("a", n-len(head)-len(tail)) + tail)
	}
	for _, end := range []string{"\n", "\r\n"} {
		for n, ok := range map[int]bool{limit - 1: true, limit: true, limit + 1: false, limit + 2: false, 5 * limit: false} {
			p := newPipes(t, Limits{MessageBytes: limit})
			ended, _ := p.begin(t, t.Context(), call(1, "x"))
			go p.out.Write(append(frame(n), end...))
			o := <-ended
			var over *LimitError
			if ok != (o.err == nil) || (!ok && (!errors.As(o.err, &over) || over.Limit != limit)) {
				t.Errorf("a line of %d bytes and %q: %v", n, end, o.err)
			}
			if held := len(p.lines.buf); held > limit+2 {
				t.Errorf("the buffer has %d bytes, limit %d", held, limit)
			}
		}
	}
	// An endless line is refused at the limit, not at its end.
	p := newPipes(t, Limits{MessageBytes: limit})
	ended, _ := p.begin(t, t.Context(), call(1, "x"))
	written := make(chan int, 1)
	go func() {
		n, _ := p.out.Write(bytes.Repeat([]byte("a"), limit+1))
		written <- n
	}()
	var over *LimitError
	if o := <-ended; !errors.As(o.err, &over) {
		t.Errorf("an endless line: %v", o.err)
	}
	<-written
}

// TestZeroLengthLines has lines of nothing, also of a lone CR, wherever there can be some, and however they are cut. One
// more character makes each of them a line that is no message.
func TestZeroLengthLines(t *testing.T) {
	for name, write := range map[string]func(io.Writer, []byte){"whole": whole, "bytewise": bytewise} {
		synctest.Test(t, func(t *testing.T) {
			p := newPipes(t, Limits{})
			first, _ := p.begin(t, t.Context(), call(1, "x"))
			second, _ := p.begin(t, t.Context(), call(2, "x"))
			go write(p.out, []byte("\n\r\n\n\n"+string(resultLine("1"))+"\r\n\r\n\n"+string(resultLine("2"))+"\n\r\n"))
			good(t, <-first, "1")
			good(t, <-second, "2")
			synctest.Wait()
			if p.Err() != nil {
				t.Errorf("%s: Err() = %v", name, p.Err())
			}
		})
	}
	for _, line := range []string{" \n", "\t\r\n", "\r\r\n", "\x00\n", "\n\n \n", "\ufeff\n"} {
		synctest.Test(t, func(t *testing.T) {
			p := newPipes(t, Limits{})
			ended, _ := p.begin(t, t.Context(), call(1, "x"))
			go whole(p.out, []byte(line))
			var framing *FramingError
			if o := <-ended; !errors.As(o.err, &framing) {
				t.Errorf("%q: Do = %v, want a framing error", line, o.err)
			}
		})
	}
}

// endless gives one character for ever, and counts.
type endless struct{ given int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	e.given += len(p)
	return len(p), nil
}

// TestEndlessLineIsNotHeld reads a line without an end: nothing is taken beyond the limit and its line end, and nothing is
// held that is not of the line.
func TestEndlessLineIsNotHeld(t *testing.T) {
	const limit = 3 << 20
	var before, after runtime.MemStats
	var flood endless
	runtime.ReadMemStats(&before)
	l := newLineReader(&flood, limit)
	_, err := l.next()
	runtime.ReadMemStats(&after)
	if err != errLineTooLong || flood.given > limit+2 || len(l.buf) > limit+2 {
		t.Errorf("next = %v after %d bytes, in a buffer of %d, limit %d", err, flood.given, len(l.buf), limit)
	}
	// The buffer doubles on its way to the limit, so all of them together are less than twice the last and one more.
	if used := after.TotalAlloc - before.TotalAlloc; used > 3*limit {
		t.Errorf("%d bytes were allocated, limit %d", used, limit)
	}
}

func TestDepthLimit(t *testing.T) {
	for depth, ok := range map[int]bool{3: false, 4: true} {
		p := newPipes(t, Limits{Depth: depth})
		ended, _ := p.begin(t, t.Context(), call(1, "x"))
		go p.out.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"a":[[]]}}` + "\n"))
		if o := <-ended; ok != (o.err == nil) || (!ok && !errors.Is(o.err, strictjson.ErrLimit)) {
			t.Errorf("depth 4 with a limit of %d: %v", depth, o.err)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\r\n\n\r\nccc"), uint64(1), 3)
	f.Add([]byte(strings.Repeat("x", 70_000)+"\ny\n"), uint64(2), 100_000)
	f.Add([]byte("abcd\r\n"), uint64(3), 4)
	f.Add([]byte("abcd\r\r\n"), uint64(3), 4)
	f.Fuzz(func(t *testing.T, text []byte, seed uint64, limit int) {
		limit = 1 + (limit&0x7fffffff)%200_000
		l := newLineReader(cutUp(text, seed), limit)
		for _, want := range bytes.SplitAfter(text, []byte("\n")) {
			whole := bytes.HasSuffix(want, []byte("\n"))
			line := bytes.TrimSuffix(want, []byte("\n"))
			if whole {
				line = bytes.TrimSuffix(line, []byte("\r"))
			}
			if whole && len(line) == 0 {
				continue
			}
			got, err := l.next()
			switch {
			case len(line) > limit && !(!whole && len(line) == limit+1 && line[limit] == '\r'):
				if err != errLineTooLong {
					t.Fatalf("a line of %d with limit %d: %v", len(line), limit, err)
				}
				return
			case whole:
				if err != nil || !bytes.Equal(got, line) {
					t.Fatalf("line %q, %v, want %q", got, err, line)
				}
			default:
				var partial *partialLine
				if len(line) > 0 != errors.As(err, &partial) || !errors.Is(err, io.EOF) {
					t.Fatalf("the end after %q: %v", line, err)
				}
			}
			if len(l.buf) > max(lineBuffer, limit+2) {
				t.Fatalf("the buffer has %d bytes with limit %d", len(l.buf), limit)
			}
		}
	})
}

func TestLinesStayWhatTheyWere(t *testing.T) {
	var text []byte
	var want []string
	for i := range 200 {
		line := strings.Repeat(fmt.Sprint(i%10), 1+i*i)
		want = append(want, line)
		text = append(append(text, line...), '\n')
	}
	l := newLineReader(bytes.NewReader(text), 1<<20)
	var got [][]byte
	for range want {
		line, err := l.next()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, line)
	}
	for i := range want {
		if string(got[i]) != want[i] {
			t.Fatalf("line %d was overwritten", i)
		}
	}
}

func TestTail(t *testing.T) {
	all := []byte(strings.Repeat("0123456789", 50))
	for _, step := range []int{1, 3, 7, 10, 64, 500} {
		keep := &tail{limit: 64}
		for b := all; len(b) > 0; {
			n := min(step, len(b))
			keep.Write(b[:n])
			b = b[n:]
		}
		if got, want := string(keep.Bytes()), string(all[len(all)-64:]); got != want {
			t.Errorf("in steps of %d: %q, want %q", step, got, want)
		}
	}
	keep := &tail{limit: 64}
	keep.Write([]byte("short"))
	if got := string(keep.Bytes()); got != "short" {
		t.Errorf("%q", got)
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add([]byte("plain"), 256)
	f.Add([]byte("\x00\x1b[31m\u202e\U000e0041\xff\xfe\"\\"), 20)
	f.Add([]byte(strings.Repeat("日本", 200)), 256)
	f.Fuzz(func(t *testing.T, text []byte, limit int) {
		limit = (limit & 0x7fffffff) % 600
		for _, got := range []string{excerpt(text, limit), excerptEnd(text, limit)} {
			if len(got) > limit {
				t.Fatalf("%d bytes with a limit of %d: %q", len(got), limit, got)
			}
			for _, r := range got {
				if r < 0x20 || r == 0x7f || r == 0x202e || r == '\u200b' || (r >= 0xe0000 && r < 0xe1000) {
					t.Fatalf("%q has %U", got, r)
				}
			}
			if plain := string(text); len(plain) <= limit && strings.Trim(plain, "abcdefghijklmnopqrstuvwxyz") == "" && got != plain {
				t.Fatalf("%q became %q", plain, got)
			}
		}
	})
}
