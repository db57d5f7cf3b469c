//go:build unix

package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// filePipes is a connection over pipes of the operating system to a peer that the test plays. The one that the client
// writes to is small, where that can be chosen.
func filePipes(t testing.TB, limits Limits) *pipes {
	t.Helper()
	r1, w1, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r2, w2, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	shrink(t, w2)
	p := &pipes{Stdio: NewPipe(r1, w2, limits, nil, nil, nil), in: bufio.NewReaderSize(r2, 4<<10), out: w1}
	t.Cleanup(func() {
		p.Close()
		_, _ = w1.Close(), r2.Close()
	})
	return p
}

// TestDeliveredIsTrue has many callers, of which most give up at some time, and a server that reads in fits: what each
// call says of its delivery is what the server has seen. Every line comes whole and once. Short requests, which go into
// a pipe whole or not at all, never break the connection.
func TestDeliveredIsTrue(t *testing.T) {
	for _, test := range []struct {
		name    string
		connect func(testing.TB, Limits) *pipes
		longest int
	}{
		{"files", filePipes, 20_000},
		{"files with short lines", filePipes, pipeBuf - 100},
		{"streams", newPipes, 20_000},
	} {
		t.Run(test.name, func(t *testing.T) {
			var all fates
			for round := uint64(0); round < 50 && (all.answered == 0 || all.delivered == 0 || all.neither == 0); round++ {
				p := test.connect(t, Limits{})
				got := manyGiveUp(t, p, test.longest, round)
				if broken := p.Err(); broken != nil && test.longest < pipeBuf {
					t.Errorf("Err() = %v", broken)
				}
				all.answered, all.delivered, all.neither = all.answered+got.answered, all.delivered+got.delivered, all.neither+got.neither
				p.Close()
			}
			t.Logf("%+v", all)
			if all.answered == 0 || all.delivered == 0 || all.neither == 0 {
				t.Error("a case did not occur")
			}
		})
	}
}

// TestPartialWriteEndsTheConnection gives up a call of whose request a part is in the pipe: nothing can follow it.
func TestPartialWriteEndsTheConnection(t *testing.T) {
	p := filePipes(t, Limits{})
	first, _ := p.begin(t, t.Context(), call(1, "tools/call"))
	big := call(2, "tools/call")
	big.Body = body(2, "tools/call", `{"x":"`+strings.Repeat("a", 1<<20)+`"}`)
	big.Timeout = 50 * time.Millisecond
	waiting := make(chan error, 1)
	go func() {
		for !p.Stdio.out.isBusy() {
			time.Sleep(time.Millisecond)
		}
		_, err := p.Do(t.Context(), call(3, "tools/call"))
		waiting <- err
	}()
	_, err := p.Do(t.Context(), big)
	var ended *EndedError
	if !errors.As(err, &ended) || ended.Delivered {
		t.Errorf("Do = %v, want an end before delivery", err)
	}
	for err, delivered := range map[error]bool{(<-first).err: true, <-waiting: false} {
		var e *Error
		if !errors.As(err, &e) || e.Op != "send" || e.Delivered != delivered || !strings.Contains(err.Error(), "only a part of a message") {
			t.Errorf("Do = %#v, want the end of the connection, delivered %v", err, delivered)
		}
	}
	rest, err := io.ReadAll(p.in) // ends: the stream is closed
	if err != nil || bytes.IndexByte(rest, '\n') >= 0 || len(rest) == 0 || !bytes.HasPrefix(big.Body, rest) {
		t.Errorf("after the first request came %d bytes, %v, want a part of the second", len(rest), err)
	}
}

