package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpcat-dev/mcpcat/internal/procs"
	"github.com/mcpcat-dev/mcpcat/internal/procs/procstest"
)

// survivors counts the living processes that carry the mark of a tree or belonged to it when it was last looked at.
func survivors(t *tree) int { return len(t.members().living) }

var tokens atomic.Int64

// family starts a server in the role that has started helpers of the kinds, all of which are there. Their token finds
// them.
func family(t testing.TB, role string, kinds ...string) (s *Stdio, token string) {
	t.Helper()
	token = fmt.Sprintf("t%d.%d", os.Getpid(), tokens.Add(1))
	c := childConfig(t, strings.Join([]string{role, token, filepath.Join(t.TempDir(), "list"), strings.Join(kinds, ",")}, ":"))
	c.Grace = 5 * time.Second // for a machine that is busy; what ends by itself does not need it
	s = startChild(t, c)
	if _, err := s.Do(t.Context(), call(1, "server/discover")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { procstest.End(token) })
	if alive, _ := procstest.Find(token); len(alive) != procstest.Count(kinds...) {
		t.Fatalf("helpers before the end: %q, want %q", alive, kinds)
	}
	return s, token
}

// gone fails unless nothing named token is alive. Zombies count where this process has to reap them; elsewhere that is
// for the first process of the machine.
func gone(t testing.TB, token string, zombiesToo bool) {
	t.Helper()
	alive, zombies := procstest.Find(token)
	if len(alive) > 0 {
		t.Errorf("alive after the end: %q", alive)
	}
	if zombiesToo && len(zombies) > 0 {
		t.Errorf("zombies after the end: %q", zombies)
	}
}

// adopting makes this process a subreaper for the test, as a host of the library may be.
func adopting(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
}

// ends are the ways in which a server ends. Each returns when nothing may be left.
var ends = map[string]struct {
	role   string
	end    func(s *Stdio)
	status string // or statuses, with a bar between them
}{
	"close":               {"descendants", func(s *Stdio) { s.Close() }, "exit status 0"},
	"close of a stubborn": {"descendants-stubborn", func(s *Stdio) { s.proc.grace = 50 * time.Millisecond; s.Close() }, "signal: killed"},
	"killed from outside": {"descendants", func(s *Stdio) { _ = s.proc.cmd.Process.Kill(); <-s.stopped }, "signal: killed"},
	"stopped": {"descendants", func(s *Stdio) {
		_ = s.proc.cmd.Process.Signal(syscall.SIGSTOP)
		for range 1000 { // until no thread of it runs any more, or it would read the end of its input
			if allStopped(s.proc.cmd.Process.Pid) {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		s.proc.grace = 50 * time.Millisecond
		s.Close()
		// Continued, it has both a signal to die of and the end of its input to read, on different threads.
	}, "signal: terminated|exit status 0"},
}

// allStopped reports whether every thread of a process is stopped; that of the process alone says nothing of the others.
func allStopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, t := range threads {
		stat, _ := os.ReadFile(t) // a thread that has gone runs no more
		if _, rest, ok := bytes.Cut(stat, []byte(") ")); ok && !bytes.HasPrefix(rest, []byte("T")) {
			return false
		}
	}
	return err == nil && len(threads) > 0
}

// modelcontextprotocol/typescript-sdk#2023, #2024 and #2596: what a server had started lived on after Close.
func TestNothingOfATreeIsLeft(t *testing.T) {
	for _, host := range []string{"plain host", "subreaper"} {
		t.Run(host, func(t *testing.T) {
			if host == "subreaper" {
				adopting(t)
			}
			for name, e := range ends {
				t.Run(name, func(t *testing.T) {
					kinds := []string{procstest.Plain, procstest.Setsid, procstest.Daemon, procstest.Stubborn}
					if name == "close" {
						kinds = append(kinds, procstest.Brood, procstest.Relay)
					}
					s, token := family(t, e.role, kinds...)
					fds := descriptors(t)
					e.end(s)
					gone(t, token, host == "subreaper")
					if got, _ := s.proc.status(); !slices.Contains(strings.Split(e.status, "|"), got) {
						t.Errorf("the server ended with %q, want %q", got, e.status)
					}
					if left := descriptors(t); len(left) >= len(fds) {
						t.Errorf("open files before and after the end: %q, %q", fds, left)
					}
				})
			}
		})
	}
}

func descriptors(t *testing.T) []string {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var fds []string
	for _, n := range names {
		to, err := os.Readlink("/proc/self/fd/" + n.Name())
		if err == nil {
			fds = append(fds, to)
		}
	}
	return fds
}

func TestOtherServersHelpersStay(t *testing.T) {
	for _, host := range []string{"plain host", "subreaper"} {
		t.Run(host, func(t *testing.T) {
			if host == "subreaper" {
				adopting(t)
			}
			kinds := []string{procstest.Plain, procstest.Setsid, procstest.Daemon, procstest.Cleared}
			a, mine := family(t, "descendants", kinds...)
			b, theirs := family(t, "descendants", kinds...)
			find := func() (pids []string) {
				alive, _ := procstest.Find(theirs)
				for _, found := range alive {
					pids = append(pids, strings.Fields(found)[0]) // the rest changes by exec
				}
				return pids
			}
			want := find()
			a.Close()
			if got := find(); !slices.Equal(got, want) || len(got) != len(kinds) {
				t.Errorf("helpers of the other server: %q, want %q", got, want)
			}
			// What has left nothing to be known by is not guessed at: it may be the other server's.
			if got, _ := procstest.Find(mine); len(got) != 1 {
				t.Errorf("helpers of the closed server: %q, want the one with an empty environment alone", got)
			}
			b.Close()
		})
	}
}

// TestSeenOnceFoundAgain: a helper with an empty environment that was seen before it lost its parent is found.
func TestSeenOnceFoundAgain(t *testing.T) {
	s := startChild(t, StdioConfig{
		Command: "sh",
		Args:    []string{"-c", `setsid env -i sleep 100 & read x; exit 0`},
		Env:     []string{"PATH=" + os.Getenv("PATH")},
	})
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		var sleeper int
		for _, p := range s.proc.tree.members().living {
			if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.PID)); string(name) == "sleep\n" && p.Session != s.proc.tree.session {
				sleeper = p.PID
			}
		}
		if sleeper != 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the sleeper did not come")
		}
	}
	s.Close()
	if n := survivors(s.proc.tree); n != 0 {
		t.Errorf("%d processes are alive", n)
	}
}

