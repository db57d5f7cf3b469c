//go:build linux

package upstream

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	// heapBytes is the most that the heap of this process, peers over HTTP included, may be while faults are at work, and
	// keptBytes how much of it may be left: net/http keeps what it knows of a connection over HTTP/2, some 40 KiB, for as
	// long as it might have been idle.
	heapBytes = 48 << 20
	keptBytes = 12 << 20
	// settleTime is how long what has ended may need to go. Most of it goes at once; the resolver of Go's library waits for
	// name servers for 5 s, whoever has stopped waiting for it.
	settleTime = 8 * time.Second

	// markVar tells the children of a row from others; what they start inherits it.
	markVar = "UPSTREAM_TEST_ROW"
)

// footprint is what this process has.
type footprint struct {
	goroutines goleak.Option
	files      []string
	children   []int
	heap       uint64
	stop       func() (peak uint64)
}

// measure looks at what there is, and begins to watch the heap.
func measure(t *testing.T) footprint {
	t.Helper()
	runtime.GC()
	runtime.GC() // pools let go of what they hold at the second
	f := footprint{goroutines: goleak.IgnoreCurrent(), files: openFiles(t), children: descendants(t), heap: liveHeap()}
	done := make(chan struct{})
	var peak uint64
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				peak = max(peak, liveHeap())
			case <-done:
				return
			}
		}
	})
	f.stop = func() uint64 {
		close(done)
		watching.Wait()
		return peak
	}
	return f
}

// compare wants nothing more than there was.
func (f footprint) compare(t *testing.T, memory bool) {
	t.Helper()
	peak := f.stop()
	var files []string
	var children []int
	var leak error
	for end := time.Now().Add(settleTime); ; time.Sleep(20 * time.Millisecond) {
		files, children, leak = openFiles(t), descendants(t), goleak.Find(f.goroutines)
		if len(files) <= len(f.files) && len(children) <= len(f.children) && leak == nil || time.Now().After(end) {
			break
		}
	}
	if leak != nil {
		t.Error(leak)
	}
	if len(files) > len(f.files) {
		t.Errorf("open files: %q, want those of the beginning: %q", files, f.files)
	}
	if len(children) > len(f.children) {
		t.Errorf("processes: %v, want those of the beginning: %v", children, f.children)
	}
	after := uint64(0)
	for end := time.Now().Add(settleTime); ; time.Sleep(20 * time.Millisecond) {
		runtime.GC()
		runtime.GC() // pools let go of what they hold at the second
		if after = liveHeap(); after <= f.heap+keptBytes || time.Now().After(end) {
			break
		}
	}
	if memory && peak > heapBytes {
		t.Errorf("the heap came to %d KiB, want at most %d", peak>>10, heapBytes>>10)
	}
	if after > f.heap+keptBytes {
		t.Errorf("the heap has grown from %d to %d KiB, want at most %d more", f.heap>>10, after>>10, keptBytes>>10)
	}
	t.Logf("heap: %d KiB before, %d at the most, %d after", f.heap>>10, peak>>10, after>>10)
}

// liveHeap is the memory of heap objects, dead ones that have not been swept included.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// openFiles lists what the descriptors of this process are.
func openFiles(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && !strings.HasPrefix(target, "/proc/") {
			files = append(files, target)
		}
	}
	slices.Sort(files)
	return files
}

// descendants lists the processes below this one.
func descendants(t *testing.T) []int {
	t.Helper()
	below := map[int]bool{os.Getpid(): true}
	var list []int
	// A child may stand before its parent in the list of processes.
	for found := true; found; {
		found = false
		for _, pid := range processes(t) {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil {
				continue // it has gone
			}
			_, rest, _ := bytes.Cut(stat, []byte(") ")) // the name of the program may hold anything
			fields := strings.Fields(string(rest))
			if len(fields) < 2 {
				continue
			}
			if parent, err := strconv.Atoi(fields[1]); err == nil && below[parent] && !below[pid] {
				below[pid], found = true, true
				list = append(list, pid)
			}
		}
	}
	return list
}

// noneLeft wants no process that carries the mark. Those that have ended and are not reaped have no environment.
func noneLeft(t *testing.T, mark string) {
	t.Helper()
	entry := []byte(markVar + "=" + mark + "\x00")
	for _, pid := range processes(t) {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && bytes.Contains(environ, entry) {
			t.Errorf("process %d is still there", pid)
		}
	}
}

func processes(t *testing.T) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
