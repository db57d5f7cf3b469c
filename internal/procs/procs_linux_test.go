package procs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// roleVar makes the test binary a program that adopts; its value says which one.
const roleVar = "MCPCAT_PROCS_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		if err := roles[role](); err != nil {
			fmt.Println("FAIL", role, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// roles are programs of their own, because adopting changes the whole process.
var roles = map[string]func() error{
	"statuses": statuses,
	"before":   before,
	"sole":     sole,
	"ending":   ending,
}

func TestRoles(t *testing.T) {
	for role := range roles {
		t.Run(role, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			line := `exec "$0"`
			if role == "before" { // a shell that has a child becomes the program
				line = `sleep 100 & exec "$0"`
			}
			c := exec.CommandContext(ctx, "sh", "-c", line, os.Args[0])
			c.Env = append(os.Environ(), roleVar+"="+role, "GORACE=atexit_sleep_ms=0")
			c.WaitDelay = time.Second
			out, err := c.CombinedOutput()
			if err != nil && !errors.Is(err, exec.ErrWaitDelay) { // the sleeper has the output
				t.Errorf("%v\n%s", err, out)
			}
			for _, pid := range strings.Fields(string(out)) {
				if n, err := strconv.Atoi(pid); err == nil {
					_ = unix.Kill(n, unix.SIGKILL)
				}
			}
		})
	}
}

// run starts a command as a server is started, waits for it and returns its exit status.
func run(c *exec.Cmd) (int, error) {
	child, err := Start(func() (int, error) {
		if err := c.Start(); err != nil {
			return 0, err
		}
		return c.Process.Pid, nil
	})
	if err != nil {
		return 0, err
	}
	if c.Stdin != nil { // time for the reaper to take what is not its own
		time.Sleep(5 * time.Millisecond)
	}
	err = child.Wait(c.Wait)
	if c.ProcessState == nil {
		return 0, err
	}
	return c.ProcessState.ExitCode(), nil
}

