package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"unicode/utf8"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/upstream"
)

// logVariable is the environment variable with the level of the log; the flag wins.
const logVariable = "MCPCAT_LOG"

// levels are the levels of the log from the least to the most.
var levels = []struct {
	name  string
	level slog.Level
}{
	{"error", slog.LevelError},
	{"warn", slog.LevelWarn},
	{"info", slog.LevelInfo},
	{"debug", slog.LevelDebug},
	{"trace", upstream.LevelTrace},
}

// logFlags are flags of every command.
func (a *app) logFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name: "log-level", Usage: "log at the level `error|warn|info|debug|trace` on standard error, debug also processes, trace also messages; default: info for serve, otherwise no log", OnlyOnce: true, Destination: &a.flags.logLevel,
			Validator: func(s string) error { _, err := parseLevel(s); return err },
		},
		&cli.StringFlag{Name: "log-format", Usage: "log as `text|json`", Value: "text", OnlyOnce: true, Destination: &a.flags.logFormat, Validator: func(s string) error {
			if s != "text" && s != "json" {
				return fmt.Errorf("got %s, want text or json", diag.Quote(s, 0))
			}
			return nil
		}},
	}
}

func parseLevel(s string) (slog.Level, error) {
	var names []string
	for _, l := range levels {
		if l.name == s {
			return l.level, nil
		}
		names = append(names, l.name)
	}
	last := len(names) - 1
	return 0, fmt.Errorf("got %s, want %s or %s", diag.Quote(s, 0), strings.Join(names[:last], ", "), names[last])
}

// startLog makes the log that flag and environment ask for, if any does. It is called when the flags of a command are
// known.
func (a *app) startLog() error {
	wanted := a.flags.logLevel
	if wanted == "" {
		if wanted, _ = a.Lookup(logVariable); wanted == "" {
			return nil
		}
	}
	level, err := parseLevel(wanted)
	if err != nil {
		return usage("%s: %s.", logVariable, err) // the flag was checked
	}
	a.log, a.logWanted = a.logger(level), true
	return nil
}

// logger is a log on standard error that says what is of this level or above it.
func (a *app) logger(level slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, at slog.Attr) slog.Attr {
		if at.Key != slog.LevelKey || len(groups) > 0 {
			return at
		}
		if level, ok := at.Value.Any().(slog.Level); ok && level == upstream.LevelTrace {
			at.Value = slog.StringValue("TRACE")
		}
		return at
	}}
	w := lineWriter{a}
	if a.flags.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// logs reports whether the log says what a progress would say as well.
func (a *app) logs() bool { return a.log.Enabled(context.Background(), slog.LevelDebug) }

// maxTraced is how much of a message of an agent a trace shows, as upstream does of a server's.
const maxTraced = 4 << 10

// traceAgent logs the messages of an agent and those to it, redacted whole, then cut, then escaped.
func (a *app) traceAgent(log *slog.Logger, agent string) func(sent bool, message []byte) {
	ctx := context.Background()
	if !log.Enabled(ctx, upstream.LevelTrace) {
		return nil
	}
	return func(sent bool, message []byte) {
		what := "received"
		if sent {
			what = "sent"
		}
		text, more := a.hidden.shown.Redact(message), ""
		if len(text) > maxTraced {
			n := maxTraced
			for n > 0 && !utf8.RuneStart(text[n]) {
				n--
			}
			text, more = text[:n], "…"
		}
		log.LogAttrs(ctx, upstream.LevelTrace, what, slog.String("agent", agent), slog.Int("size", len(message)), slog.String("text", diag.Escape(string(text))+more))
	}
}

// lineWriter writes whole log records through the writer that hides secrets, and lets go of what that keeps back.
type lineWriter struct{ a *app }

func (w lineWriter) Write(b []byte) (int, error) {
	n, err := w.a.err.Write(b)
	if f, ok := w.a.err.(interface{ Flush() error }); ok {
		err = errors.Join(err, f.Flush())
	}
	return n, err
}

var _ io.Writer = lineWriter{}