// TestJudge decides on tables of processes that are hard to bring about. The host is 10, its session 9; the leader is 100;
// 200 leads another server's tree.
func TestJudge(t *testing.T) {
	leader := procs.Process{PID: 100, Parent: 10, Group: 100, Session: 9, Begun: 50}
	other := procs.Process{PID: 200, Parent: 10, Group: 200, Session: 9, Begun: 60}
	process := func(pid, parent, group, session int) procs.Process {
		return procs.Process{PID: pid, Parent: parent, Group: group, Session: session, Begun: 70}
	}
	tests := []struct {
		name   string
		all    []procs.Process
		marked []int
		seen   map[int]uint64
		sole   bool
		over   bool
		want   []int
	}{
		{name: "a child and its child", all: []procs.Process{process(101, 100, 101, 101), process(102, 101, 102, 102)}, want: []int{101, 102}},
		{name: "listed before its parent, after the numbers have begun anew", all: []procs.Process{process(5, 101, 5, 5), process(101, 100, 101, 101)}, want: []int{5, 101}},
		{name: "the leader's group", all: []procs.Process{process(101, 1, 100, 9)}, want: []int{101}},
		{name: "a group of that number, once the leader is gone", all: []procs.Process{process(101, 1, 100, 9)}, over: true},
		{name: "the group of a member", all: []procs.Process{process(101, 100, 101, 9), process(102, 1, 101, 9)}, want: []int{101, 102}},
		{name: "a session that a member has made", all: []procs.Process{process(101, 100, 101, 101), process(102, 1, 102, 101)}, want: []int{101, 102}},
		{name: "the session of a marked orphan, whose leader has ended", all: []procs.Process{process(102, 1, 102, 101), process(103, 1, 103, 101)}, marked: []int{102}, want: []int{102, 103}},
		{name: "the host's session is nobody's", all: []procs.Process{process(101, 100, 101, 9), process(102, 1, 102, 9)}, want: []int{101}},
		{name: "marked, and what it has started", all: []procs.Process{process(101, 1, 101, 101), process(102, 101, 102, 102)}, marked: []int{101}, want: []int{101, 102}},
		{name: "seen before", all: []procs.Process{process(101, 1, 101, 101)}, seen: map[int]uint64{101: 70}, want: []int{101}},
		{name: "another one of a number that was seen", all: []procs.Process{process(101, 1, 101, 101)}, seen: map[int]uint64{101: 69}},
		{name: "adopted", all: []procs.Process{process(101, 10, 101, 101)}},
		{name: "adopted, and it can be of this tree only", all: []procs.Process{process(101, 10, 101, 101), process(102, 101, 101, 101)}, sole: true, want: []int{101, 102}},
		{name: "another server's", all: []procs.Process{process(201, 200, 200, 9), process(202, 200, 202, 202), process(203, 1, 203, 203)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := &tree{pid: 100, begun: 50, session: 9, seen: map[int]uint64{}, blank: map[int]uint64{}, over: tt.over}
			if tt.seen != nil {
				tr.seen = tt.seen
			}
			all := append([]procs.Process{{PID: 10, Parent: 1, Group: 9, Session: 9, Begun: 50}}, tt.all...)
			if !tt.over {
				all = append(all, leader)
			}
			if !tt.sole {
				all = append(all, other)
			}
			now := tr.judge(all, 10, tt.sole, func(pid int) sign {
				if slices.Contains(tt.marked, pid) {
					return marked
				}
				return unmarked
			})
			var got []int
			for _, p := range now.living {
				if p.PID != 100 {
					got = append(got, p.PID)
				}
			}
			if !slices.Equal(got, tt.want) || !now.whole {
				t.Errorf("members besides the leader: %v, want %v; %+v", got, tt.want, now)
			}
		})
	}
}

