//go:build linux

package upstream

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

const (
	shortTime = 800 * time.Millisecond // of a timeout that a row is about
	longTime  = 3 * time.Second        // the same, where that was too short to get to the fault
	otherTime = 8 * time.Second        // of all others, in steps that are served well

	messageBytes = 64 << 10 // the limit on a message
	textBytes    = 1 << 10  // the longest text of an error
	// sentBytes is how much a peer over HTTP may get rid of at the most: what the client takes, and what the buffers of two
	// sockets hold. A peer that sends for as long as the client's patience lasts is slower than that.
	sentBytes = 16 << 20
)

// want is what becomes of a fault.
type want struct {
	// kind is what the fault is. Rows that look the same to the caller must be of one kind.
	kind string
	// seen is the error as seen says it.
	seen string
	// at and kinds are seen and kind at the steps where they differ.
	at, kinds map[mcptest.Step]string
	// undelivered says that the request cannot have had effect; unclear, that it depends on the moment whether it can.
	undelivered, unclear bool
	// ends says that a connection over stdio has ended. Otherwise, and always over HTTP, the next request succeeds.
	ends bool
	// stuck says that the server serves nobody any more.
	stuck bool
	// stderr is a part of the end of standard error that the error carries.
	stderr string
}

// at is for the steps at which something differs.
func at(step mcptest.Step, what string) map[mcptest.Step]string {
	return map[mcptest.Step]string{step: what}
}

func (w want) seenAt(step mcptest.Step) string {
	if s, ok := w.at[step]; ok {
		return s
	}
	if late, ok := strings.CutPrefix(w.seen, "TimeoutError M: "); ok && step == mcptest.StepListen {
		return "TimeoutError M: the acknowledgement and " + late
	}
	return w.seen
}

func (w want) kindAt(step mcptest.Step) string {
	if s, ok := w.kinds[step]; ok {
		return s
	}
	return w.kind
}

// wants returns what becomes of all faults, by their names.
func wants() map[string]want {
	all := map[string]want{}
	for prefix, group := range map[string]map[string]want{
		"stdio/": stdioWants(), "http/": httpWants(), "sse/": sseWants(), "tls/": tlsWants(), "http2/": http2Wants(),
	} {
		for name, w := range group {
			all[prefix+name] = w
		}
	}
	return all
}

// TestFaultsAreAllWanted: the table has a row for each fault of the peer, and no other.
func TestFaultsAreAllWanted(t *testing.T) {
	all, steps := wants(), 0
	for _, f := range mcptest.Faults() {
		w, ok := all[f.Name]
		delete(all, f.Name)
		steps += len(f.Steps)
		switch {
		case ok == f.Legal:
			t.Errorf("%s: row in the table: %t, want %t", f.Name, ok, !f.Legal)
		case ok && (w.kind == "" || w.seen == ""):
			t.Errorf("%s: row without kind or error", f.Name)
		}
	}
	for name := range all {
		t.Errorf("%s: no such fault", name)
	}
	t.Logf("%d faults, %d rows", len(mcptest.Faults()), steps)
}

// TestFaults walks every fault of the peer through every step at which it can be shown, over real processes and sockets.
// Each row wants: an error in time, of the type that its table says, that names the server, tells whether the request may
// have had effect and is fit to print; one request and no second one; and a client that works on if the server does. Rows
// without a fault succeed.
func TestFaults(t *testing.T) {
	all := wants()
	kinds := &kindsSeen{kinds: map[string]map[string]string{}}
	groups := map[string][]func(t *testing.T){}
	var order []string
	add := func(group, name string, row func(t *testing.T)) {
		if groups[group] == nil {
			order = append(order, group)
		}
		groups[group] = append(groups[group], func(t *testing.T) { t.Run(name, row) })
	}
	for _, over := range []mcptest.Transport{mcptest.OverStdio, mcptest.OverHTTP, mcptest.OverTLS, mcptest.OverHTTP2} {
		for _, step := range mcptest.Steps {
			add("control", string(over)+"/"+string(step), func(t *testing.T) { legal(t, mcptest.Fault{Over: over}, step) })
		}
	}
	for _, f := range mcptest.Faults() {
		prefix, _, _ := strings.Cut(f.Name, "/")
		group := prefix
		switch {
		case f.Big > 0:
			group = "big" // what they cost is the caller's own request
		case strings.HasPrefix(f.Name, "tls/name-"):
			group = "names"
		}
		for _, step := range f.Steps {
			name := strings.TrimPrefix(f.Name, prefix+"/") + "/" + string(step)
			if f.Legal {
				add(group, name, func(t *testing.T) { legal(t, f, step) })
				continue
			}
			add(group, name, func(t *testing.T) { row(t, f, step, all[f.Name], kinds) })
		}
	}
	for _, group := range order {
		t.Run(group, func(t *testing.T) {
			before := measure(t)
			t.Run("rows", func(t *testing.T) {
				for _, run := range groups[group] {
					run(t)
				}
			})
			before.compare(t, group != "big")
		})
	}
	kinds.check(t)
	logged.mu.Lock()
	defer logged.mu.Unlock()
	for line := range logged.seen {
		// Of net/http, about frames of unknown types: nothing of the peer's is in it.
		if line != "Transport: unhandled response frame type *http.http2UnknownFrame\n" {
			t.Errorf("a library has logged %q", line)
		}
	}
}

