//go:build unix

package mcp

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// The rows C1 to C8: what a call costs, beside a hand-written minimum in the same run. Both speak to servers that are
// processes of their own and do as little as a server can (serveFloor), so what is measured is the client. "Raw" checks
// nothing: over stdio it writes a line, reads a line and compares the id, over HTTP it is net/http with a body written by
// hand. "Ours" is CallTool, with everything that makes it strict.
//
//	row  benchmark           what                                          beside    wanted    hoped for
//	C1   C1StdioCallTime     one call in flight, median of the times       raw       <= 2.5    <= 1.8
//	C2   C2StdioCallCPU      the same, processor time of the client        raw       <= 4      <= 2.5
//	C3   C3Stdio64InFlight   64 calls in flight, calls a second            raw       >= 0.30   >= 0.50
//	C4   C4StdioAllocations  allocations and KiB of one call                         25, 3     12, 1.5
//	C5   C5HTTPCallTime      as C1                                         net/http  <= 1.25   <= 1.1
//	C6   C6HTTPCallCPU       as C2                                         net/http  <= 1.6    <= 1.3
//	C7   C7HTTP64InFlight    as C3                                         net/http  >= 0.70   >= 0.85
//	C8   C8HTTPAllocations   as C4                                                   95, 9     80, 7
//
// Only ratios of one run say something, and those only on a machine with nothing else to do: run them several times
// (make bench BENCH='^BenchmarkC[1-8]' with -count=5) and look at the median.

// floorCommand is the test binary as a server of the rows.
func floorCommand(b *testing.B, kind string) (path string, env []string) {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	return self, append(MinimalEnv(), floorVar+"="+kind)
}

// A call is one call of tide_table, made by hand or by a Client. Calls of one rival may run side by side if they are told
// different turns.
type rival struct {
	one  func() error                    // makes one call
	many func(b *testing.B, n int) error // makes n calls, 64 in flight
}

// rawLines is the hand-written client over stdio.
type rawLines struct {
	w   *os.File
	r   *bufio.Reader
	id  int64
	buf []byte
}

func (l *rawLines) one() error {
	l.id++
	l.buf = append(floorRequest(l.buf[:0], l.id), '\n')
	if _, err := l.w.Write(l.buf); err != nil {
		return err
	}
	return l.answer(l.id)
}

var answerHead = []byte(`{"jsonrpc":"2.0","id":`)

func (l *rawLines) answer(id int64) error {
	line, err := l.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	rest, ok := bytes.CutPrefix(line, answerHead)
	digits, _, _ := bytes.Cut(rest, []byte{','})
	if got, err := strconv.ParseInt(string(digits), 10, 64); !ok || err != nil || got != id {
		return fmt.Errorf("answer %s, want id %d", line, id)
	}
	return nil
}

// many writes ahead of what it reads by 64.
func (l *rawLines) many(b *testing.B, n int) error {
	window := make(chan struct{}, 64)
	first := l.id + 1
	l.id += int64(n)
	failed := make(chan error, 1)
	go func() {
		var buf []byte
		for id := first; id < first+int64(n); id++ {
			select {
			case window <- struct{}{}:
			case <-b.Context().Done():
				return
			}
			buf = append(floorRequest(buf[:0], id), '\n')
			if _, err := l.w.Write(buf); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	for id := first; id < first+int64(n); id++ {
		if err := l.answer(id); err != nil {
			return err
		}
		<-window
	}
	return <-failed
}

func startRawLines(b *testing.B) rival {
	b.Helper()
	path, env := floorCommand(b, "stdio")
	r, theirOut, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	theirIn, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env, cmd.Stdin, cmd.Stdout = env, theirIn, theirOut
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	_, _ = theirIn.Close(), theirOut.Close()
	b.Cleanup(func() {
		_ = w.Close()
		_ = cmd.Wait()
		_ = r.Close()
	})
	l := &rawLines{w: w, r: bufio.NewReaderSize(r, 64<<10)}
	return rival{one: l.one, many: l.many}
}

// ours is a Client as a rival.
func ours(b *testing.B, tr Transport) rival {
	b.Helper()
	c, err := Connect(b.Context(), tr, WithClientInfo(Implementation{Name: "bench", Version: "1"}))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { closed(b, c) })
	params := &CallToolParams{Tool: mustTool(b, tide), Arguments: jsontext.Value(benchArguments)}
	call := func(ctx context.Context) error {
		round, err := c.CallTool(ctx, params)
		if err == nil && round.Complete == nil {
			err = fmt.Errorf("round %v", round)
		}
		return err
	}
	return rival{
		one: func() error { return call(b.Context()) },
		many: func(b *testing.B, n int) error {
			return inFlight(b, n, func(ctx context.Context, _ int64) error { return call(ctx) })
		},
	}
}

// inFlight makes n calls from 64 goroutines, each with a context of its own, as programs have them.
func inFlight(b *testing.B, n int, call func(ctx context.Context, turn int64) error) error {
	var turn atomic.Int64
	var wg sync.WaitGroup
	failed := make(chan error, 64)
	for range 64 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			for i := turn.Add(1); i <= int64(n); i = turn.Add(1) {
				if err := call(ctx, i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func stdioRivals(b *testing.B) (raw, our rival) {
	b.Helper()
	path, env := floorCommand(b, "stdio")
	tr := NewStdioTransport(path, nil)
	tr.Env = env
	return startRawLines(b), ours(b, tr)
}

func httpRivals(b *testing.B) (raw, our rival) {
	b.Helper()
	path, env := floorCommand(b, "http")
	cmd := exec.Command(path)
	cmd.Env = env
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	url := "http://" + strings.TrimSpace(address) + "/mcp"
	client := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{}).DialContext, MaxIdleConnsPerHost: 256, DisableCompression: true}}
	b.Cleanup(client.CloseIdleConnections)
	var id int64
	raw = rival{
		one: func() error { id++; return floorPost(b.Context(), client, url, id) },
		many: func(b *testing.B, n int) error {
			return inFlight(b, n, func(ctx context.Context, turn int64) error { return floorPost(ctx, client, url, turn) })
		},
	}
	tr := NewStreamableHTTPTransport(url)
	tr.AllowPrivate = true
	return raw, ours(b, tr)
}

// rowCalls is how many calls of each rival one comparison has, and rowTurns how many it makes before it is the other's
// turn.
const (
	rowCalls = 6_000
	rowTurns = 50
)

// row reports raw, ours and their ratio, and not the time of an iteration, which is that of both.
func row(b *testing.B, raw, our float64, unit string) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(raw, "raw-"+unit)
	b.ReportMetric(our, "ours-"+unit)
	b.ReportMetric(our/raw, "ratio")
}