// TestExecsAreWaitedFor: a process in the middle of an exec shows no environment, and is not taken for a stranger then.
func TestExecsAreWaitedFor(t *testing.T) {
	tr := &tree{pid: 100, begun: 50, session: 9, seen: map[int]uint64{}, blank: map[int]uint64{}}
	all := []procs.Process{{PID: 101, Parent: 1, Group: 101, Session: 101, Begun: 70}}
	for i, step := range []struct {
		shows   sign
		whole   bool
		members int
	}{{early, false, 0}, {early, false, 0}, {blank, false, 0}, {blank, true, 0}, {early, false, 0}, {marked, true, 1}, {unmarked, true, 1}} {
		now := tr.judge(all, 10, false, func(int) sign { return step.shows })
		if now.whole != step.whole || len(now.living) != step.members {
			t.Errorf("look %d, which shows %v: %+v, want %v and %d members", i, step.shows, now, step.whole, step.members)
		}
	}
}

func TestMarks(t *testing.T) {
	outer := strings.Repeat("0a", markBytes)
	for _, tt := range []struct{ inherited, front string }{
		{"", ""},
		{outer, outer + ":"},
		{outer + ":" + outer, outer + ":" + outer + ":"},
		{strings.Repeat(outer+":", 20) + outer, strings.Repeat(outer+":", markDepth-1)},
		{"x", ""},
		{outer + ":../../x", ""},
	} {
		t.Setenv(markName, tt.inherited)
		mark, env := newMark([]string{"A=b", markName + "=of the caller", markName + "S=c"})
		if want := []string{markName + "=" + tt.front + mark, "A=b", markName + "S=c"}; !slices.Equal(env, want) {
			t.Errorf("inside %q: %q, want %q", tt.inherited, env, want)
		}
	}
}

func TestMarkedProcesses(t *testing.T) {
	mark := strings.Repeat("0a", markBytes)
	other := strings.Repeat("0b", markBytes)
	long := "LONG=" + strings.Repeat("x", 100_000)
	for _, tt := range []struct {
		env  []string
		want sign
	}{
		{[]string{markName + "=" + mark}, marked},
		{[]string{"A=b", long, markName + "=" + other + ":" + mark + ":" + other, "C=d"}, marked},
		{[]string{markName + "=" + other}, unmarked},
		{[]string{"X" + markName + "=" + mark, "A=" + markName + "=" + mark, markName + "=" + mark + "0"}, unmarked},
		{[]string{}, blank},
	} {
		c := exec.Command("sleep", "100")
		c.Env = tt.env
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		pid := c.Process.Pid
		got := signOf(pid, mark)
		for end := time.Now().Add(5 * time.Second); (got == early || got == blank && tt.want != blank) && time.Now().Before(end); time.Sleep(time.Millisecond) {
			got = signOf(pid, mark) // Start returns in the middle of the exec
		}
		if got != tt.want {
			t.Errorf("%.100q: %v, want %v", tt.env, got, tt.want)
		}
		_ = c.Process.Kill()
		_ = c.Wait()
		if got := signOf(pid, mark); got != unmarked {
			t.Errorf("after its end: %v", got)
		}
	}
}

func TestEnvironmentEnd(t *testing.T) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	if end := environmentEnd(stat); end == "" || end == "0" {
		t.Errorf("of this process: %q, want a number", end)
	}
	// As it is in the middle of an exec: everything behind the start of the stack is not known yet.
	begun := "7 (a) b) R 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 77 1 1 1 1 1 1 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 5 6 7 8 9 10 %s 0\n"
	for _, end := range []string{"0", "140721"} {
		if got := environmentEnd(fmt.Appendf(nil, begun, end)); got != end {
			t.Errorf("environmentEnd = %q, want %q", got, end)
		}
	}
	if got := environmentEnd([]byte("7 (a) R 1")); got != "" {
		t.Errorf("of an older kernel: %q", got)
	}
}

