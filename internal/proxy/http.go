package proxy

import (
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpcat-dev/mcpcat/gate"
	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
)

// Path is where the endpoint stands.
const Path = "/mcp"

// Bounds of HTTPServer.
const (
	maxHeaderBytes = 64 << 10
	headerTimeout  = 10 * time.Second // until the header is read
	readTimeout    = time.Minute      // until the body is read
	idleTimeout    = 2 * time.Minute  // between two requests on one connection
	writeTimeout   = 30 * time.Second // for writing an answer; a call may take longer than that
)

// Header values that every answer shares; net/http only reads them.
var (
	noStore  = []string{"no-store"}
	noSniff  = []string{"nosniff"}
	jsonType = []string{"application/json"}
)

// HTTPServer returns a server for h with bounds on headers (64 KiB, 10 s), bodies (60 s) and idle connections (120 s). It
// has no bound on how long a call takes: that is the gate's. The number of connections is bounded by the listener, see
// Limit, and the bytes of all bodies by the handler.
func HTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
}

// Handler answers POST /mcp. What is checked, in this order: Origin and Host (403), method (405), path (404), content type
// (415), Accept (406), size (413), room for the body beside others (503), JSON (-32700), shape (-32600), then the headers against the body, _meta, method, params,
// tool, and the headers that mirror arguments. A notification is answered with 202 and has no effect.
//
// Every answer is application/json. An agent that closes the connection cancels its call.
//
// Spec: 2026-07-28 basic/transports/streamable-http.
func (s *Server) Handler() http.Handler {
	for name, reason := range s.Withheld() {
		s.log.Warn("tool is not offered over HTTP: its header annotation is not valid", "tool", name, "reason", reason)
	}
	return http.HandlerFunc(s.handle)
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	if !s.allowedOrigin(r) || !s.allowedHost(r) {
		plain(w, http.StatusForbidden, "this origin or host may not use the server")
		return
	}
	if r.Method != http.MethodPost {
		h.Set("Allow", http.MethodPost)
		plain(w, http.StatusMethodNotAllowed, "want POST")
		return
	}
	if r.URL.Path != Path {
		plain(w, http.StatusNotFound, "the endpoint is "+Path)
		return
	}
	if !jsonContent(r.Header) {
		plain(w, http.StatusUnsupportedMediaType, "want Content-Type: application/json without Content-Encoding")
		return
	}
	if !acceptsJSON(r.Header.Values("Accept")) {
		plain(w, http.StatusNotAcceptable, "answers are application/json")
		return
	}
	body, err := s.readBody(w, r)
	defer body.release()
	if err != nil {
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			plain(w, http.StatusRequestEntityTooLarge, "want at most "+strconv.Itoa(MaxMessageBytes)+" bytes")
		case errors.Is(err, errBusy):
			h.Set("Retry-After", "1")
			plain(w, http.StatusServiceUnavailable, "too many large requests at a time: try again later")
		default:
			plain(w, http.StatusBadRequest, "the body could not be read")
		}
		return
	}
	if s.opts.Trace != nil {
		s.opts.Trace(false, body.bytes)
	}
	m, id, f := read(body.bytes)
	if f != nil {
		s.fail(w, id, f)
		return
	}
	switch m.Kind {
	case jsonrpc.Request:
	case jsonrpc.Notification:
		w.WriteHeader(http.StatusAccepted)
		return
	default:
		s.fail(w, jsonrpc.ID{}, newFault(http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "invalid request: got an answer, want a request"))
		return
	}
	req := newRequest(m)
	f = req.checkHeaders(r.Header)
	if f == nil {
		f = req.checkMeta()
	}
	if f == nil && !known(req.Method) {
		f = methodNotFound(req.Method)
	}
	if f != nil {
		s.fail(w, m.ID, f)
		return
	}
	ctx := r.Context()
	result, f := s.serve(ctx, req, true, func(t gate.Tool) *fault { return s.checkParamHeaders(t, req.arguments, r.Header) })
	switch {
	case f != nil:
		s.fail(w, m.ID, f)
	case result == nil: // the agent has left
		panic(http.ErrAbortHandler)
	default:
		s.write(w, http.StatusOK, jsonrpc.AppendResult(make([]byte, 0, len(result)+64), m.ID, result))
	}
}

func (s *Server) fail(w http.ResponseWriter, id jsonrpc.ID, f *fault) {
	status := f.status
	if status == 0 {
		status = http.StatusOK
	}
	s.write(w, status, jsonrpc.AppendError(nil, id, &f.Error))
}

func (s *Server) write(w http.ResponseWriter, status int, body []byte) {
	if s.opts.Trace != nil {
		s.opts.Trace(true, body)
	}
	h := w.Header()
	h["Content-Type"] = jsonType
	h.Set("Content-Length", strconv.Itoa(len(body)))
	deadline(w)
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		s.log.Debug("answer could not be written", "error", err)
	}
}

// deadline bounds the writing of one answer. A writer that cannot be bounded is one of a test or of a wrapper.
func deadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
}

func plain(w http.ResponseWriter, status int, text string) {
	deadline(w)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // whoever does not read it has the status
}

func (s *Server) allowedOrigin(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		if origin == "null" || !slices.Contains(s.opts.Origins, origin) {
			return false
		}
	}
	return true
}

func (s *Server) allowedHost(r *http.Request) bool {
	if s.opts.Hosts == nil {
		return true
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return slices.Contains(s.opts.Hosts, host)
}

func jsonContent(h http.Header) bool {
	if len(h["Content-Type"]) != 1 {
		return false
	}
	if enc := h.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return false
	}
	value := h["Content-Type"][0]
	if value == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(value)
	if err != nil || media != "application/json" {
		return false
	}
	charset, has := params["charset"]
	return !has || strings.EqualFold(charset, "utf-8")
}

// acceptsJSON says whether a client takes one of the two types of this protocol. The answer is always JSON; a client that
// takes events only is one of this protocol as well, which obliges it to take both.
func acceptsJSON(accept []string) bool {
	if len(accept) == 0 {
		return true
	}
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			media, params, err := mime.ParseMediaType(part)
			if err != nil {
				media = strings.ToLower(strings.TrimSpace(part))
			}
			if q, err := strconv.ParseFloat(params["q"], 64); err == nil && q == 0 {
				continue
			}
			switch media {
			case "*/*", "application/*", "application/json", "text/event-stream", "":
				return true
			}
		}
	}
	return false
}
