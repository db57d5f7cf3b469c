//go:build unix

package gate

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
)

// TestProgramThatIsAnother: a program with another digest than the pinned one is not started, and the calls say identity.
func TestProgramThatIsAnother(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	good := digest.Digest(sha256.Sum256(b)).String()
	for want, pass := range map[string]bool{good: true, "sha256:" + strings.Repeat("0", 64): false} {
		record := filepath.Join(t.TempDir(), "record")
		text := "server \"office\" {\n stdio {\n command = \"" + binary + "\"\n sha256 = \"" + want + "\"\n env = { " + childEnv + " = \"" + record + "\" }\n }\n tools = [\"berth_status\"]\n}\n" +
			"agent \"clerk\" {\n names = \"plain\"\n tools = [server.office]\n}\n"
		cat := load(t, write(t, text))
		g, err := New(Config{Catalog: cat, Lock: pin(t, cat, berthStatus), Agent: "clerk"})
		if err != nil {
			t.Fatal(err)
		}
		if pass {
			passed(t, g, "berth_status", "")
		} else {
			for range 2 { // the second without an attempt
				if r := refused(t, g, "berth_status", ""); r.Reason != Identity || !strings.Contains(r.Error(), good) || !strings.Contains(r.Error(), want) {
					t.Errorf("refusal %v", r)
				}
			}
			if _, err := os.Stat(record); err == nil {
				t.Error("it was started")
			}
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestServerThatIsAnother: a server that calls itself otherwise than expect says is not called.
func TestServerThatIsAnother(t *testing.T) {
	o := newOffice(t, berthStatus)
	for lines, pass := range map[string]bool{`name = "office"`: true, `version = "~> 1.0"`: true, `name = "customs"`: false, `version = ">= 2.0"`: false} {
		text := o.catalogText("", "berth_status")
		text = strings.Replace(text, "  tools = [", "  expect {\n    "+lines+"\n  }\n  tools = [", 1)
		dir := write(t, text)
		writeLock(t, dir, pin(t, load(t, dir), berthStatus))
		g := opened(t, Options{Dir: dir, Agent: "clerk"})
		before := len(o.calls())
		if pass {
			passed(t, g, "berth_status", "")
			continue
		}
		if r := refused(t, g, "berth_status", ""); r.Reason != Identity || !strings.Contains(r.Error(), `"office"`) && !strings.Contains(r.Error(), `"1"`) {
			t.Errorf("%s: refusal %v", lines, r)
		}
		if len(o.calls()) != before {
			t.Errorf("%s: it was called", lines)
		}
	}
}
