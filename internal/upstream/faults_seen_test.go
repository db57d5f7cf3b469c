//go:build linux

package upstream

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/mcpcat-dev/mcpcat/mcp"
)

// seen says in one line of which kind an error is, as a caller can find out: the type of package mcp and the field that
// tells its errors apart. What differs from run to run and from step to step is left out of it.
func seen(err error) string {
	if err == nil {
		return "success"
	}
	var lower *mcp.TransportError
	for e := err; e != nil; e = errors.Unwrap(e) {
		switch e := e.(type) {
		case *mcp.ServerError:
			continue
		case *mcp.TransportError:
			lower = e
			continue
		case *mcp.LegacyServerError:
			return "LegacyServerError"
		case *mcp.NotMCPError:
			return "NotMCPError " + e.Reason
		case *mcp.UnsupportedVersionError:
			return fmt.Sprintf("UnsupportedVersionError malformed=%t", e.Malformed)
		case *mcp.MissingCapabilityError:
			return fmt.Sprintf("MissingCapabilityError malformed=%t", e.Malformed)
		case *mcp.HeaderMismatchError:
			return "HeaderMismatchError"
		case *mcp.AuthError:
			return fmt.Sprintf("AuthError %d", e.Status)
		case *mcp.AddressError:
			return "AddressError " + e.Reason
		case *mcp.TimeoutError:
			return "TimeoutError " + plain(e.Op) + ": " + plain(e.Waiting)
		case *mcp.StallError:
			return "StallError " + e.Where
		case *mcp.ExitError:
			return "ExitError " + e.Status
		case *mcp.LostError:
			return "LostError " + e.Where
		case *mcp.ConnectError:
			return "ConnectError " + e.Reason
		case *mcp.TLSError:
			return "TLSError " + e.Reason
		case *mcp.LimitError:
			return "LimitError " + plain(e.What)
		case *mcp.RPCError:
			return fmt.Sprintf("RPCError %d", e.Code)
		case *mcp.ProtocolError:
			if e.Err != nil { // the framing, whose reason says where
				return "ProtocolError " + plain(e.Reason)
			}
			return "ProtocolError " + e.Path + " " + plain(e.Reason)
		case *mcp.ContextError:
			return "ContextError"
		}
		if errors.Is(e, mcp.ErrSubscriptionCancelled) {
			return "ErrSubscriptionCancelled"
		}
	}
	switch {
	case lower == nil:
		return fmt.Sprintf("%T", err)
	case lower.Status >= 300:
		s := fmt.Sprintf("TransportError status %d", lower.Status)
		if lower.RPC != nil {
			s += fmt.Sprintf(" RPC %d", lower.RPC.Code)
		}
		return s
	}
	return "TransportError " + lower.Op
}

var plainer = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`^(answer (?:to id|without an id)\b).*?(: JSON-RPC error -\d+)?(?: ".*)?$`), "$1$2"},
	{regexp.MustCompile(`\b(?:server/discover|tools/list|tools/call|subscriptions/listen)\b`), "M"},
	{regexp.MustCompile(`\bnotifications/M_changed\b`), "notifications/tools/list_changed"},
	{regexp.MustCompile(`: "(?:[^"\\]|\\.)*"$`), ""}, // an excerpt
	{regexp.MustCompile(` \(byte \d+\)`), ""},
	{regexp.MustCompile(`at /[^ )]*`), "at P"},
	{regexp.MustCompile(`(got the end of the text).*\)$`), "$1)"},
	{regexp.MustCompile(`byte 0x[0-9a-f]{2}`), "a byte"},
	{regexp.MustCompile(`"(?:[^"\\]|\\.)*"`), "…"},
	{regexp.MustCompile(`\b\d+ events? so far`), "N events so far"},
	{regexp.MustCompile(` \(\d+ bytes so far\)`), ""},
	{regexp.MustCompile(`^(the answer is not HTTP as it should be).*`), "$1"},
}

func plain(s string) string {
	for _, p := range plainer {
		s = p.pattern.ReplaceAllString(s, p.with)
	}
	return s
}

// troubles says what is wrong with an error as a text for people.
func troubles(err error) []string {
	var out []string
	var named *mcp.ServerError
	text := err.Error()
	if !errors.As(err, &named) || named.Server != "server.harbour" || !strings.HasPrefix(text, "server.harbour: ") || strings.Count(text, "server.harbour") != 1 {
		out = append(out, "it does not name the server in front, once")
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.ContainsFunc(e.Error(), func(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' || r == 0x9b }) {
			out = append(out, fmt.Sprintf("%T has raw control bytes in %q", e, e.Error()))
		}
		if len(e.Error()) > textBytes {
			out = append(out, fmt.Sprintf("%T has a text of %d bytes, want at most %d", e, len(e.Error()), textBytes))
		}
	}
	return out
}

// stderr is the end of a child's standard error that an error carries.
func stderr(err error) string {
	var lower *mcp.TransportError
	var late *mcp.TimeoutError
	var stall *mcp.StallError
	switch {
	case errors.As(err, &lower):
		return lower.Stderr
	case errors.As(err, &late):
		return late.Stderr
	case errors.As(err, &stall):
		return stall.Stderr
	}
	return ""
}