// turns makes calls of both in turns, and returns the median time of a call and the processor time of all.
func turns(b *testing.B, raw, our rival) (median [2]float64, used [2]time.Duration) {
	b.Helper()
	var times [2][]time.Duration
	for range b.N {
		for range rowCalls / rowTurns {
			for i, r := range []rival{raw, our} {
				begin := processorTime(b)
				for range rowTurns {
					start := time.Now()
					if err := r.one(); err != nil {
						b.Fatal(err)
					}
					times[i] = append(times[i], time.Since(start))
				}
				used[i] += processorTime(b) - begin
			}
		}
	}
	for i := range times {
		slices.Sort(times[i])
		median[i] = float64(times[i][len(times[i])/2]) / 1e3
	}
	return median, used
}

func processorTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func reportTime(b *testing.B, raw, our rival) {
	median, _ := turns(b, raw, our)
	row(b, median[0], median[1], "p50-µs")
}

func reportCPU(b *testing.B, raw, our rival) {
	_, used := turns(b, raw, our)
	each := func(i int) float64 { return float64(used[i]) / 1e3 / float64(b.N*rowCalls) }
	row(b, each(0), each(1), "cpu-µs")
}

func reportInFlight(b *testing.B, raw, our rival) {
	var spent, used [2]time.Duration
	const rounds, each = 3, rowCalls / 3
	for range b.N * rounds {
		for i, r := range []rival{raw, our} {
			begin, before := time.Now(), processorTime(b)
			if err := r.many(b, each); err != nil {
				b.Fatal(err)
			}
			spent[i] += time.Since(begin)
			used[i] += processorTime(b) - before
		}
	}
	rate := func(i int) float64 { return float64(b.N*rounds*each) / spent[i].Seconds() }
	row(b, rate(0), rate(1), "calls/s")
	b.ReportMetric(used[1].Seconds()*1e6/float64(b.N*rounds*each), "ours-cpu-µs")
}

func reportAllocations(b *testing.B, raw, our rival) {
	var count, bytes [2]float64
	for i, r := range []rival{raw, our} {
		var before, after runtime.MemStats
		n := 0
		runtime.ReadMemStats(&before)
		for range b.N * rowCalls / 3 {
			if err := r.one(); err != nil {
				b.Fatal(err)
			}
			n++
		}
		runtime.ReadMemStats(&after)
		count[i] = float64(after.Mallocs-before.Mallocs) / float64(n)
		bytes[i] = float64(after.TotalAlloc-before.TotalAlloc) / 1024 / float64(n)
	}
	b.ReportMetric(0, "ns/op")
	for i, name := range []string{"raw", "ours"} {
		b.ReportMetric(count[i], name+"-allocs")
		b.ReportMetric(bytes[i], name+"-KiB")
	}
}

func stdioRow(b *testing.B, report func(b *testing.B, raw, our rival)) {
	raw, our := stdioRivals(b)
	report(b, raw, our)
}

func httpRow(b *testing.B, report func(b *testing.B, raw, our rival)) {
	raw, our := httpRivals(b)
	report(b, raw, our)
}

func BenchmarkC1StdioCallTime(b *testing.B)    { stdioRow(b, reportTime) }
func BenchmarkC2StdioCallCPU(b *testing.B)     { stdioRow(b, reportCPU) }
func BenchmarkC3Stdio64InFlight(b *testing.B)  { stdioRow(b, reportInFlight) }
func BenchmarkC4StdioAllocations(b *testing.B) { stdioRow(b, reportAllocations) }
func BenchmarkC5HTTPCallTime(b *testing.B)     { httpRow(b, reportTime) }
func BenchmarkC6HTTPCallCPU(b *testing.B)      { httpRow(b, reportCPU) }
func BenchmarkC7HTTP64InFlight(b *testing.B)   { httpRow(b, reportInFlight) }
func BenchmarkC8HTTPAllocations(b *testing.B)  { httpRow(b, reportAllocations) }
