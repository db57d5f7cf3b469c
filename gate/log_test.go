package gate

import (
	"io"
	"log/slog"
	"sync"
)

// testLogger writes text lines to w, one writer at a time.
func testLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(&locked{w: w}, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
