package boltfile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

// child is this test binary, started again to do one thing.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Reader
	err   bytes.Buffer
}

func start(t *testing.T, name string, env ...string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(append(os.Environ(), "MCPCAT_TEST_CHILD="+name), env...)
	c.cmd.Stderr = &c.err
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// line returns the next line that the child prints.
func (c *child) line(t *testing.T) string {
	t.Helper()
	s, err := c.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("child: %v, %s", errors.Join(err, c.cmd.Wait()), c.err.String())
	}
	return strings.TrimSpace(s)
}

// end lets the child go on, waits for it and fails unless it succeeds.
func (c *child) end(t *testing.T) {
	t.Helper()
	if err := c.stdin.Close(); err != nil {
		t.Error(err)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("child: %v, %s", err, c.err.String())
	}
}

func childPlace() place {
	dir := os.Getenv("MCPCAT_TEST_DIR")
	return place{dir, dir + "/catalog.lock.db", dir + "/catalog.lock.txt", dir + "/.mcpcat"}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func init() {
	// writes for ever, until it is killed
	children["rewrite"] = func() {
		p := childPlace()
		loaded, err := Load(context.Background(), p.lock)
		must(err)
		current := loaded.Lock
		w, err := OpenWriter(context.Background(), p.lock, p.side, 5*time.Second, "mcpcat rewrite")
		must(err)
		fmt.Println("ready")
		for {
			next := following(childTB{}, current, strconv.FormatUint(current.Serial, 10))
			must(w.Replace(current.Base(), next, p.mirror))
			current = next
		}
	}
	// replaces the lock once, from the state that it finds at first, when it is told to
	children["apply"] = func() {
		p := childPlace()
		loaded, err := Load(context.Background(), p.lock)
		must(err)
		next := following(childTB{}, loaded.Lock, os.Getenv("MCPCAT_TEST_NOTE"))
		fmt.Println("ready")
		_, err = io.Copy(io.Discard, os.Stdin)
		must(err)
		w, err := OpenWriter(context.Background(), p.lock, p.side, 10*time.Second, "mcpcat apply")
		must(err)
		err = w.Replace(loaded.Lock.Base(), next, p.mirror)
		var stale *lock.StaleError
		switch {
		case err == nil:
			fmt.Println("done")
		case errors.As(err, &stale):
			fmt.Println("stale")
		default:
			must(err)
		}
		must(w.Close())
	}
}

// TestKilledWriter kills a writer at 100 random moments. The lock is whole each time, and the next writer clears away
// what a killed one left.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := makeLock(t, 40, 500)
	p.replace(t, nil, first)
	serial, left := uint64(1), 0
	lastMirror, window := lock.Mirror(first), 12*time.Millisecond
	for i := range 100 {
		c := start(t, "rewrite", "MCPCAT_TEST_DIR="+p.dir)
		c.line(t)
		time.Sleep(rand.N(window))
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := c.cmd.Wait(); err == nil || c.err.Len() > 0 {
			t.Fatalf("child ended by itself: %v, %s", err, c.err.String())
		}
		loaded := mustLoad(t, p.lock)
		if !loaded.Canonical || loaded.Lock.Serial < serial {
			t.Fatalf("kill %d: lock has serial %d (canonical: %v), want at least %d", i, loaded.Lock.Serial, loaded.Canonical, serial)
		}
		if loaded.Lock.Serial == serial {
			window = min(window*5/4, time.Second) // the machine is slow or busy: leave the next one more time
		}
		serial = loaded.Lock.Serial
		mirror, err := os.ReadFile(p.mirror)
		if err != nil {
			t.Fatal(err)
		}
		// A writer killed between the two renames leaves the mirror of the lock before, and the next one too if it is killed
		// there again.
		behind := bytes.HasSuffix(mirror, []byte("\nroot "+loaded.Lock.Parent.String()+"\n")) || bytes.Equal(mirror, lastMirror)
		if !bytes.Equal(mirror, lock.Mirror(loaded.Lock)) && !behind {
			t.Fatalf("kill %d: the mirror is that of no lock", i)
		}
		lastMirror = mirror
		for _, name := range names(t, p.dir) {
			if strings.HasSuffix(name, ".tmp") {
				left++
			}
		}
	}
	t.Logf("serial %d, temporary files left by %d kills", serial, left)
	if serial < 10 {
		t.Errorf("serial is %d after 100 writers: they were killed before they wrote", serial)
	}
	current := mustLoad(t, p.lock).Lock
	p.replace(t, current.Base(), following(t, current, "after"))
	if got := names(t, p.dir); !slices.Equal(got, []string{".mcpcat", "catalog.lock.db", "catalog.lock.txt"}) {
		t.Errorf("directory holds %v after the next write", got)
	}
}

// TestWritersCount lets goroutines change one lock at the same time, each from the state that it has just read. Each
// change that was reported as done is there, and no other.
func TestWritersCount(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := makeLock(t, 5, 200)
	p.replace(t, nil, first)
	var mu sync.Mutex
	done, stale := 0, 0
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 12 {
				loaded, err := Load(context.Background(), p.lock)
				if err != nil {
					t.Error(err)
					return
				}
				w, err := OpenWriter(context.Background(), p.lock, p.side, 30*time.Second, "mcpcat test")
				if err != nil {
					t.Error(err)
					return
				}
				err = w.Replace(loaded.Lock.Base(), following(t, loaded.Lock, fmt.Sprint(g, i)), p.mirror)
				var se *lock.StaleError
				mu.Lock()
				switch {
				case err == nil:
					done++
				case errors.As(err, &se):
					stale++
				default:
					t.Error(err)
				}
				mu.Unlock()
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := mustLoad(t, p.lock).Lock.Serial; got != uint64(1+done) || done+stale != 96 || done == 0 {
		t.Errorf("serial is %d after %d done and %d stale changes of 96", got, done, stale)
	}
}
