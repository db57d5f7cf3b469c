package upstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
	"github.com/mcpcat-dev/mcpcat/internal/transport"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

const (
	maxTokenOutput = 64 << 10
	maxTokenBytes  = 8 << 10
)

// tokenRef is by what name people speak of the token of a command.
const tokenRef = "auth.command"

// TokenError says that auth { command } has given no token. Nothing of what the command has printed is in it.
type TokenError struct {
	Command string // the program, as the catalog writes it
	Reason  string // in words of this package
	// Stderr is the escaped end of what it wrote to its standard error, at most 256 bytes, without secrets.
	Stderr string
	Err    error // nil if the command has ended as it should
}

func (e *TokenError) Error() string { return fmt.Sprintf("auth.command %q %s", e.Command, e.Reason) }

// Unwrap returns Err.
func (e *TokenError) Unwrap() error { return e.Err }

// token runs auth { command } once, in the catalog directory, with the minimal environment, for at most the connect timeout
// and what its end takes, and makes what it prints a secret of the server.
func (d Dialer) token(ctx context.Context, s *catalog.Server) (secret.String, error) {
	words := s.HTTP.AuthCommand
	failed := func(err error, format string, args ...any) (secret.String, error) {
		e := &TokenError{Command: words[0], Reason: fmt.Sprintf(format, args...), Err: err}
		var lower *transport.Error
		if errors.As(err, &lower) {
			e.Stderr = lower.Stderr
		}
		return secret.String{}, e
	}
	timed, cancel := context.WithTimeout(ctx, s.Timeouts.Connect)
	defer cancel()
	known := s.Secrets()
	out, err := transport.Output(timed, transport.StdioConfig{
		Command: d.path(words[0]), Args: words[1:], Env: mcp.MinimalEnv(), Dir: d.Dir,
	}, maxTokenOutput, func(output []byte) transport.Redact {
		// What it prints is meant to be a secret, and it may say the same of it on its standard error.
		return secret.NewRedactor(append(known, secret.New(string(output), tokenRef), secret.New(trimEnd(string(output)), tokenRef))...).Redact
	})
	var (
		exit *transport.ExitError
		over *transport.LimitError
	)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return secret.String{}, ctx.Err()
	case timed.Err() != nil && errors.Is(err, context.DeadlineExceeded):
		return failed(err, "did not end within %s, which is the connect timeout", s.Timeouts.Connect.Round(time.Millisecond))
	case errors.As(err, &exit):
		return failed(err, "ended with %s, want a token on its standard output and exit status 0", exit.Status)
	case errors.As(err, &over):
		return failed(err, "printed more than %d bytes, want a token and nothing else", over.Limit)
	default:
		return failed(err, "could not be started: %v", errors.Unwrap(err))
	}
	text := trimEnd(string(out))
	switch {
	case text == "":
		return failed(nil, "printed nothing, want a token on its standard output")
	case len(text) > maxTokenBytes:
		return failed(nil, "printed %d bytes, want a token of at most %d", len(text), maxTokenBytes)
	case !catalog.ValidToken(text):
		return failed(nil, "printed something with a blank, a line end within it or another character that a token cannot have, want a token and nothing else. It is not shown")
	}
	t := secret.New(text, tokenRef)
	s.Learn(t)
	return t, nil
}

// trimEnd takes off one final LF or CR LF.
func trimEnd(s string) string {
	line, found := strings.CutSuffix(s, "\n")
	if found {
		line = strings.TrimSuffix(line, "\r")
	}
	return line
}
