package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
	"github.com/mcpcat-dev/mcpcat/internal/upstream"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// The codes of what can go wrong with one server. They are part of the JSON documents and of docs/errors.md.
const (
	CodeNotApproved    = "server.not_approved"
	CodeInterrupted    = "server.interrupted"
	CodeConnect        = "server.connect_failed"
	CodeConnectTimeout = "server.connect_timeout"
	CodeTimeout        = "server.timeout"
	CodeStalled        = "server.stalled"
	CodeLost           = "server.lost"
	CodeTLS            = "server.tls"
	CodeStart          = "server.start_failed"
	CodeExited         = "server.exited"
	CodeContent        = "server.content"
	CodeIdentity       = "server.identity"
	CodeUnauthorized   = "server.unauthorized"
	CodeToken          = "server.no_token"
	CodeAddress        = "server.address_refused"
	CodeHTTPStatus     = "server.http_status"
	CodeUnsupported    = "server.protocol_unsupported"
	CodeNotMCP         = "server.not_mcp"
	CodeProtocol       = "server.protocol_error"
	CodeLimit          = "server.limit"
	CodeRPC            = "server.rpc_error"
	CodeUnstable       = "server.unstable"
	CodeEchoed         = "server.secret_echoed"
	CodeUnknown        = "server.failed"
)

// errEchoed is for secrets in what is left out of a surface. What is in it is looked at where it is compared.
var errEchoed = errors.New("a tool of its list that cannot be used here holds a secret of the server's own block")

// failure is a surface.Failure with the status that goes with it.
type failure struct {
	surface.Failure
	status surface.Status
}

func unchecked(code, message string, retryable bool) failure {
	return failure{surface.Failure{Code: code, Message: message, Retryable: retryable}, surface.NotChecked}
}

func refused(code, message string) failure {
	return failure{surface.Failure{Code: code, Message: message}, surface.Refused}
}

func interrupted() failure {
	return unchecked(CodeInterrupted, "The command was interrupted before this server was asked.", true)
}

// notApproved leaves the server's name out: it stands before every message.
func notApproved(err error, name string) failure {
	return unchecked(CodeNotApproved, sentence(strings.TrimPrefix(err.Error(), name+": ")), true)
}

// classify says in which way a server failed. A server that could not be reached was not checked; one that answered in a
// way that cannot be pinned is refused.
func classify(err error, s *catalog.Server) failure {
	var (
		legacy   *mcp.LegacyServerError
		version  *mcp.UnsupportedVersionError
		notMCP   *mcp.NotMCPError
		protocol *mcp.ProtocolError
		limit    *mcp.LimitError
		unstable *surface.UnstableError
		auth     *mcp.AuthError
		address  *mcp.AddressError
		timeout  *mcp.TimeoutError
		rpc      *mcp.RPCError
		stall    *mcp.StallError
		lost     *mcp.LostError
		secure   *mcp.TLSError
		lower    *mcp.TransportError
		syntax   *strictjson.Error
		request  *mcp.RequestError
		token    *upstream.TokenError
		content  *upstream.ContentError
		identity *upstream.IdentityError
	)
	switch {
	case errors.As(err, &token):
		return unchecked(CodeToken, sentence(withWords(token.Error(), token.Stderr)), true)
	case errors.As(err, &content):
		return unchecked(CodeContent, sentence(content.Error()), false)
	case errors.As(err, &identity):
		return refused(CodeIdentity, sentence(identity.Error()))
	case errors.As(err, &legacy):
		f := refused(CodeUnsupported, older(legacy.Versions))
		f.Offered = legacy.Versions
		if errors.As(err, &rpc) {
			f.RPCCode = rpc.Code
		}
		return f
	case errors.As(err, &version):
		f := refused(CodeUnsupported, older(version.Supported))
		f.Offered = version.Supported
		if version.RPC != nil {
			f.RPCCode = version.RPC.Code
		}
		return f
	case errors.As(err, &unstable):
		shown := unstable.Map(upstream.Redactor(s).RedactString)
		return refused(CodeUnstable, sentence(strings.TrimPrefix(shown.Error(), shown.Server+": ")))
	case errors.Is(err, errEchoed):
		return refused(CodeEchoed, sentence(err.Error()))
	case errors.As(err, &notMCP):
		return refused(CodeNotMCP, sentence(withStderr(notMCP.Error(), err)))
	case errors.As(err, &auth):
		return unchecked(CodeUnauthorized, sentence(auth.Error()), false)
	case errors.As(err, &address):
		return unchecked(CodeAddress, sentence(address.Error()), false)
	case errors.As(err, &timeout):
		code := CodeTimeout
		if strings.Contains(timeout.Op, "connect") {
			code = CodeConnectTimeout
		}
		return unchecked(code, sentence(withStderr(timeout.Error(), err)), true)
	case errors.As(err, &stall):
		return unchecked(CodeStalled, sentence(withStderr(stall.Error(), err)), true)
	case errors.As(err, &protocol):
		return refused(CodeProtocol, sentence(withStderr(protocol.Error(), err)))
	case errors.As(err, &limit):
		return refused(CodeLimit, sentence(limit.Error()))
	case errors.As(err, &syntax):
		return refused(CodeProtocol, sentence(err.Error()))
	case errors.As(err, &lower):
		code := CodeConnect
		switch {
		case errors.As(err, &secure):
			// What answers is not known to be the server: nothing that it says counts, and it is not asked again at once.
			return unchecked(CodeTLS, sentence(lower.Error())+trustHint(secure.Reason, s), false)
		case errors.As(err, &lost):
			code = CodeLost
		case lower.Status != 0:
			code = CodeHTTPStatus
		case s.Stdio != nil && lower.Op == "start":
			code = CodeStart
		case s.Stdio != nil:
			// Whether the request was written before the process ended is a race, and says nothing about the server.
			code = CodeExited
		}
		return unchecked(code, sentence(withStderr(lower.Error(), err)), true)
	case errors.As(err, &rpc):
		f := refused(CodeRPC, sentence(rpc.Error()))
		f.RPCCode = rpc.Code
		return f
	case errors.As(err, &request):
		return unchecked(CodeUnknown, sentence(request.Error()), false)
	case errors.Is(err, context.DeadlineExceeded):
		return unchecked(CodeTimeout, "No complete answer within the time that -timeout allows.", true)
	case errors.Is(err, context.Canceled):
		return interrupted()
	default:
		return unchecked(CodeUnknown, sentence(err.Error()), true)
	}
}

