package schema

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// childVariable makes this test binary judge one schema and instance from its standard input, alone in its process: what
// hangs there is killed, and what it needs is what the process needs.
const childVariable = "MCPCAT_SCHEMA_CHILD"

// judged is what a child found and what that took.
type judged struct {
	Verdict string
	Elapsed time.Duration
	CPU     time.Duration // of all threads, the collector's included; Elapsed where the system does not say
	Peak    int64         // bytes of memory that the process ever held; 0 where the system does not say
}

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	in := bufio.NewReader(os.Stdin)
	var sizes [2]int
	_, err := fmt.Fscanf(in, "%d %d\n", &sizes[0], &sizes[1])
	var texts [2][]byte
	for i, n := range sizes {
		texts[i] = make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(in, texts[i])
		}
	}
	if err == nil {
		err = limitMemory(mostMemory)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	start, worked := time.Now(), cpuTime()
	got := judged{Verdict: verdict(texts[0], texts[1])}
	got.Elapsed, got.CPU, got.Peak = time.Since(start), cpuTime()-worked, peakMemory()
	if worked == 0 {
		got.CPU = got.Elapsed
	}
	json.NewEncoder(os.Stdout).Encode(got)
	os.Exit(0)
}

const (
	mostTime   = 10 * time.Second
	mostMemory = 128 << 20

	goodTime   = 100 * time.Millisecond // what the benchmark asks for
	goodMemory = 64 << 20
)

func (v vector) inChild(tb testing.TB) judged {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), mostTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.Stdin = strings.NewReader(fmt.Sprintf("%d %d\n%s%s", len(v.schema), len(v.instance), v.schema, v.instance))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		first, _, _ := strings.Cut(stderr.String(), "\n")
		tb.Fatalf("no verdict: %v, %v: %s", ctx.Err(), err, first)
	}
	var got judged
	if err := json.Unmarshal(out, &got); err != nil {
		tb.Fatalf("child wrote %q: %v", out, err)
	}
	return got
}

func TestTableIsWhatItWas(t *testing.T) {
	if got := len(table()); got != 32 {
		t.Errorf("%d rows, want 32", got)
	}
	for _, r := range table() {
		if len(r.schema) != r.schemaBytes || len(r.instance) != r.instanceBytes {
			t.Errorf("%s: %d and %d bytes, want %d and %d", r.name, len(r.schema), len(r.instance), r.schemaBytes, r.instanceBytes)
		}
	}
}

// TestHostileSchemasEndInAVerdict judges every vector in a child process within 10 s and 128 MiB.
func TestHostileSchemasEndInAVerdict(t *testing.T) {
	all := vectors()
	for _, r := range table() {
		all = append(all, r.vector)
	}
	for _, v := range all {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			got := v.inChild(t)
			if got.Verdict != v.want {
				t.Errorf("verdict %q, want %q", got.Verdict, v.want)
			}
			if got.Elapsed > mostTime || got.Peak > mostMemory && !raceDetector {
				t.Errorf("took %v and %d MiB, want at most %v and %d MiB", got.Elapsed, got.Peak>>20, mostTime, mostMemory>>20)
			}
			t.Logf("%s in %v and %d MiB", got.Verdict, got.Elapsed.Round(time.Microsecond), got.Peak>>20)
		})
	}
}

// TestChildIsWatched is the positive control: a child that holds much does not go unnoticed.
func TestChildIsWatched(t *testing.T) {
	if peakMemory() == 0 || raceDetector {
		t.Skip("this system does not say what a process holds, or the race detector holds more")
	}
	small := vector{"small", `{}`, `1`, "valid"}
	large := vector{"large", `{}`, `"` + strings.Repeat("x", goodMemory) + `"`, "expensive"}
	if got := small.inChild(t); got.Peak > goodMemory/2 {
		t.Errorf("a child that does nothing holds %d MiB", got.Peak>>20)
	}
	if got := large.inChild(t); got.Peak < goodMemory {
		t.Errorf("a child with an instance of %d MiB holds %d MiB", goodMemory>>20, got.Peak>>20)
	}
}

// BenchmarkVerdict judges every row of the table in child processes. It reports the best time, what all threads worked in
// it, and the largest amount of memory. It fails beyond 100 ms and 64 MiB; on a busy machine the work counts.
func BenchmarkVerdict(b *testing.B) {
	for _, r := range table() {
		b.Run(strings.ReplaceAll(r.name, " ", "-"), func(b *testing.B) {
			best, worked, peak := time.Hour, time.Hour, int64(0)
			for b.Loop() {
				got := r.inChild(b)
				best, worked, peak = min(best, got.Elapsed), min(worked, got.CPU), max(peak, got.Peak)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(best.Microseconds())/1000, "ms/verdict")
			b.ReportMetric(float64(worked.Microseconds())/1000, "cpu-ms/verdict")
			b.ReportMetric(float64(peak)/(1<<20), "MiB/peak")
			if best = min(best, worked); best > goodTime || peak > goodMemory {
				b.Errorf("took %v and %d MiB, want at most %v and %d MiB", best, peak>>20, goodTime, goodMemory>>20)
			}
		})
	}
}
