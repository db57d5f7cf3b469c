//go:build unix

package transport

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
)

const benchParams = `{"name":"tide_table","arguments":{"harbour":"north","day":"2026-07-28"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`

func benchCall(id int64) *Call {
	n := jsonrpc.IntID(id)
	return &Call{ID: n, Method: "tools/call", Name: "tide_table", HasName: true, Body: jsonrpc.AppendRequest(nil, n, "tools/call", []byte(benchParams))}
}

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// beside runs raw and ours in turns, n times each, and reports the ratio of their medians and of their processor time.
func beside(b *testing.B, raw, ours func() error) {
	b.ReportAllocs()
	const turns = 20
	var times [2][]time.Duration
	var used [2]time.Duration
	n := 0
	for b.Loop() {
		n++
		if n%turns != 1 {
			if err := ours(); err != nil { // counted by the benchmark, not by the comparison
				b.Fatal(err)
			}
			continue
		}
		b.StopTimer()
		for i, f := range []func() error{raw, ours} {
			begin := cpu()
			for range turns {
				start := time.Now()
				if err := f(); err != nil {
					b.Fatal(err)
				}
				times[i] = append(times[i], time.Since(start))
			}
			used[i] += cpu() - begin
		}
		b.StartTimer()
	}
	for i := range times {
		slices.Sort(times[i])
	}
	median := func(i int) float64 { return float64(times[i][len(times[i])/2]) }
	b.ReportMetric(median(0)/1e3, "raw-p50-µs")
	b.ReportMetric(median(1)/1e3, "p50-µs")
	b.ReportMetric(median(1)/median(0), "p50-ratio")
	b.ReportMetric(float64(used[1])/float64(max(used[0], 1)), "cpu-ratio")
}

// rawStdio is a hand-written client: one request, one line back.
type rawStdio struct {
	cmd *exec.Cmd
	w   *os.File
	out *os.File
	r   *bufio.Reader
	id  int64
	buf []byte
}

func startRaw(b *testing.B, c StdioConfig) *rawStdio {
	r, theirs, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	in, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	raw := &rawStdio{cmd: exec.Command(c.Command), w: w, out: r, r: bufio.NewReaderSize(r, 64<<10)}
	raw.cmd.Env, raw.cmd.Stdin, raw.cmd.Stdout = c.Env, in, theirs
	if err := raw.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	in.Close()
	theirs.Close()
	b.Cleanup(raw.close)
	return raw
}

func (r *rawStdio) close() {
	r.w.Close()
	r.cmd.Wait()
	r.out.Close()
}

func (r *rawStdio) call() error {
	r.id++
	r.buf = append(jsonrpc.AppendRequest(r.buf[:0], jsonrpc.IntID(r.id), "tools/call", []byte(benchParams)), '\n')
	if _, err := r.w.Write(r.buf); err != nil {
		return err
	}
	line, err := r.r.ReadSlice('\n')
	if err == nil && string(floorID(line)) != fmt.Sprint(r.id) {
		err = fmt.Errorf("answer %s", line)
	}
	return err
}

func BenchmarkStdioCall(b *testing.B) {
	c := childConfig(b, "floor")
	s, raw := startChild(b, c), startRaw(b, c)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var id int64
	beside(b, raw.call, func() error {
		id++
		_, err := s.Do(ctx, benchCall(id))
		return err
	})
}

