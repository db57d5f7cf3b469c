package mcp

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// The benchmarks of this file run a hand-written minimum and this package in turns, in one run on one machine, and report
// the medians of both and their ratio. The minimum checks nothing: it is what is left of the work if everything that
// makes the client strict is taken away.

// beside runs floor and ours in turns and reports the ratio of their medians.
func beside(b *testing.B, floor, ours func() error) {
	b.ReportAllocs()
	const turns, rounds = 16, 250
	var times [2][]time.Duration
	n := 0
	for b.Loop() {
		n++
		if n%turns != 1 || n > turns*rounds {
			if err := ours(); err != nil { // counted by the benchmark, not by the comparison
				b.Fatal(err)
			}
			continue
		}
		b.StopTimer()
		for i, f := range []func() error{floor, ours} {
			for range turns {
				start := time.Now()
				if err := f(); err != nil {
					b.Fatal(err)
				}
				times[i] = append(times[i], time.Since(start))
			}
		}
		b.StartTimer()
	}
	median := func(i int) float64 {
		slices.Sort(times[i])
		return float64(times[i][len(times[i])/2])
	}
	b.ReportMetric(median(0)/1e3, "floor-µs")
	b.ReportMetric(median(1)/1e3, "p50-µs")
	b.ReportMetric(median(1)/max(median(0), 1), "ratio")
}

const (
	benchMeta = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}},"name":`
	benchArguments = `{"harbour":"north","depth":12}`
	benchResult    = `{"resultType":"complete","content":[{"type":"text","text":"high 06:12, low 12:25"}]}`
)

var sink []byte

// floorRequest is a request of tools/call written by hand.
func floorRequest(dst []byte, id int64) []byte {
	dst = strconv.AppendInt(append(dst, `{"jsonrpc":"2.0","id":`...), id, 10)
	dst = append(append(dst, `,"method":"tools/call","params":`...), benchMeta...)
	dst = append(append(dst, `"tide_table","arguments":`...), benchArguments...)
	return append(dst, `}}`...)
}

// BenchmarkFloorEncode makes requests of tools/call, arguments checked. The floor writes the same bytes.
func BenchmarkFloorEncode(b *testing.B) {
	c := &Client{opts: options{info: Implementation{Name: "bench", Version: "1"}}}
	if err := c.prepare(); err != nil {
		b.Fatal(err)
	}
	params := &CallToolParams{Tool: mustTool(b, tide), Arguments: jsontext.Value(benchArguments)}
	var floor int64
	beside(b, func() error {
		floor++
		sink = floorRequest(make([]byte, 0, 512), floor)
		return nil
	}, func() error {
		r, _, err := c.newCall(params)
		if err == nil {
			sink = r.body
		}
		return err
	})
}

// BenchmarkFloorDecode reads a page of 100 tools. The floor is encoding/json into a struct of strings and raw values.
func BenchmarkFloorDecode(b *testing.B) {
	result := []byte(manyTools(100))
	limits, err := Limits{}.filled(Limits{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(result)))
	beside(b, func() error {
		var page struct {
			ResultType string `json:"resultType"`
			TTLMs      int64  `json:"ttlMs"`
			CacheScope string `json:"cacheScope"`
			Tools      []struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				InputSchema json.RawMessage `json:"inputSchema"`
				Annotations struct {
					ReadOnlyHint *bool `json:"readOnlyHint"`
				} `json:"annotations"`
			} `json:"tools"`
		}
		err := json.Unmarshal(result, &page)
		if err == nil && len(page.Tools) != 100 {
			err = errors.New("not 100 tools")
		}
		return err
	}, func() error {
		v, err := strictjson.Parse(result, strictjson.Limits{}) // as a message is checked when it comes in
		if err != nil {
			return err
		}
		page, f := decodeToolsPage(v, &limits, true)
		if f == nil && len(page.Tools) != 100 {
			return errors.New("not 100 tools")
		}
		return f.err("")
	})
}

// BenchmarkFloorDigest takes the digest of one tool: canonical JSON, then SHA-256. The floor gets its order of members
// by way of encoding/json and any, which is neither strict nor lossless.
func BenchmarkFloorDigest(b *testing.B) {
	tool := snapshotOf(b, manyTools(1)).Tools[0]
	b.SetBytes(int64(len(tool.Raw())))
	beside(b, func() error {
		var v any
		if err := json.Unmarshal(tool.Raw(), &v); err != nil {
			return err
		}
		canonical, err := json.Marshal(v)
		sum := sha256.Sum256(canonical)
		sink = append(sink[:0], sum[:]...)
		return err
	}, func() error {
		d, err := ComputeToolDigest(tool)
		sink = append(sink[:0], d[:]...)
		return err
	})
}

// answerOf makes the answer to a request as cheaply as can be: the id stands at a known place.
func answerOf(dst, request []byte) []byte {
	rest, _ := bytes.CutPrefix(request, []byte(`{"jsonrpc":"2.0","id":`))
	id, rest, _ := bytes.Cut(rest, []byte(`,"method":"`))
	result := benchResult
	if bytes.HasPrefix(rest, []byte("server/")) {
		result = fullDiscover
	}
	return append(append(append(append(append(dst, `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...), result...), "}\n"...)
}

func floorPost(ctx context.Context, c *http.Client, url string, id int64) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(floorRequest(nil, id)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", ProtocolVersion)
	r.Header.Set("Mcp-Method", "tools/call")
	r.Header.Set("Mcp-Name", "tide_table")
	answer, err := c.Do(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if !bytes.HasPrefix(body, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,`, id)) {
		return fmt.Errorf("answer %s", body)
	}
	return nil
}

// floorVar makes the test binary the server of the rows: "stdio" or "http".
const floorVar = "MCPCAT_MCP_TEST_FLOOR"

// serveFloor is as little as a server can do.
func serveFloor(kind string) int {
	if kind == "http" {
		return serveFloorHTTP()
	}
	serveFloorLines(os.Stdin, os.Stdout)
	return 0
}

func serveFloorLines(r io.Reader, w io.Writer) {
	in, out := bufio.NewReaderSize(r, 64<<10), bufio.NewWriterSize(w, 64<<10)
	var answer []byte
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		answer = answerOf(answer[:0], line)
		_, _ = out.Write(answer)
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}

func serveFloorHTTP() int {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(ln.Addr())
	go func() {
		_ = http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // the client sees it
			}
			answer := answerOf(nil, body)
			answer = answer[:len(answer)-1]
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
			_, _ = w.Write(answer)
		}))
	}()
	_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark is over
	return 0
}