// statuses starts many children while many orphans end: each child's exit status arrives, and no orphan stays a zombie.
func statuses() error {
	orphans, err := Adopt()
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make(chan error, 100)
	for i := range 8 {
		wg.Go(func() {
			for n := range 15 {
				want := 1 + (i*15+n)%100
				// The shell leaves two orphans: one has ended by then or soon after, one ends some milliseconds later.
				c := exec.Command("sh", "-c", `(true & sleep 0.01 &) ; exit `+strconv.Itoa(want))
				if n%3 == 0 {
					c.Stdin = os.Stdin
				}
				if got, err := run(c); err != nil || got != want {
					errs <- fmt.Errorf("exit status %d (%v), want %d", got, err, want)
					return
				}
				if _, err := run(exec.Command("/no/such/program")); err == nil {
					errs <- errors.New("a program that is not there was started")
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
	}
	for end := time.Now().Add(5 * time.Second); Any(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("children are left: orphans that nobody reaps")
		}
	}
	if left := orphans.Sweep(time.Second); left != 0 {
		return fmt.Errorf("%d left", left)
	}
	return nil
}

// before has a child from before it adopts, which is not swept.
func before() error {
	if !Any() {
		return errors.New("the shell has left no child")
	}
	orphans, err := Adopt()
	if err != nil {
		return err
	}
	if status, err := run(exec.Command("sh", "-c", "setsid sleep 100 &")); err != nil || status != 0 {
		return fmt.Errorf("status %d, %w", status, err)
	}
	children := func() (pids []int, err error) {
		all, _, err := Since(0)
		for _, p := range all {
			if p.Parent == os.Getpid() {
				pids = append(pids, p.PID)
			}
		}
		return pids, err
	}
	if pids, err := children(); err != nil || len(pids) != 2 {
		return fmt.Errorf("children before the sweep: %v (%w), want two", pids, err)
	}
	if left := orphans.Sweep(5 * time.Second); left != 0 {
		return fmt.Errorf("%d left", left)
	}
	pids, err := children()
	if err != nil || len(pids) != 1 {
		return fmt.Errorf("children after the sweep: %v (%w), want the one from before", pids, err)
	}
	fmt.Println(pids[0]) // for the test to end it
	return nil
}

// sole starts children of which each is the only one, or is not.
func sole() error {
	if _, err := Adopt(); err != nil {
		return err
	}
	start := func() (*exec.Cmd, *Child, error) {
		c := exec.Command("sleep", "100")
		child, err := Start(func() (int, error) {
			if err := c.Start(); err != nil {
				return 0, err
			}
			return c.Process.Pid, nil
		})
		return c, child, err
	}
	end := func(c *exec.Cmd, child *Child) {
		_ = c.Process.Kill()
		_ = child.Wait(c.Wait)
	}
	one, err := begin()
	two, err2 := begin() // while the other is being started
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	if children.starting = 0; one.Sole() || two.Sole() {
		return errors.New("one of two children that are being started is the only one")
	}
	c1, first, err := start()
	if err != nil {
		return err
	}
	if !first.Sole() {
		return errors.New("the only child is not the only one")
	}
	c2, second, err := start()
	if err != nil {
		return err
	}
	if first.Sole() || second.Sole() {
		return errors.New("one of two children is the only one")
	}
	end(c1, first)
	if second.Sole() {
		return errors.New("a child is the only one although the other may have left something")
	}
	end(c2, second)
	c3, third, err := start()
	if err != nil {
		return err
	}
	if !third.Sole() || second.Sole() {
		return errors.New("the next child, after nothing was left, is not the only one")
	}
	// What it leaves may not be taken for the next one's.
	if err := exec.Command("sh", "-c", "sleep 100 &").Run(); err != nil {
		return err
	}
	end(c3, third)
	c4, fourth, err := start()
	if err != nil {
		return err
	}
	if fourth.Sole() {
		return errors.New("a child is the only one although an orphan is left")
	}
	end(c4, fourth)
	all, _, err := Since(0)
	for _, p := range all {
		if p.Parent == os.Getpid() {
			fmt.Println(p.PID)
		}
	}
	return err
}

// ending sweeps while children run and others are being started.
func ending() error {
	orphans, err := Adopt()
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	refused := make(chan error, 4)
	for range cap(refused) {
		wg.Go(func() {
			for {
				if _, err := run(exec.Command("sh", "-c", "trap '' TERM; (setsid sleep 100 &); sleep 0.01")); err != nil {
					refused <- err
					return
				}
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	if left := orphans.Sweep(5 * time.Second); left != 0 {
		return fmt.Errorf("%d left", left)
	}
	wg.Wait()
	for range cap(refused) {
		if err := <-refused; !errors.Is(err, ErrEnding) {
			return fmt.Errorf("a start during the end: %w", err)
		}
	}
	if Any() {
		return errors.New("a child is left")
	}
	return nil
}

func TestSince(t *testing.T) {
	me, ok := Look(os.Getpid())
	if !ok || me.Parent != os.Getppid() || me.Dead {
		t.Fatalf("Look = %+v, %v", me, ok)
	}
	// With the directory remembered, and a child that comes and goes again and again.
	for range 20 {
		c := exec.Command("sleep", "100")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		before := Now()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		pid := c.Process.Pid
		find := func() (found Process, ok bool) {
			list, _, err := Since(me.Begun)
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range list {
				if i > 0 && list[i-1].PID >= p.PID {
					t.Errorf("%d before %d", list[i-1].PID, p.PID)
				}
				if p.Begun < me.Begun || p.PID == 2 {
					t.Errorf("%+v is older than %d, or a thread of the kernel", p, me.Begun)
				}
				if p.PID == pid {
					found, ok = p, true
				}
			}
			return found, ok
		}
		p, ok := find()
		if want := (Process{PID: pid, Parent: os.Getpid(), Group: pid, Session: pid, Begun: p.Begun}); !ok || p != want {
			t.Fatalf("the child is %+v, %v, want %+v", p, ok, want)
		}
		if after := Now(); p.Begun < before || p.Begun > after {
			t.Errorf("the child began at %d, want from %d to %d", p.Begun, before, after)
		}
		if err := p.Signal(unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		AwaitEnd([]Process{p}, 5*time.Second)
		if p, ok := find(); !ok || !p.Dead {
			t.Errorf("killed it is %+v, %v, want a zombie", p, ok)
		}
		_ = c.Wait()
		if p, ok := find(); ok {
			t.Errorf("after Wait it is %+v", p)
		}
		if err := p.Signal(unix.SIGKILL); !errors.Is(err, unix.ESRCH) {
			t.Errorf("Signal after the end = %v, want ESRCH", err)
		}
		AwaitEnd([]Process{p}, 5*time.Second)
	}
}

// TestRememberedByInode: of a process that has the number of an older one nothing is remembered.
func TestRememberedByInode(t *testing.T) {
	self := os.Getpid()
	me, _ := Look(self)
	find := func(change func(*old)) bool {
		t.Helper()
		if _, _, err := Since(0); err != nil {
			t.Fatal(err)
		}
		known := slices.Clone(*remembered.Load())
		for i := range known {
			if known[i].pid == self {
				change(&known[i])
			}
		}
		remembered.Store(&known)
		list, _, err := Since(me.Begun)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(list, me)
	}
	if !find(func(*old) {}) {
		t.Error("this process is not in the table")
	}
	if find(func(o *old) { o.begun = 0 }) {
		t.Error("a process that is remembered was looked at again: every look costs as much as the first")
	}
	if !find(func(o *old) { o.begun = 0; o.inode++ }) {
		t.Error("a process was taken for one that had its number before")
	}
}

func TestSignalWantsTheSameProcess(t *testing.T) {
	c := exec.Command("sleep", "100")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	p, _ := Look(c.Process.Pid)
	p.Begun--
	if err := p.Signal(unix.SIGKILL); !errors.Is(err, unix.ESRCH) {
		t.Errorf("Signal to an earlier process of the number = %v, want ESRCH", err)
	}
	AwaitEnd([]Process{p}, 5*time.Second) // it has ended, whoever has its number
	if now, ok := Look(c.Process.Pid); !ok || now.Dead {
		t.Error("the process was killed")
	}
}

func TestAwaitEndHasAnEnd(t *testing.T) {
	p, _ := Look(os.Getpid())
	begin := time.Now()
	AwaitEnd([]Process{p}, 50*time.Millisecond)
	if took := time.Since(begin); took < 50*time.Millisecond || took > 5*time.Second {
		t.Errorf("waiting for the end of this process took %v", took)
	}
}

func TestParseStat(t *testing.T) {
	const tail = " 4 5 6 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 %d 0 777 1000 1 18446744073709551615\n"
	tests := []struct {
		line string
		want Process
		ok   bool
	}{
		{"1 (sh) S" + fmt.Sprintf(tail, 1), Process{PID: 1, Parent: 4, Group: 5, Session: 6, Begun: 777}, true},
		{"1 (a) R 9 9 9 (b) 1) Z" + fmt.Sprintf(tail, 1), Process{PID: 1, Parent: 4, Group: 5, Session: 6, Begun: 777, Dead: true}, true},
		{"1 (\n)) X" + fmt.Sprintf(tail, 0), Process{PID: 1, Parent: 4, Group: 5, Session: 6, Begun: 777, Dead: true}, true},
		{"1 (first thread has ended) Z" + fmt.Sprintf(tail, 3), Process{PID: 1, Parent: 4, Group: 5, Session: 6, Begun: 777}, true},
		{"1 (kworker) I 2 0 0 0 -1 2129984 1 2 3 4 5 6 7 8 20 0 1 0 777 1000", Process{PID: 1, Parent: 2, Begun: 777, kernel: true}, true},
		{"1 (sh) S 4 5", Process{}, false},
		{"1 (sh) S 4 x 6 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 1000", Process{}, false},
		{"", Process{}, false},
	}
	for _, tt := range tests {
		got, ok := parseStat(1, []byte(tt.line))
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%q = %+v, %v, want %+v", tt.line, got, ok, tt.want)
		}
	}
}