// perSecond makes n calls from as many goroutines as there are workers, each with a context of its own, and returns the
// calls of a second.
func perSecond(b *testing.B, workers int, n int64, call func(ctx context.Context, i int64) error) float64 {
	var next atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for range workers {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			for i := next.Add(1); i <= n; i = next.Add(1) {
				if err := call(ctx, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(n) / time.Since(begin).Seconds()
}

// BenchmarkStdio64 has 64 calls in flight. The raw client writes ahead of what it reads by as many.
func BenchmarkStdio64(b *testing.B) {
	c := childConfig(b, "floor")
	s, raw := startChild(b, c), startRaw(b, c)
	rawRun := func(total int64) float64 {
		window := make(chan struct{}, 64)
		begin := time.Now()
		go func() {
			var buf []byte
			for id := int64(1); id <= total; id++ {
				window <- struct{}{}
				buf = append(jsonrpc.AppendRequest(buf[:0], jsonrpc.IntID(id), "tools/call", []byte(benchParams)), '\n')
				raw.w.Write(buf)
			}
		}()
		for range total {
			if _, err := raw.r.ReadSlice('\n'); err != nil {
				b.Error(err)
				break
			}
			<-window
		}
		return float64(total) / time.Since(begin).Seconds()
	}
	var base int64
	var rate [2]float64
	var used [2]time.Duration
	runs := 0
	for b.Loop() {
		const total = 4096
		calls := make([]*Call, total)
		for i := range calls {
			calls[i] = benchCall(base + int64(i))
		}
		begin := cpu()
		rate[0] += rawRun(total)
		middle := cpu()
		rate[1] += perSecond(b, 64, total, func(ctx context.Context, i int64) error { _, err := s.Do(ctx, calls[i-1]); return err })
		used[0], used[1] = used[0]+middle-begin, used[1]+cpu()-middle
		base += total
		runs++
	}
	b.ReportMetric(float64(used[1])/float64(max(used[0], 1)), "cpu-ratio")
	b.ReportMetric(float64(used[1].Nanoseconds())/float64(4096*runs), "cpu-ns/call")
	b.ReportMetric(rate[0]/float64(runs), "raw-calls/s")
	b.ReportMetric(rate[1]/float64(runs), "calls/s")
	b.ReportMetric(rate[1]/rate[0], "ratio")
}

func startHTTPFloor(b *testing.B) string {
	c := childConfig(b, "http-floor")
	cmd := exec.Command(c.Command)
	cmd.Env = c.Env
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
	b.Cleanup(func() { in.Close(); cmd.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(address) + "/mcp"
}

// rawHTTP is what a program does that uses net/http and nothing else.
func rawHTTP(client *http.Client, url string, id int64) error {
	body := jsonrpc.AppendRequest(nil, jsonrpc.IntID(id), "tools/call", []byte(benchParams))
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for _, h := range []Header{
		{"Content-Type", "application/json"},
		{"Accept", "application/json, text/event-stream"},
		{"MCP-Protocol-Version", ProtocolVersion},
		{"Mcp-Method", "tools/call"},
		{"Mcp-Name", "tide_table"},
	} {
		req.Header.Set(h.Name, h.Value)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && string(floorID(answer)) != fmt.Sprint(id) {
		err = fmt.Errorf("answer %s", answer)
	}
	return err
}

func rawClient(b *testing.B) *http.Client {
	t := &http.Transport{DialContext: (&net.Dialer{}).DialContext, MaxIdleConnsPerHost: 256, DisableCompression: true}
	b.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t}
}

func BenchmarkHTTPCall(b *testing.B) {
	url := startHTTPFloor(b)
	client := rawClient(b)
	h := newClient(b, HTTPConfig{URL: url, AllowPrivate: true})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var id int64
	beside(b, func() error { id++; return rawHTTP(client, url, id) }, func() error {
		id++
		_, err := h.Do(ctx, benchCall(id))
		return err
	})
}

func BenchmarkHTTPRaw(b *testing.B) {
	url := startHTTPFloor(b)
	client := rawClient(b)
	b.ReportAllocs()
	var id int64
	for b.Loop() {
		id++
		if err := rawHTTP(client, url, id); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHTTP64(b *testing.B) {
	url := startHTTPFloor(b)
	client := rawClient(b)
	h := newClient(b, HTTPConfig{URL: url, AllowPrivate: true})
	var rate [2]float64
	runs := 0
	for b.Loop() {
		const total = 2048
		rate[0] += perSecond(b, 64, total, func(_ context.Context, id int64) error { return rawHTTP(client, url, id) })
		rate[1] += perSecond(b, 64, total, func(ctx context.Context, id int64) error { _, err := h.Do(ctx, benchCall(id)); return err })
		runs++
	}
	b.ReportMetric(rate[0]/float64(runs), "raw-calls/s")
	b.ReportMetric(rate[1]/float64(runs), "calls/s")
	b.ReportMetric(rate[1]/rate[0], "ratio")
}

// BenchmarkStart starts 50 servers, makes one call to each and ends them, beside plain os/exec doing the same, in turns.
// The ratio is that of the medians; the time of the end does not count.
func BenchmarkStart(b *testing.B) {
	c := childConfig(b, "floor")
	raw := func() time.Duration {
		begin := time.Now()
		var raws []*rawStdio
		for range 50 {
			raws = append(raws, startRaw(b, c))
		}
		for _, r := range raws {
			if err := r.call(); err != nil {
				b.Fatal(err)
			}
		}
		took := time.Since(begin)
		for _, r := range raws {
			r.close()
		}
		return took
	}
	ours := func() time.Duration {
		begin := time.Now()
		var all []*Stdio
		for range 50 {
			s, err := StartStdio(b.Context(), c)
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, s)
		}
		for _, s := range all {
			if _, err := s.Do(b.Context(), benchCall(1)); err != nil {
				b.Fatal(err)
			}
		}
		took := time.Since(begin)
		for _, s := range all {
			s.Close()
		}
		return took
	}
	var took [2][]time.Duration
	for n := 0; b.Loop(); n++ {
		for i := range 2 {
			which := (n + i) % 2 // neither is always the second
			took[which] = append(took[which], []func() time.Duration{raw, ours}[which]())
		}
	}
	for i, name := range []string{"raw-p50-ms", "p50-ms"} {
		slices.Sort(took[i])
		b.ReportMetric(took[i][len(took[i])/2].Seconds()*1e3, name)
	}
	b.ReportMetric(float64(took[1][len(took[1])/2])/float64(took[0][len(took[0])/2]), "p50-ratio")
}