// TestOnlyTheLineEndIsMissing gives up a call whose request has been written but for its line end. Some servers take what
// stands there at the end of a stream for a message, so it may have been delivered.
func TestOnlyTheLineEndIsMissing(t *testing.T) {
	room := roomOfAPipe(t)
	for name, tt := range map[string]struct {
		tail      string // of the request
		delivered bool
	}{
		"all but the line end":      {"", true},
		"and white space before it": {" \t ", true},
		"and a brace":               {"}", false},
	} {
		p := filePipes(t, Limits{})
		c := call(1, "tools/call")
		empty := len(body(1, "tools/call", `{"x":""}`))
		c.Body = body(1, "tools/call", `{"x":"`+strings.Repeat("a", room-empty)+`"}`)
		switch {
		case tt.tail == "}":
			c.Body = body(1, "tools/call", `{"x":"`+strings.Repeat("a", room-empty+1)+`"}`)
		default:
			c.Body = append(c.Body, tt.tail...)
		}
		c.Timeout = 50 * time.Millisecond
		_, err := p.Do(t.Context(), c)
		var ended *EndedError
		if !errors.As(err, &ended) || ended.Delivered != tt.delivered {
			t.Errorf("%s: Do = %#v, want an end with delivered %v", name, err, tt.delivered)
		}
		if rest, err := io.ReadAll(p.in); err != nil || len(rest) != room || !bytes.HasPrefix(c.Body, rest) {
			t.Errorf("%s: %d bytes came, %v, want %d of the request", name, len(rest), err, room)
		}
	}
}

// roomOfAPipe is how much filePipes lets the client write that nobody reads.
func roomOfAPipe(t *testing.T) int {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	shrink(t, w)
	n, err := newFastWriter(w).write(make([]byte, 1<<20))
	if err != nil || n == 0 || n == 1<<20 {
		t.Fatalf("%d bytes went into a pipe, %v", n, err)
	}
	return n
}

// TestBatchThatDoesNotFit has a batch meet a full pipe: its lines are in the queue again, and who has begun to wait for the
// end of their writing can take them back.
func TestBatchThatDoesNotFit(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	shrink(t, w)
	l := newLineWriter(w, func(err error) { t.Errorf("the stream broke: %v", err) })
	for l.write1(t) == lineWritten { // until it is full
	}
	l.busy = true // as if a caller were writing
	var lines [3]*outLine
	for i := range lines {
		lines[i] = &outLine{body: []byte("x"), settled: make(chan struct{})}
		l.put(lines[i], true)
	}
	waiting := lines[1].settled
	if got := l.batch(); got != full {
		t.Fatalf("batch = %v, want that the pipe is full", got)
	}
	for i, o := range lines {
		if o.state.Load() != lineQueued {
			t.Errorf("line %d is in state %d, want it queued again", i, o.state.Load())
		}
	}
	select {
	case <-waiting:
	default:
		t.Error("who waits for line 1 is not told")
	}
	if got := l.withdraw(lines[1]); got != lineDropped {
		t.Errorf("withdraw = %d, want %d", got, lineDropped)
	}
	go l.drain()
	in := bufio.NewReader(r)
	for got := ""; got != "xx"; { // the first and the third, behind what filled the pipe
		line := string(readLine(t, in))
		if strings.Trim(line, "f") != "" {
			got += line
		}
		if len(got) > 2 {
			t.Fatalf("read %q", got)
		}
	}
	l.idle(5 * time.Second)
	if l.busy || lines[0].state.Load() != lineWritten || lines[2].state.Load() != lineWritten {
		t.Errorf("busy %v, states %d and %d", l.busy, lines[0].state.Load(), lines[2].state.Load())
	}
}

// TestAnswerWhileTheLineIsTaken has a server answer a request that is being written and of which it takes nothing, by guessing
// its id. The caller may do with the body what it likes then, so nothing of it is sent any more.
func TestAnswerWhileTheLineIsTaken(t *testing.T) {
	p := filePipes(t, Limits{})
	out := p.Stdio.out
	out.mu.Lock()
	out.busy = true // as if a caller were writing
	out.mu.Unlock()
	queued := func(n int) {
		for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
			out.mu.Lock()
			got := len(out.queue)
			out.mu.Unlock()
			if got == n {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%d lines in the queue, want %d", got, n)
			}
		}
	}
	ended := make(chan outcome, 2)
	calls := []*Call{call(1, "tools/list"), call(2, "tools/call")}
	for i, c := range calls {
		go func() { m, err := p.Do(t.Context(), c); ended <- outcome{m, err} }()
		queued(i + 1)
	}
	write := out.fast.once
	out.fast.once = func(uintptr) bool {
		p.out.Write(resultLine("2"))
		good(t, <-ended, "2")
		copy(calls[1].Body, "another server's")
		out.fast.n, out.fast.err = -1, syscall.EAGAIN
		return true
	}
	if got := out.batch(); got != full {
		t.Fatalf("batch = %v, want that the pipe is full", got)
	}
	out.fast.once = write
	queued(1)
	go out.drain()
	if id := rawID(t, readLine(t, p.in)); id != "1" {
		t.Errorf("request %s came, want 1", id)
	}
	p.out.Write(resultLine("1"))
	good(t, <-ended, "1")
	p.Close()
	if rest, err := io.ReadAll(p.in); err != nil || len(rest) > 0 {
		t.Errorf("%q came, %v, want nothing more", rest, err)
	}
}

