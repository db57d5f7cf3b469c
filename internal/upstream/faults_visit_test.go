//go:build linux

package upstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// outcome is what a client made of a server with a fault.
type outcome struct {
	err    error // of the step
	took   time.Duration
	usable bool  // there is a client after the step
	ended  error // Client.Err after the step
	again  error // of a request after the step
	asked  int   // requests of the step that came, over HTTP
	sent   int64 // bytes that the peer got rid of, over HTTP
}

// visitor takes the steps of a session.
type visitor struct {
	dialer Dialer
	server *catalog.Server
	// patience is how long an open subscription is waited for.
	patience time.Duration
	big      bool // the next request is a large one
	size     int

	client *mcp.Client
	tools  *mcp.ToolsPage
	sub    *mcp.Subscription
}

// visit takes the steps up to the one of the fault. Short is the timeout that the row is about, if it is about one.
func visit(t *testing.T, f mcptest.Fault, at mcptest.Step, w want, short time.Duration) (o outcome) {
	t.Helper()
	var peer *mcptest.Faulty
	var block string
	mark := fmt.Sprintf("%d %s", os.Getpid(), t.Name()) // another run of this test may be under way
	if f.Over == mcptest.OverStdio {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		args := mcptest.ChildArgs(f, at)
		// Built with -race a program waits a second before it exits.
		block = fmt.Sprintf("  stdio {\n    command = %q\n    args = [%q, %q]\n    env = {\n      GORACE = \"atexit_sleep_ms=0\"\n      %s = %q\n    }\n  }",
			self, args[0], args[1], markVar, mark)
	} else {
		peer = mcptest.StartFaulty(t, f, at)
		block = fmt.Sprintf("  http {\n    url = %q\n    egress {\n      allow_private = true\n    }\n", peer.URL)
		if strings.HasPrefix(peer.URL, "https:") {
			block += fmt.Sprintf("    tls {\n      ca_file = %q\n      pin_sha256 = %q\n    }\n", authority, mcptest.Pin())
		}
		block += "  }"
	}
	v := &visitor{patience: faultTime, size: f.Big}
	if f.Name == "" {
		v.patience = shortTime
	}
	v.server, v.dialer = server(t, block)
	v.dialer.options = []mcp.Option{mcp.WithTimeouts(times(w, at, short)), mcp.WithLimits(mcp.Limits{MessageBytes: messageBytes})}
	defer func() {
		if v.client != nil {
			if err := v.client.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
		if peer == nil {
			noneLeft(t, mark)
			return
		}
		if f.Big == 0 { // behind a request that nobody reads, the kernel holds back that the client has gone
			closed(t, peer, "of a closed client")
		}
	}()
	for _, step := range mcptest.Steps {
		ctx, cancel := context.WithTimeout(t.Context(), 2*otherTime)
		defer cancel()
		if step == at && f.Between && v.client != nil {
			select {
			case <-v.client.Done():
			case <-ctx.Done():
				t.Fatal("the client does not notice")
			}
		}
		v.big = step == at && f.Big > 0
		start := time.Now()
		err := v.take(ctx, step)
		o.err, o.took = err, time.Since(start)
		switch {
		case step == at:
			if peer != nil {
				o.asked, o.sent = peer.Count(at), peer.Written()
			}
			if v.client == nil {
				return o
			}
			if w.ends { // perhaps a moment later
				select {
				case <-v.client.Done():
				case <-time.After(faultTime):
				}
			}
			o.usable, o.ended = true, v.client.Err()
			if peer != nil && o.err != nil && step != mcptest.StepEvents && f.Over != mcptest.OverHTTP2 && f.Big == 0 {
				closed(t, peer, "of exchanges that have failed") // each has one of its own
			}
			if o.ended == nil && !w.stuck {
				o.again = v.again(ctx, at)
			}
			return o
		case err != nil:
			t.Fatalf("%s, which was served well: %v", step, err)
		}
	}
	return o
}

// closed wants the peer to have no connections: until the peer ends, only what the client has closed is gone.
func closed(t *testing.T, peer *mcptest.Faulty, which string) {
	t.Helper()
	for end := time.Now().Add(faultTime); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if peer.Open() == 0 {
			return
		}
	}
	t.Errorf("%d connections %s are open", peer.Open(), which)
}

// times are short where the row wants the time to be over, and long everywhere else, since a busy machine may hold up what
// is served well, and faults that show at once.
func times(w want, at mcptest.Step, short time.Duration) mcp.Timeouts {
	all := mcp.Timeouts{Connect: otherTime, Discover: otherTime, List: otherTime, Call: otherTime, Idle: otherTime}
	switch look := w.seenAt(at); {
	case strings.HasPrefix(look, "TimeoutError connect"):
		all.Connect = short
	case strings.HasPrefix(look, "StallError"):
		all.Idle = short
	case !strings.HasPrefix(look, "TimeoutError"):
	case at == mcptest.StepDiscover:
		all.Discover = short
	case at == mcptest.StepList:
		all.List = short
	case at == mcptest.StepCall:
		all.Call = short
	case at == mcptest.StepListen:
		all.Discover = min(3*short, longTime) // of the discovery as well
	}
	return all
}

// take takes one step.
func (v *visitor) take(ctx context.Context, step mcptest.Step) (err error) {
	large := ""
	if v.big {
		large = strings.Repeat("x", v.size)
	}
	switch step {
	case mcptest.StepDiscover:
		v.client, err = v.dialer.Connect(ctx, v.server)
	case mcptest.StepList:
		params := &mcp.ListParams{}
		if v.big {
			params.Cursor = &large
		}
		v.tools, err = v.client.ListTools(ctx, params)
	case mcptest.StepCall:
		_, err = v.client.CallTool(ctx, &mcp.CallToolParams{Tool: v.tools.Tools[0], Arguments: jsontext.Value(`{"harbour":"` + large + `"}`)})
	case mcptest.StepListen:
		filter := mcp.SubscriptionFilter{ToolsListChanged: true}
		if v.big {
			filter.ResourceSubscriptions = []string{"file:///" + large}
		}
		v.sub, err = v.client.Listen(ctx, filter)
	case mcptest.StepEvents:
		late := time.NewTimer(v.patience)
		defer late.Stop()
		select {
		case <-v.sub.Done():
			err = v.sub.Err()
		case <-late.C:
			err = errStillOpen
		}
	}
	return err
}

// again makes a request of another kind than the one that went wrong, so that its time is long and the peer good.
func (v *visitor) again(ctx context.Context, at mcptest.Step) (err error) {
	if at == mcptest.StepList {
		_, err = v.client.Discover(ctx)
	} else {
		_, err = v.client.ListTools(ctx, nil)
	}
	return err
}

// errStillOpen is for a subscription that nothing has happened to.
var errStillOpen = errors.New("the subscription is still open")
