//go:build unix

package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// TestTimeoutsOfCalls has calls whose times end in another order than they began in, from one timer.
func TestTimeoutsOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(t, Limits{})
		begin := time.Now()
		ended := map[int]<-chan outcome{}
		for id, timeout := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second, 0, 2 * time.Second, time.Hour} {
			c := call(id, "tools/call")
			c.Timeout = timeout
			ended[id], _ = p.begin(t, t.Context(), c)
		}
		for _, want := range []struct {
			id    int
			after time.Duration
		}{{1, time.Second}, {2, 2 * time.Second}, {4, 2 * time.Second}, {0, 3 * time.Second}} {
			err := (<-ended[want.id]).err
			var e *EndedError
			if !errors.As(err, &e) || !e.Delivered || !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != want.after {
				t.Errorf("call %d ended with %v after %v, want the end of its time after %v", want.id, err, time.Since(begin), want.after)
			}
		}
		told := map[string]bool{}
		for range 4 {
			told[string(readLine(t, p.in))] = true
		}
		for _, id := range []int{0, 1, 2, 4} {
			if !told[fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)] {
				t.Errorf("the server was not told of the end of call %d: %v", id, told)
			}
			p.out.Write(resultLine(fmt.Sprint(id))) // late, and dropped
		}
		time.Sleep(time.Hour / 2)
		p.out.Write(resultLine("3"))
		good(t, <-ended[3], "3")
		p.out.Write(resultLine("5"))
		good(t, <-ended[5], "5")

		// A later call sets the alarm again.
		again := call(6, "tools/call")
		again.Timeout = time.Minute
		begin = time.Now()
		sixth, _ := p.begin(t, t.Context(), again)
		if err := (<-sixth).err; !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Minute {
			t.Errorf("call 6 ended with %v after %v", err, time.Since(begin))
		}
	})
}

// TestTimeoutBeforeDelivery ends the time of a call whose line nobody has begun to write: the server never sees it.
func TestTimeoutBeforeDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(t, Limits{})
		first := make(chan outcome, 1)
		go func() {
			m, err := p.Do(t.Context(), call(1, "tools/call"))
			first <- outcome{m, err}
		}()
		synctest.Wait() // it is being written, to nobody
		c := call(2, "tools/call")
		c.Timeout = time.Second
		_, err := p.Do(t.Context(), c)
		var e *EndedError
		if !errors.As(err, &e) || e.Delivered || e.Waiting != "the server to read the request" {
			t.Errorf("Do = %#v, want an end before delivery", err)
		}
		if id := rawID(t, readLine(t, p.in)); id != "1" {
			t.Errorf("the first line has id %s", id)
		}
		p.out.Write(resultLine("1"))
		good(t, <-first, "1")
		go p.Close()
		if rest, _ := io.ReadAll(p.in); len(rest) > 0 {
			t.Errorf("%q was written", rest)
		}
	})
}

// TestAnswerBeforeItsRequest has a server that answers a request that it cannot have seen.
func TestAnswerBeforeItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(t, Limits{})
		ended := make(chan outcome, 2)
		for id := range 2 {
			go func() {
				m, err := p.Do(t.Context(), call(id, "tools/call"))
				ended <- outcome{m, err}
			}()
			synctest.Wait() // 0 is being written, to nobody, and 1 waits behind it
		}
		p.out.Write(resultLine("1"))
		for range 2 {
			var foreign *ForeignIDError
			if o := <-ended; !errors.As(o.err, &foreign) || foreign.Got != "1" {
				t.Errorf("Do = %v, want a foreign id", o.err)
			}
		}
	})
}
