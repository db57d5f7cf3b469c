// Command odd is an MCP server that misbehaves in one chosen way, over stdio or, with -http, over Streamable HTTP. It
// is written by hand on the standard library, so that it can send what no SDK would.
//
// Modes for both transports:
//
//	ok                  nothing is wrong: two tools, first and second
//	legacy              does not know server/discover; speaks an older revision
//	legacy-versions     answers server/discover with older revisions only
//	unsupported         refuses the revision with -32022 and names an older one
//	silent              reads and never answers
//	duplicate-members   the discover result has one member twice
//	duplicate-tool      tools/list names one tool twice
//	changes             every tools/list differs from the one before
//	slow-list           tools/list is never answered
//	slow-call           tools/call is never answered
//
// Modes for stdio only:
//
//	garbage             prints a banner on standard output, then behaves
//	echo                sends every line back
//	exit                ends at once with a message on standard error
//
// Mode for HTTP only:
//
//	html                an ordinary web server: 404 and a page
//
// With -pid=FILE the process appends its process id to FILE when it starts. With -stubborn it ignores SIGTERM and
// SIGINT, and goes on after standard input has ended.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	bothModes  = []string{"ok", "legacy", "legacy-versions", "unsupported", "silent", "duplicate-members", "duplicate-tool", "changes", "slow-list", "slow-call"}
	stdioModes = []string{"garbage", "echo", "exit"}
	httpModes  = []string{"html"}
)

// lifetime ends the process whatever its client does, so that a failing test leaves nothing behind for long.
const lifetime = 2 * time.Minute

func main() {
	mode := flag.String("mode", "ok", "how to misbehave")
	addr := flag.String("http", "", "serve Streamable HTTP at this `address` instead of stdio")
	pid := flag.String("pid", "", "append the process id to this `file`")
	stubborn := flag.Bool("stubborn", false, "ignore polite requests to stop")
	flag.Parse()
	time.AfterFunc(lifetime, func() { os.Exit(3) })
	if err := run(*mode, *addr, *pid, *stubborn); err != nil {
		fmt.Fprintln(os.Stderr, "odd:", err)
		os.Exit(1)
	}
}

func run(mode, addr, pid string, stubborn bool) error {
	own := stdioModes
	if addr != "" {
		own = httpModes
	}
	if !slices.Contains(bothModes, mode) && !slices.Contains(own, mode) {
		return fmt.Errorf("no mode %q on this transport", mode)
	}
	if pid != "" {
		f, err := os.OpenFile(pid, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(f, os.Getpid()); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	if stubborn {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	}
	s := &server{mode: mode}
	if addr != "" {
		return s.http(addr)
	}
	err := s.stdio(os.Stdin, os.Stdout)
	if stubborn {
		time.Sleep(lifetime)
	}
	return err
}

type server struct {
	mode  string
	lists atomic.Int64 // tools/list answers so far
}

func (s *server) stdio(in io.Reader, out io.Writer) error {
	switch s.mode {
	case "exit":
		return fmt.Errorf("cannot find the harbour")
	case "garbage":
		if _, err := io.WriteString(out, "*** Welcome to the harbour! ***\n"); err != nil {
			return err
		}
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if s.mode == "echo" {
			if _, err := fmt.Fprintf(out, "%s\n", lines.Bytes()); err != nil {
				return err
			}
			continue
		}
		answer, ok := s.answer(lines.Bytes())
		if !ok {
			continue
		}
		if _, err := io.WriteString(out, answer+"\n"); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (s *server) http(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "listening at", l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
		if err != nil {
			return
		}
		switch s.mode {
		case "html":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, "<!DOCTYPE html><title>404</title><h1>Not here</h1>\n")
			return
		case "legacy":
			http.Error(w, "Bad Request: Unsupported protocol version (supported versions: 2025-11-25,2025-06-18)", http.StatusBadRequest)
			return
		}
		answer, ok := s.answer(body)
		if !ok {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if s.mode == "unsupported" {
			w.WriteHeader(http.StatusBadRequest)
		}
		io.WriteString(w, answer)
	}))
}

// answer is the response to one request; ok is false if none is sent.
func (s *server) answer(request []byte) (response string, ok bool) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(request, &m) != nil || m.ID == nil || s.mode == "silent" {
		return "", false
	}
	result := func(body string) (string, bool) {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete",%s}}`, m.ID, body), true
	}
	failure := func(code int, message, rest string) (string, bool) {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q%s}}`, m.ID, code, message, rest), true
	}
	switch {
	case s.mode == "legacy":
		return failure(-32601, "Method not found", "")
	case s.mode == "unsupported":
		return failure(-32022, "Unsupported protocol version: 2026-07-28", `,"data":{"supported":["2025-11-25"],"requested":"2026-07-28"}`)
	}
	switch m.Method {
	case "server/discover":
		versions, twice := `["2026-07-28"]`, ""
		switch s.mode {
		case "legacy-versions":
			versions = `["2025-11-25","2025-06-18"]`
		case "duplicate-members":
			twice = `"ttlMs":0,`
		}
		return result(`"supportedVersions":` + versions + `,"capabilities":{"tools":{}},` + twice + `"ttlMs":0,"cacheScope":"private",` +
			`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"odd","version":"1.0.0"}}`)
	case "tools/list":
		n := s.lists.Add(1)
		if s.mode == "slow-list" {
			return "", false
		}
		first := "The first tool."
		if s.mode == "changes" {
			first = fmt.Sprintf("The first tool, told %d times.", n)
		}
		tools := []string{tool("first", first), tool("second", "The second tool.")}
		if s.mode == "duplicate-tool" {
			tools = append(tools, tool("first", "Another first tool."))
		}
		return result(`"tools":[` + strings.Join(tools, ",") + `],"ttlMs":0,"cacheScope":"private"`)
	case "tools/call":
		if s.mode == "slow-call" {
			return "", false
		}
		return result(`"content":[{"type":"text","text":"done"}]`)
	}
	return failure(-32601, "Method not found", "")
}

func tool(name, description string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, description)
}
