// Command refclient is a small MCP client for revision 2026-07-28 that shares no line with mcpcat: tests compare the
// bytes that it receives with the bytes that mcpcat hands on.
//
//	refclient METHOD PARAMS -- COMMAND [ARG...]      over stdio
//	refclient -url=URL METHOD PARAMS                 over Streamable HTTP
//
// PARAMS is a JSON object without "_meta"; refclient adds that. One request is sent, nothing before it. The exact bytes
// of the response's "result" member go to standard output, followed by a line feed; exit status 0. If the answer is a
// JSON-RPC error its bytes go to standard error and the exit status is 2; anything else is exit status 1.
//
// It checks no more than it needs for that: it is a yardstick for bytes, no judge of servers.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	protocol  = "2026-07-28"
	requestID = "refclient-1"
	maxBytes  = 16 << 20
)

func main() {
	url := flag.String("url", "", "ask the Streamable HTTP server at this `URL`")
	timeout := flag.Duration("timeout", 20*time.Second, "give up after this time")
	flag.Parse()
	result, err := run(*url, *timeout, flag.Args())
	var refused *rpcError
	switch {
	case errors.As(err, &refused):
		fmt.Fprintf(os.Stderr, "%s\n", refused.raw)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "refclient:", err)
		os.Exit(1)
	}
	if _, err := os.Stdout.Write(append(result, '\n')); err != nil {
		os.Exit(1)
	}
}

func run(url string, timeout time.Duration, args []string) ([]byte, error) {
	if len(args) < 2 {
		return nil, errors.New("usage: refclient [-url=URL] METHOD PARAMS [-- COMMAND ARG...]")
	}
	method, command := args[0], args[2:]
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if (url == "") == (len(command) == 0) {
		return nil, errors.New("want either -url or a command")
	}
	var params map[string]json.RawMessage
	if err := json.Unmarshal([]byte(args[1]), &params); err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	if params == nil {
		return nil, errors.New("params: want an object")
	}
	params["_meta"] = json.RawMessage(`{"io.modelcontextprotocol/protocolVersion":"` + protocol + `",` +
		`"io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"refclient","version":"1"}}`)
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": requestID, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if url != "" {
		return overHTTP(ctx, url, method, params, request)
	}
	return overStdio(ctx, command, request)
}

func overStdio(ctx context.Context, command []string, request []byte) ([]byte, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := func() {
		in.Close()
		cmd.Wait() // its exit status is no part of the answer; CommandContext bounds the wait
	}
	if _, err := in.Write(append(request, '\n')); err != nil {
		stop()
		return nil, err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxBytes)
	for lines.Scan() {
		result, done, err := answer(lines.Bytes())
		if done {
			result = bytes.Clone(result)
			stop()
			return result, err
		}
	}
	err = lines.Err()
	stop()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return nil, fmt.Errorf("no answer: %w", err)
}

func overHTTP(ctx context.Context, url, method string, params map[string]json.RawMessage, request []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(request))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", protocol)
	req.Header.Set("Mcp-Method", method)
	if method == "tools/call" {
		var name string
		if err := json.Unmarshal(params["name"], &name); err != nil {
			return nil, fmt.Errorf("params.name: %w", err)
		}
		req.Header.Set("Mcp-Name", headerValue(name))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body := io.LimitReader(resp.Body, maxBytes)
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		b, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		result, done, err := answer(b)
		if !done {
			return nil, fmt.Errorf("status %d, no answer in the body", resp.StatusCode)
		}
		return result, err
	}
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxBytes)
	var data [][]byte
	for lines.Scan() {
		line := lines.Bytes()
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.Clone(bytes.TrimPrefix(rest, []byte(" "))))
			continue
		}
		if len(line) > 0 || len(data) == 0 {
			continue
		}
		result, done, err := answer(bytes.Join(data, []byte("\n")))
		if done {
			return result, err
		}
		data = nil
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return nil, errors.New("the stream ended without an answer")
}

// headerValue writes a name as it is if it is plain ASCII, and in the protocol's base64 form otherwise.
func headerValue(name string) string {
	plain := name != "" && name == strings.TrimSpace(name) && !strings.HasPrefix(name, "=?base64?")
	for i := range len(name) {
		plain = plain && name[i] >= 0x20 && name[i] < 0x7f
	}
	if plain {
		return name
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(name)) + "?="
}

// answer takes the result out of a message if the message answers our request; done is false for any other message.
func answer(message []byte) (result []byte, done bool, err error) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(message, &m); err != nil || m.Method != "" {
		return nil, false, nil
	}
	switch {
	case m.Error != nil:
		return nil, true, &rpcError{m.Error}
	case string(m.ID) == `"`+requestID+`"` && m.Result != nil:
		return m.Result, true, nil
	}
	return nil, false, nil
}

type rpcError struct{ raw json.RawMessage }

func (e *rpcError) Error() string { return string(e.raw) }