// TestOtherUsersProcessHoldsNothingUp: what may not be killed is not waited for.
func TestOtherUsersProcessHoldsNothingUp(t *testing.T) {
	const nobody = 65534
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be two users")
	}
	theirs := exec.Command("sleep", "100")
	if err := theirs.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = theirs.Process.Kill(); _ = theirs.Wait() }()
	// The directory of the test binary is closed to others.
	dir, err := os.MkdirTemp("", "mcpcat")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program, err := os.ReadFile(os.Args[0])
	err = errors.Join(err, os.Chmod(dir, 0o755), os.WriteFile(filepath.Join(dir, "test"), program, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(filepath.Join(dir, "test"))
	c.Dir = dir
	c.Env = append(os.Environ(), fmt.Sprintf("%s=outsider:%d", childVar, theirs.Process.Pid))
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func outsider(arg string) error {
	pid, err := strconv.Atoi(arg)
	if err != nil {
		return err
	}
	p, ok := procs.Look(pid)
	if err := p.Signal(0); !ok || !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("signal = %v, %v, want EPERM", ok, err)
	}
	tr := &tree{child: &procs.Child{}, seen: map[int]uint64{pid: p.Begun}, blank: map[int]uint64{}, over: true}
	begin := time.Now()
	now := tr.end()
	if took := time.Since(begin); len(now.living) != 1 || took >= sweepTime {
		return fmt.Errorf("after %v: %+v, want one process that lives on, and no wait for it", took, now)
	}
	return nil
}

// TestCloseOfAProcessThatStays: nothing that a process does not do holds Close for ever: it does not end when it is
// killed, and lets go of none of its pipes.
func TestCloseOfAProcessThatStays(t *testing.T) {
	p := &process{
		child: &procs.Child{}, grace: 50 * time.Millisecond, exited: make(chan struct{}), abandoned: make(chan struct{}),
		tree: &tree{child: &procs.Child{}, begun: 1 << 62, seen: map[int]uint64{}, blank: map[int]uint64{}, over: true},
	}
	var theirs [3]*os.File
	var err error
	for i, ours := range []**os.File{&p.stdin, &p.stdout, &p.stderr} {
		r, w, pipeErr := os.Pipe()
		err = errors.Join(err, pipeErr)
		if *ours, theirs[i] = r, w; i == 0 {
			*ours, theirs[i] = w, r
		}
		defer theirs[i].Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	s := attach(p, StdioConfig{}, Limits{}.withDefaults())
	waiting := make(chan error, 1)
	go func() { _, err := s.Do(context.Background(), call(1, "tools/call")); waiting <- err }()
	closed := make(chan struct{})
	go func() { s.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Fatal("Close has not returned after 10s")
	}
	if err := <-waiting; !errors.Is(err, ErrClosed) {
		t.Errorf("Do = %v, want ErrClosed", err)
	}
}

// TestCloseOfWhatCannotBeKilled: a process that the kernel does not let go holds Close for its time only. The old freezer
// makes one: what is frozen dies when it is thawed.
func TestCloseOfWhatCannotBeKilled(t *testing.T) {
	dir := fmt.Sprintf("/sys/fs/cgroup/freezer/mcpcat-test-%d", os.Getpid())
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Skip("needs the freezer of control groups, version 1, and the right to use it: ", err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0); err != nil {
			t.Error(err)
		}
	}
	s, token := family(t, "descendants", procstest.Plain, procstest.Daemon)
	pid := s.proc.cmd.Process.Pid
	defer func() {
		write("freezer.state", "THAWED")
		<-s.proc.exited
		procstest.End(token)
		for end := time.Now().Add(5 * time.Second); os.Remove(dir) != nil && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
	}()
	write("cgroup.procs", fmt.Sprint(pid))
	write("freezer.state", "FROZEN")
	s.proc.grace = 50 * time.Millisecond
	waiting := make(chan error, 1)
	go func() { _, err := s.Do(context.Background(), call(2, "tools/call")); waiting <- err }()
	begin := time.Now()
	s.Close()
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("Close took %v", took)
	}
	if err := <-waiting; !errors.Is(err, ErrClosed) {
		t.Errorf("Do = %v, want ErrClosed", err)
	}
	if !alive(pid) {
		t.Error("the process ended: it was not frozen")
	}
	gone(t, token, false) // its helpers were not frozen
}
