//go:build unix

package client

import (
	"encoding/json"
	"os/exec"
	"slices"
	"testing"
)

// TestHarbour uses a server of the Go SDK that keeps no sessions, so that structured content is checked over both transports.
func TestHarbour(t *testing.T) {
	t.Parallel()
	path := program("go-sdk/harbour")
	peers := []peer{overStdio(path), overHTTP("http://" + announced(t, exec.Command(path, "-http=127.0.0.1:0")))}
	each(t, peers, func(t *testing.T, p peer) {
		d := newDesk(t, p.connect(t))
		if d.tool(t, "list_berths").OutputSchema == nil {
			t.Fatal("list_berths has no outputSchema")
		}
		result := d.call(t, "list_berths", `{}`)
		var got struct{ Berths []json.RawMessage }
		if err := json.Unmarshal(result.StructuredContent, &got); err != nil || len(got.Berths) == 0 {
			t.Errorf("list_berths: got %s, %v", result.StructuredContent, err)
		}
		d.fails(t, "log_arrival", `{"ship":"Aino","berth":"A2"}`, "")
		if !slices.Contains(names(d.tools.Tools), "tide_table") {
			t.Errorf("got tools %q", names(d.tools.Tools))
		}
	})
}