// trustHint says which part of a server's block decides about a certificate that was not accepted, "" if none does.
func trustHint(reason string, s *catalog.Server) string {
	var t catalog.TLS
	if s.HTTP != nil && s.HTTP.TLS != nil {
		t = *s.HTTP.TLS
	}
	switch {
	case reason == "untrusted" && t.CA != nil:
		return " For this server only the certificates of ca_file are trusted."
	case reason == "untrusted":
		return " If its authority is a private one, name the authority's certificate with tls { ca_file = \"FILE\" } in the http block; discover takes -ca-file=FILE."
	case reason == "name" && t.ServerName != "":
		return " server_name says which name it must be for."
	case reason == "name":
		return " If it is known under another name, say so with tls { server_name = \"NAME\" } in the http block."
	case reason == "pin":
		return " If its key was changed on purpose, put the new one into pin_sha256, then plan and apply."
	case reason == "client certificate" && t.Certificate == nil:
		return " Name one with tls { client_cert_file = \"FILE\", client_key_file = \"FILE\" } in the http block."
	case reason == "client certificate":
		return " It was shown that of client_cert_file."
	}
	return ""
}

func older(versions []string) string {
	speaks := "an older revision of MCP"
	if len(versions) > 0 {
		speaks = strings.Join(versions, ", ")
	}
	return fmt.Sprintf("The server speaks %s; mcpcat needs %s. Put a bridge such as mcp-proxy in front of it, or upgrade it.", speaks, mcp.ProtocolVersion)
}

// withStderr adds what a child wrote to its standard error, which is where programs say why they ended.
func withStderr(text string, err error) string {
	tail := ""
	var lower *mcp.TransportError
	var timeout *mcp.TimeoutError
	var stall *mcp.StallError
	switch {
	case errors.As(err, &stall):
		tail = stall.Stderr
	case errors.As(err, &lower):
		tail = lower.Stderr
	case errors.As(err, &timeout):
		tail = timeout.Stderr
	}
	return withWords(text, tail)
}

func withWords(text, tail string) string {
	tail = lastWords(tail)
	if tail == "" || strings.Contains(text, tail) {
		return text
	}
	return text + "; it wrote to standard error: " + tail
}

// lastWords is what a child wrote last, on one line: the first and the last line of it, since some programs say what is
// wrong before they print their usage and others after a trace. The tail is escaped already, a line end in it is \n.
func lastWords(tail string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(tail, `\n`, "\n"), "\n") {
		if line = strings.TrimSpace(strings.ReplaceAll(line, `\t`, " ")); line != "" {
			lines = append(lines, line)
		}
	}
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return lines[0]
	case 2:
		return lines[0] + " / " + lines[1]
	default:
		return lines[0] + " … " + lines[len(lines)-1]
	}
}

// sentence makes an error text a sentence for people: a capital and a full stop. A method name in front stays as it is.
// Foreign text in it is escaped by the error that carries it.
func sentence(s string) string {
	if s == "" {
		return s
	}
	first, _, _ := strings.Cut(s, " ")
	if c := s[0]; c >= 'a' && c <= 'z' && !strings.ContainsAny(first, "/:") {
		s = string(c-'a'+'A') + s[1:]
	}
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}