// write1 writes a line without waiting, and returns its state.
func (l *lineWriter) write1(t *testing.T) lineState {
	o := &outLine{body: []byte(strings.Repeat("f", pipeBuf-1))}
	l.busy = true
	l.put(o, false)
	switch l.batch() {
	case nothing:
	case full:
		if got := l.withdraw(o); got != lineDropped {
			t.Fatalf("a line that does not fit is in state %d", got)
		}
		l.restLocked()
	}
	return o.state.Load()
}

// fates says how many calls ended in which way.
type fates struct{ answered, delivered, neither int }

func manyGiveUp(t *testing.T, p *pipes, longest int, round uint64) (got fates) {
	const owed, barred = 1000, -1000 // added to the count of a line that is still to come, or must not
	var mu sync.Mutex
	seen := map[string]int{} // how often each id came
	go func() {
		chance := rand.New(rand.NewPCG(1, round))
		for {
			line, err := p.in.ReadBytes('\n')
			if err != nil {
				return
			}
			m, err := jsonrpc.Decode(line[:len(line)-1], strictjson.Limits{})
			if err != nil {
				t.Errorf("a line is no message: %v", err)
				return
			}
			if m.Kind == jsonrpc.Notification {
				continue
			}
			mu.Lock()
			seen[m.ID.Raw()]++
			mu.Unlock()
			if chance.IntN(40) == 0 {
				time.Sleep(time.Duration(chance.IntN(3)) * time.Millisecond)
			}
			if chance.IntN(4) > 0 {
				if _, err := p.out.Write(resultLine(m.ID.Raw())); err != nil {
					return
				}
			}
		}
	}()
	const callers, each = 32, 60
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			chance := rand.New(rand.NewPCG(2+round, uint64(caller)))
			for i := range each {
				c := call(caller*each+i, "tools/call")
				if chance.IntN(2) == 0 {
					c.Body = body(caller*each+i, "tools/call", `{"x":"`+strings.Repeat("a", chance.IntN(longest))+`"}`)
				}
				ctx, cancel := t.Context(), func() {}
				if chance.IntN(2) == 0 {
					c.Timeout = time.Duration(1 + chance.IntN(5e6))
				} else {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(chance.IntN(5e6)))
				}
				_, err := p.Do(ctx, c)
				cancel()
				id := c.ID.Raw()
				var ended *EndedError
				mu.Lock()
				switch {
				case err == nil && seen[id] != 1:
					t.Errorf("call %s is answered and was seen %d times", id, seen[id])
				case err == nil:
					got.answered++
				case !errors.As(err, &ended): // the connection is broken
				case ended.Delivered:
					got.delivered++
					seen[id] += owed
				case seen[id] > 0:
					t.Errorf("call %s was seen and is not delivered: %v", id, err)
				default:
					got.neither++
					seen[id] += barred
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		owing := false
		mu.Lock()
		for id, n := range seen {
			owing = owing || n == owed
			if n < 0 && n != barred || n > owed+1 {
				t.Errorf("call %s was seen again, or at last: %d", id, n)
			}
		}
		mu.Unlock()
		if !owing {
			return got
		}
		if p.Err() != nil {
			return got // what was on its way may be lost
		}
	}
	t.Error("a call is delivered and was not seen")
	return got
}
