package mcp

import (
	"context"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"
)

// A Transport says how to reach a server: a *StdioTransport, a *HTTPTransport or what NewIOTransport returns. It is data;
// Connect does the reaching, and takes a copy.
type Transport interface {
	transport()
}

// StdioTransport starts a command and speaks with it over its standard input and output, one message per line.
//
// Spec: 2026-07-28 basic/transports/stdio.
type StdioTransport struct {
	Command string   // a path, or a name that is looked up in PATH
	Args    []string // without the command itself
	// Env is the whole environment of the child, as "NAME=value"; nil means MinimalEnv(). It is not added to this
	// process's environment.
	Env []string
	Dir string // working directory, "" for this process's
	// Grace is how long Close waits for the child to end by itself once its input is closed, before the process group is
	// killed. 0 means the default of 2 s.
	Grace  time.Duration
	Limits Limits
}

// NewStdioTransport returns a transport that starts command with args in a minimal environment.
func NewStdioTransport(command string, args []string) *StdioTransport {
	return &StdioTransport{Command: command, Args: args}
}

func (*StdioTransport) transport() {}

// HTTPTransport speaks Streamable HTTP with one endpoint: every request is a POST of its own.
//
// Plain http is for loopback addresses only. Loopback and private addresses need AllowPrivate, whatever their spelling;
// that is checked when a connection is made, so a name that changes its address is caught.
//
// Spec: 2026-07-28 basic/transports/streamable-http.
type HTTPTransport struct {
	URL string
	// Headers are sent with every request. Names that belong to the protocol, to HTTP or to proxies are refused.
	Headers http.Header
	// Authorize, if set, adds authentication or trace headers to one request. It runs for each, and cannot set the
	// headers refused in Headers.
	Authorize    func(ctx context.Context, h http.Header) error
	AllowPrivate bool
	// Redirects is how many redirects (307 or 308, same origin) a request may follow; 0 is none.
	Redirects int
	Limits    Limits
}

// NewStreamableHTTPTransport returns a transport for the endpoint url.
func NewStreamableHTTPTransport(url string) *HTTPTransport {
	return &HTTPTransport{URL: url}
}

func (*HTTPTransport) transport() {}

// MinimalEnv returns the part of this process's environment that a child gets unless told otherwise, as "NAME=value":
// PATH, HOME, USER, LOGNAME, SHELL, TMPDIR, TZ, LANG, LC_* and TERM; on Windows their kin. A variable that is not set is
// left out.
func MinimalEnv() []string { return minimalEnv(os.Environ(), runtime.GOOS) }

func minimalEnv(environ []string, goos string) []string {
	kept := map[string]bool{
		"PATH": true, "HOME": true, "USER": true, "LOGNAME": true, "SHELL": true,
		"TMPDIR": true, "TZ": true, "LANG": true, "TERM": true,
	}
	if goos == "windows" {
		for _, name := range []string{
			"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES",
			"PROGRAMFILES(X86)", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR",
		} {
			kept[name] = true
		}
	}
	env := []string{}
	for _, entry := range environ {
		name, _, ok := strings.Cut(entry, "=")
		if goos == "windows" {
			name = strings.ToUpper(name)
		}
		if ok && (kept[name] || strings.HasPrefix(name, "LC_")) {
			env = append(env, entry)
		}
	}
	return env
}
