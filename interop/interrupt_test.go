//go:build unix

package interop

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestInterrupt sends SIGINT to commands that wait for a server: they end with 130, no child is left, and the lock is
// what it was.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, mode string
		stubborn   bool // the server ignores polite requests
		args       []string
	}{
		{"plan-discover", "silent", false, []string{"plan", "-contact=all", "-out=p.mcpplan"}},
		{"plan-list", "slow-list", false, []string{"plan", "-contact=all", "-out=p.mcpplan"}},
		{"plan-stubborn", "silent", true, []string{"plan", "-contact=all", "-out=p.mcpplan"}},
		{"verify", "silent", false, []string{"verify", "-contact=all"}},
		{"call", "slow-call", false, []string{"call", "server.slow.tool.first", "{}"}},
		{"call-list", "slow-list", false, []string{"call", "server.slow.tool.first", "{}"}},
		{"call-stubborn", "slow-call", true, []string{"call", "server.slow.tool.first", "{}"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, `
server "slow" {
  stdio {
    command = "slow"
  }
  tools = ["first", "second"]
}
`)
			// The command stays the same, so that the endpoint does; what is behind it is a script of this test.
			bin := t.TempDir()
			script := func(mode string) {
				stubborn := ""
				if c.stubborn {
					stubborn = "-stubborn"
				}
				text := fmt.Sprintf("#!/bin/sh\nexec '%s' -mode=%s -pid='%s' %s\n", program("odd"), mode, p.path("pids"), stubborn)
				if err := os.WriteFile(bin+"/slow", []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			command := func(args ...string) *exec.Cmd {
				cmd := p.command(args...)
				cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"))
				return cmd
			}
			script("ok")
			for _, args := range [][]string{{"plan", "-contact=all", "-out=first.mcpplan"}, {"apply", "first.mcpplan"}} {
				if o := finish(t, command(args...)); o.exit != 0 {
					t.Fatal(o)
				}
			}
			lock := p.locked(t)
			p.write(t, "pids", "")
			script(c.mode)

			var stdout, stderr bytes.Buffer
			cmd := command(c.args...)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the server runs", func() bool { return bytes.HasSuffix(p.read(t, "pids"), []byte("\n")) })
			time.Sleep(200 * time.Millisecond) // let the request that is never answered arrive
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			sent := time.Now()
			o := ended(t, cmd, &stdout, &stderr)
			if o.exit != 130 {
				t.Errorf("want exit status 130: %v", o)
			}
			if took := time.Since(sent); took > 15*time.Second {
				t.Errorf("the command ended %v after SIGINT", took)
			}
			for _, line := range strings.Fields(string(p.read(t, "pids"))) {
				pid, err := strconv.Atoi(line)
				if err != nil {
					t.Fatal(err)
				}
				if alive(pid) {
					t.Errorf("server process %d is left", pid)
				}
			}
			if p.locked(t) != lock {
				t.Error("lock or mirror differ from before")
			}
			if b := p.read(t, "p.mcpplan"); b != nil {
				t.Error("an interrupted plan was saved")
			}
		})
	}
}

// TestServeLeavesNoChild ends mcpcat serve in two ways; the upstream process ends with it.
func TestServeLeavesNoChild(t *testing.T) {
	t.Parallel()
	pinned := func(t *testing.T) *place {
		p := newPlace(t, strings.Replace(goodServer, `"-mode=ok"`, `"-mode=ok", "-pid=pids", "-stubborn"`, 1))
		p.pin(t)
		p.write(t, "pids", "")
		return p
	}
	serveBoth(t, pinned, "reader", func(t *testing.T, p *place, s served) {
		if len(listed(t, s.session)) != 2 {
			t.Error("want two tools")
		}
		if code := rpcCode(s.session.CallTool(within(t), callFirst)); code != 0 {
			t.Errorf("code %d", code)
		}
		pids := strings.Fields(string(p.read(t, "pids")))
		if len(pids) == 0 {
			t.Fatal("no server was started")
		}
		s.stop()
		for _, line := range pids {
			pid, err := strconv.Atoi(line)
			if err != nil {
				t.Fatal(err)
			}
			if alive(pid) {
				t.Errorf("server process %d is left", pid)
			}
		}
	})
}

// TestInterruptedApply kills or interrupts apply at many points: the lock is absent, or whole.
func TestInterruptedApply(t *testing.T) {
	t.Parallel()
	p := newPlace(t, goodServer)
	p.must(t, 0, "plan", "-contact=all", "-out=p.mcpplan")
	whole := newPlace(t, goodServer)
	whole.write(t, "p.mcpplan", string(p.read(t, "p.mcpplan")))
	took := time.Now()
	whole.must(t, 0, "apply", "p.mcpplan")
	length := time.Since(took)
	want := whole.locked(t)

	const rounds = 24
	var absent, present int
	for i := range rounds {
		q := newPlace(t, goodServer)
		q.write(t, "p.mcpplan", string(p.read(t, "p.mcpplan")))
		var stdout, stderr bytes.Buffer
		cmd := q.command("apply", "p.mcpplan")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(length/2 + length*time.Duration(i)/rounds) // what is written is written near the end
		signal := os.Interrupt
		if i%2 == 1 {
			signal = os.Kill
		}
		cmd.Process.Signal(signal) // it may have ended by itself
		o := ended(t, cmd, &stdout, &stderr)
		switch got := q.locked(t)[0]; got {
		case "":
			absent++
			if o.exit == 0 {
				t.Errorf("round %d: no lock after success: %v", i, o)
			}
		case want[0]:
			present++
		default:
			t.Errorf("round %d: the lock is neither absent nor whole: %v", i, o)
		}
		// Whatever was left, the next apply needs no help.
		if o := q.run(t, "apply", "p.mcpplan"); o.exit != 0 && o.exit != 7 {
			t.Errorf("round %d: the next apply: %v", i, o)
		}
		if got := q.locked(t)[0]; got != want[0] {
			t.Errorf("round %d: the lock is not the whole one after the next apply", i)
		}
	}
	t.Logf("of %d rounds %d ended without and %d with a lock", rounds, absent, present)
}