// row takes one fault at one step.
func row(t *testing.T, f mcptest.Fault, step mcptest.Step, w want, kinds *kindsSeen) {
	t.Parallel()
	o := visit(t, f, step, w, shortTime)
	look := seen(o.err)
	early := look != w.seenAt(step) && strings.HasPrefix(look, "TimeoutError") && strings.HasPrefix(w.seenAt(step), "TimeoutError")
	switch { // once more, where the machine may have been too busy
	case early: // to come to the fault
		o = visit(t, f, step, w, longTime)
	case o.took > faultTime:
		o = visit(t, f, step, w, shortTime)
	}
	look = seen(o.err)
	if look != w.seenAt(step) {
		t.Errorf("got %s, want %s: %v", look, w.seenAt(step), o.err)
	} else {
		kinds.add(look, w.kindAt(step), f.Name)
	}
	if o.took > faultTime {
		t.Errorf("took %s, want at most %s", o.took, faultTime)
	}
	if o.err == nil {
		return
	}
	for _, trouble := range troubles(o.err) {
		t.Errorf("%s: %v", trouble, o.err)
	}
	undelivered, unclear := w.undelivered, w.unclear
	if f.Between {
		undelivered, unclear = step != mcptest.StepEvents, step == mcptest.StepDiscover
	}
	if mcp.Delivered(o.err) == undelivered && !unclear {
		t.Errorf("Delivered = %t, want %t: %v", mcp.Delivered(o.err), !undelivered, o.err)
	}
	if w.stderr != "" && !strings.Contains(stderr(o.err), w.stderr) {
		t.Errorf("standard error is %q, want %q in it", stderr(o.err), w.stderr)
	}
	switch {
	case f.Over == mcptest.OverStdio && o.usable && (o.ended != nil) != w.ends:
		t.Errorf("the connection has ended with %v, want its end: %t", o.ended, w.ends)
	case o.again != nil:
		t.Errorf("the next request: %v, want success", o.again)
	case o.asked > 1 && !(f.Untouched && o.asked == 2):
		t.Errorf("the peer got %d requests, want one: what may have had effect is not sent again", o.asked)
	case o.sent > sentBytes:
		t.Errorf("the peer got rid of %d bytes, want at most %d", o.sent, sentBytes)
	}
	if o.ended != nil {
		for _, trouble := range troubles(o.ended) {
			t.Errorf("%s: %v", trouble, o.ended)
		}
	}
}

// kindsSeen remembers which kinds of fault looked how.
type kindsSeen struct {
	mu    sync.Mutex
	kinds map[string]map[string]string // by look, then by kind: a fault of it
}

func (k *kindsSeen) add(look, kind, fault string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kinds[look] == nil {
		k.kinds[look] = map[string]string{}
	}
	k.kinds[look][kind] = fault
}

// check wants no two kinds that look the same.
func (k *kindsSeen) check(t *testing.T) {
	for look, kinds := range k.kinds {
		if len(kinds) > 1 && look != "success" {
			t.Errorf("nothing tells these kinds of fault apart: %v all give %s", kinds, look)
		}
	}
}

// legal wants success.
func legal(t *testing.T, f mcptest.Fault, at mcptest.Step) {
	t.Parallel()
	o := visit(t, f, at, want{}, shortTime)
	if at == mcptest.StepEvents && o.err == errStillOpen {
		o.err = nil // for as long as it was looked at
	}
	if o.err != nil || o.again != nil || o.ended != nil {
		t.Errorf("got %v, then %v and %v, want success", o.err, o.again, o.ended)
	}
	most := 1
	if f.Untouched {
		most = 2
	}
	if f.Over != mcptest.OverStdio && at != mcptest.StepEvents && (o.asked < 1 || o.asked > most || o.sent > sentBytes) {
		t.Errorf("the peer got %d requests and got rid of %d bytes, want 1 to %d and at most %d", o.asked, o.sent, most, sentBytes)
	}
}
