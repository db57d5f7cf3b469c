package upstream

import (
	"context"
	"log/slog"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// LevelTrace is the level of every message, below slog.LevelDebug, which has the start and the end of processes.
const LevelTrace = slog.Level(-8)

// trace logs what happens between a client and the server s, nil if the logger wants nothing of it.
func (d Dialer) trace(s *catalog.Server) func(mcp.TraceEvent) {
	log, ctx := d.Logger, context.Background()
	if log == nil || !log.Enabled(ctx, slog.LevelDebug) {
		return nil
	}
	return func(e mcp.TraceEvent) {
		level := LevelTrace
		if e.Kind == mcp.TraceStart || e.Kind == mcp.TraceExit {
			level = slog.LevelDebug
		}
		if log.Enabled(ctx, level) {
			log.LogAttrs(ctx, level, string(e.Kind), attributes(&e, s)...)
		}
	}
}

// attributes are what an event says. It is safe to print already, but diag knows more of what readers cannot see, and what
// programs that read a log obey.
func attributes(e *mcp.TraceEvent, s *catalog.Server) []slog.Attr {
	attrs := []slog.Attr{slog.String("server", e.Server)}
	text := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, diag.Escape(value)))
		}
	}
	list := func(name string, values []string) {
		shown := make([]string, len(values))
		for i, v := range values {
			shown[i] = diag.Escape(v)
		}
		attrs = append(attrs, slog.Any(name, shown))
	}
	text("method", e.Method)
	text("id", e.ID)
	switch {
	case e.URL == "":
	case s.HTTP != nil && s.HTTP.URL.Secret() && !e.Redirected:
		// A secret that is too short for the redactor is in the URL all the same.
		text("url", s.HTTP.URL.String())
	default:
		text("url", e.URL)
	}
	switch e.Kind {
	case mcp.TraceStart, mcp.TraceExit:
		text("command", e.Command)
		attrs = append(attrs, slog.Int("args", e.Args), slog.Int("pid", e.PID))
		if e.Kind == mcp.TraceStart {
			list("env", e.Env)
		}
		text("exit", e.Exit)
	case mcp.TraceStatus:
		attrs = append(attrs, slog.Int("status", e.Status))
	default:
		attrs = append(attrs, slog.Int("size", e.Size))
	}
	if e.Header != nil {
		list("header", e.Header)
	}
	text("text", e.Text)
	return attrs
}
