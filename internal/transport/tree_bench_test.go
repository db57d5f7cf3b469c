//go:build linux

package transport

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpcat-dev/mcpcat/internal/procs"
	"github.com/mcpcat-dev/mcpcat/internal/procs/procstest"
)

// roundKinds are what a server leaves in a round: a plain helper, one in its own session, one that is daemonised.
var roundKinds = []string{procstest.Plain, procstest.Setsid, procstest.Daemon}

// round starts a server, has it start its helpers by a call, and returns it with their token.
func round(t testing.TB, dir string, kinds ...string) (s *Stdio, token string) {
	t.Helper()
	token = fmt.Sprintf("r%d.%d", os.Getpid(), tokens.Add(1))
	s, err := StartStdio(t.Context(), childConfig(t, strings.Join([]string{"descendants", token, filepath.Join(dir, token), strings.Join(kinds, ",")}, ":")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Do(t.Context(), call(1, "server/discover")); err != nil {
		t.Fatal(err)
	}
	return s, token
}

// TestHundredRoundsLeaveNothing: start, call, Close, again and again.
func TestHundredRoundsLeaveNothing(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	dir := t.TempDir()
	survivors := 0
	for range rounds {
		s, token := round(t, dir, roundKinds...)
		if alive, _ := procstest.Find(token); len(alive) != len(roundKinds) {
			t.Errorf("helpers before Close: %q", alive)
		}
		s.Close()
		alive, _ := procstest.Find(token)
		survivors += len(alive)
		procstest.End(token)
	}
	if survivors > 0 {
		t.Errorf("%d helpers have survived %d rounds", survivors, rounds)
	}
}

// BenchmarkClose measures Close of a server that has left helpers, beside what a program does that was told their
// numbers: it closes the server's stdin, waits for it, kills the three and waits until they are gone. Nothing may survive.
func BenchmarkClose(b *testing.B) {
	for _, kinds := range [][]string{nil, roundKinds} {
		b.Run(fmt.Sprintf("%d helpers", len(kinds)), func(b *testing.B) { benchmarkClose(b, kinds) })
	}
}

func benchmarkClose(b *testing.B, kinds []string) {
	dir := b.TempDir()
	var took [2][]time.Duration
	survivors := 0
	for b.Loop() {
		raw, token := rawRound(b, dir, kinds)
		begin := time.Now()
		raw.end(b)
		took[0] = append(took[0], time.Since(begin))
		survivors += count(token)

		role := "serve"
		if len(kinds) > 0 {
			s, token := round(b, dir, kinds...)
			begin = time.Now()
			s.Close()
			took[1] = append(took[1], time.Since(begin))
			survivors += count(token)
			continue
		}
		s, err := StartStdio(b.Context(), childConfig(b, role))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Do(b.Context(), call(1, "server/discover")); err != nil {
			b.Fatal(err)
		}
		begin = time.Now()
		s.Close()
		took[1] = append(took[1], time.Since(begin))
	}
	if survivors > 0 {
		b.Errorf("%d helpers have survived %d rounds", survivors, b.N)
	}
	for i, name := range []string{"raw-", ""} {
		slices.Sort(took[i])
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
		b.ReportMetric(ms(took[i][len(took[i])/2]), name+"p50-ms")
		b.ReportMetric(ms(took[i][len(took[i])*9/10]), name+"p90-ms")
	}
	b.ReportMetric(float64(took[1][len(took[1])/2])/float64(took[0][len(took[0])/2]), "p50-ratio")
	b.ReportMetric(0, "ns/op") // the whole round, most of which is the start
}

func count(token string) int {
	alive, _ := procstest.Find(token)
	return len(alive)
}

// rawTree is a server and the helpers whose numbers are known.
type rawTree struct {
	raw     *rawStdio
	helpers []procs.Process
}

func rawRound(b *testing.B, dir string, kinds []string) (r *rawTree, token string) {
	token = fmt.Sprintf("r%d.%d", os.Getpid(), tokens.Add(1))
	list := filepath.Join(dir, token)
	c := childConfig(b, "serve")
	if len(kinds) > 0 {
		c = childConfig(b, strings.Join([]string{"descendants", token, list, strings.Join(kinds, ",")}, ":"))
	}
	r = &rawTree{raw: startRaw(b, c)}
	if err := r.raw.call(); err != nil {
		b.Fatal(err)
	}
	if len(kinds) == 0 {
		return r, token
	}
	text, err := os.ReadFile(list)
	if err != nil {
		b.Fatal(err)
	}
	for _, line := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(line)
		if err != nil {
			b.Fatal(err)
		}
		p, ok := procs.Look(pid)
		if !ok {
			b.Fatalf("helper %d is not there", pid)
		}
		r.helpers = append(r.helpers, p)
	}
	return r, token
}

func (r *rawTree) end(b *testing.B) {
	r.raw.w.Close()
	if err := r.raw.cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	for _, p := range r.helpers {
		if err := syscall.Kill(p.PID, unix.SIGKILL); err != nil {
			b.Fatal(err)
		}
	}
	procs.AwaitEnd(r.helpers, time.Second)
	r.raw.out.Close()
}
