package gate

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

func TestServerThatIsDown(t *testing.T) {
	o := newOffice(t, berthStatus)
	g := open(t, o, "clerk", berthStatus)
	o.set(func() { o.down = true })
	if r := refused(t, g, "berth_status", ""); r.Reason != Unverified || r.Err == nil || r.Live != "" {
		t.Errorf("refusal %v", r)
	}
	if names(g) != "berth_status" {
		t.Error("the tool left the list though nothing is known of it")
	}
	if st := g.Status(); len(st) != 1 || st[0].Err == nil || st[0].Connected || st[0].Address != "server.office" {
		t.Errorf("Status = %+v", st)
	}
	o.set(func() { o.down = false })
	deadline := time.Now().Add(10 * time.Second)
	for {
		if _, err := g.Call(t.Context(), Request{Name: "berth_status"}); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("not tried again: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if st := g.Status(); st[0].Err != nil || !st[0].Connected || st[0].Checked.IsZero() {
		t.Errorf("Status = %+v", st)
	}
	o.set(func() { o.down = true })
	if r := refused(t, g, "berth_status", ""); r.Reason != Unverified {
		t.Errorf("refusal %v", r)
	}
	if n := len(o.calls()); n != 1 {
		t.Errorf("the server saw %d calls, want 1", n)
	}
}

// TestCallsShareWalks holds a walk, lets calls arrive, and counts the walks that they needed: the one that runs cannot
// serve them, because it began before they arrived.
func TestCallsShareWalks(t *testing.T) {
	o := newOffice(t, berthStatus)
	g := open(t, o, "clerk", berthStatus)
	passed(t, g, "berth_status", "")
	hold := make(chan struct{})
	o.set(func() { o.hold = hold })
	var wg sync.WaitGroup
	call := func() {
		wg.Go(func() {
			if _, err := g.Call(context.Background(), Request{Name: "berth_status"}); err != nil {
				t.Error(err)
			}
		})
	}
	s := g.servers[0]
	waitFor := func(what string, f func() bool) {
		for range 1000 {
			s.mu.Lock()
			ok := f()
			s.mu.Unlock()
			if ok {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Fatal(what)
	}
	call()
	waitFor("no walk runs", func() bool { return s.running != nil })
	for range 20 {
		call()
	}
	waitFor("calls do not wait", func() bool { return s.waiting != nil && s.waiting.waiters == 20 })
	close(hold)
	wg.Wait()
	if got := o.walks(); got != 3 {
		t.Errorf("%d walks, want 3: the first, the held one and one for the twenty", got)
	}
	if got := len(o.calls()); got != 22 {
		t.Errorf("the server saw %d calls, want 22", got)
	}
}

// TestChangeBetweenWalks changes the list while a walk that began before is still running.
func TestChangeBetweenWalks(t *testing.T) {
	o := newOffice(t, berthStatus)
	g := open(t, o, "clerk", berthStatus)
	hold := make(chan struct{})
	o.set(func() { o.hold = hold })
	first := make(chan error, 1)
	go func() {
		_, err := g.Call(context.Background(), Request{Name: "berth_status"})
		first <- err
	}()
	for o.walks() == 0 {
		time.Sleep(time.Millisecond)
	}
	o.offer([]string{strings.Replace(berthStatus, "free", "taken", 1)}) // the running walk has seen the old list
	second := make(chan error, 1)
	go func() {
		_, err := g.Call(context.Background(), Request{Name: "berth_status"})
		second <- err
	}()
	for {
		s := g.servers[0]
		s.mu.Lock()
		waits := s.waiting != nil
		s.mu.Unlock()
		if waits {
			break
		}
		time.Sleep(time.Millisecond)
	}
	close(hold)
	if err := <-first; err != nil {
		t.Errorf("the first call: %v", err)
	}
	var r *Refusal
	if err := <-second; !errors.As(err, &r) || r.Reason != Drift {
		t.Errorf("the second call: %v, want drift", err)
	}
}

func TestInterval(t *testing.T) {
	o := newOffice(t, berthStatus)
	settings := "\nmcpcat {\n  gate {\n    recheck = \"1h\"\n  }\n}\n"
	dir := write(t, o.catalogText("", "berth_status")+settings)
	l := pin(t, load(t, dir), berthStatus)
	l.Gate = json.RawMessage(`{"every":"1h0m0s","recheck":"interval"}`)
	if err := lock.Seal(l); err != nil {
		t.Fatal(err)
	}
	writeLock(t, dir, l)
	g := opened(t, Options{Dir: dir, Agent: "clerk"})
	for range 3 {
		passed(t, g, "berth_status", "")
	}
	if o.walks() != 1 {
		t.Errorf("%d walks within the interval, want 1", o.walks())
	}
	now := time.Now()
	for _, c := range []struct {
		began time.Time
		want  bool
	}{
		{now, true},
		{now.Add(-59 * time.Minute), true},
		{now.Add(-time.Hour), false},
		{now.Add(time.Second), false},
		{now.Round(0).Add(-2 * time.Hour), false},
	} {
		if got := young(c.began, now, time.Hour); got != c.want {
			t.Errorf("young(%v before) = %v", now.Sub(c.began), got)
		}
	}
}

func TestCancelAndClose(t *testing.T) {
	o := newOffice(t, berthStatus)
	g := open(t, o, "clerk", berthStatus)
	left := make(chan struct{}, 2)
	arrived := make(chan struct{}, 2)
	o.set(func() {
		o.answer = func(_ http.ResponseWriter, r *http.Request, _, _ string, _ []byte) bool {
			arrived <- struct{}{}
			<-r.Context().Done()
			left <- struct{}{}
			return true
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() {
		_, err := g.Call(ctx, Request{Name: "berth_status"})
		ended <- err
	}()
	<-arrived
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	<-left
	go func() {
		_, err := g.Call(context.Background(), Request{Name: "berth_status"})
		ended <- err
	}()
	<-arrived
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("a call that Close ended: %v", err)
	}
	<-left
	if _, err := g.Call(context.Background(), Request{Name: "berth_status"}); !errors.Is(err, ErrClosed) {
		t.Errorf("a call after Close: %v", err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}
