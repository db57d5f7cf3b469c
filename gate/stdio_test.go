package gate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
)

// childEnv holds the path of the record in a child that plays a server on stdio.
const childEnv = "MCPCAT_TEST_OFFICE"

// playOffice is that child. It writes the names of the methods that it gets to the record, and ends without an answer when
// a call asks it to die.
func playOffice(path string) {
	record, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Arguments struct {
					Die bool `json:"die"`
				} `json:"arguments"`
			} `json:"params"`
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			os.Exit(1)
		}
		fmt.Fprintln(record, m.Method)
		result := `{"resultType":"complete","content":[]}`
		switch m.Method {
		case "server/discover":
			result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
		case "tools/list":
			result = `{"resultType":"complete","tools":[` + berthStatus + `],"ttlMs":0,"cacheScope":"private"}`
		case "tools/call":
			if m.Params.Arguments.Die {
				os.Exit(3)
			}
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

func stdioCatalog(t *testing.T, command, record string) *catalog.Catalog {
	t.Helper()
	return load(t, write(t, fmt.Sprintf(`
server "office" {
  stdio {
    command = %q
    env     = { %s = %q }
  }
  tools = ["berth_status"]
}
agent "clerk" {
  names = "plain"
  tools = [server.office]
}
`, command, childEnv, record)))
}

// TestServerThatDies lets the server's process end in a call: that call is not made again, the next one finds a new process.
func TestServerThatDies(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(t.TempDir(), "record")
	cat := stdioCatalog(t, binary, record)
	g, err := New(Config{Catalog: cat, Lock: pin(t, cat, berthStatus), Agent: "clerk"})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	passed(t, g, "berth_status", "")
	_, err = g.Call(t.Context(), Request{Name: "berth_status", Arguments: []byte(`{"die":true}`)})
	var failed *UpstreamError
	if !errors.As(err, &failed) || failed.Code != -32603 || !failed.Delivered || failed.Message != "the upstream server's process ended; the call may have had effect" {
		t.Errorf("the call in which the server ended: %#v", err)
	}
	passed(t, g, "berth_status", "")
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	want := "server/discover tools/list tools/call tools/list tools/call server/discover tools/list tools/call"
	if got := strings.Join(strings.Fields(string(b)), " "); got != want {
		t.Errorf("the processes got %s\nwant %s", got, want)
	}
}

// TestServerThatDoesNotStart counts attempts: they are shared and spaced.
func TestServerThatDoesNotStart(t *testing.T) {
	cat := stdioCatalog(t, filepath.Join(t.TempDir(), "nowhere"), "x")
	attempts := make(chan struct{}, 1000)
	g, err := New(Config{
		Catalog: cat, Lock: pin(t, cat, berthStatus), Agent: "clerk",
		Approve: func(context.Context, *catalog.Server) error { attempts <- struct{}{}; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	start, calls := time.Now(), 0
	for time.Since(start) < 600*time.Millisecond || calls < 20 {
		if r := refused(t, g, "berth_status", ""); r.Reason != Unverified {
			t.Fatalf("refusal %v", r)
		}
		calls++
		time.Sleep(time.Millisecond)
	}
	// After 0, 100, 300, 700 ms and so on.
	most := 2 + bits.Len(uint(time.Since(start)/firstWait))
	if n := len(attempts); n < 2 || n > most {
		t.Errorf("%d attempts for %d calls in %v, want at most %d", n, calls, time.Since(start), most)
	}
}
