package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// A server that could not be reached is tried again at the next call, but not before a wait that doubles with every
// failure in a row.
const (
	firstWait = 100 * time.Millisecond
	lastWait  = 30 * time.Second
)

// session is everything that the gate has with one server: the connection, which is made when first needed and made anew
// after it ended, and the walks over its list.
type session struct {
	gate    *Gate
	decl    *catalog.Server
	dial    func(context.Context, *catalog.Server) (*mcp.Client, error)
	tools   []*tool
	secrets secrets
	slots   chan struct{} // one for each call in flight
	renew   time.Duration // the age from which a connection may be replaced for its token
	log     *slog.Logger

	mu      sync.Mutex
	closed  bool
	conn    *conn
	opening *opening // the attempt that is running, nil if none is
	fails   int      // attempts that failed in a row
	next    time.Time
	running *walk // at most one runs and one waits
	waiting *walk
	last    *view // the last complete walk
	walks   uint64
	err     error // of the last attempt to reach or walk the server
}

// conn is one connection. Only the goroutine that walks uses snapshot and sights.
type conn struct {
	client   *mcp.Client
	snapshot *mcp.ToolsSnapshot // the last one, whose pages need not be read again while they stay the same
	sights   map[string]sight   // of snapshot
	opened   time.Time
}

type opening struct {
	done chan struct{}
	conn *conn
	err  error
}

func newSession(g *Gate, decl *catalog.Server, dial func(context.Context, *catalog.Server) (*mcp.Client, error)) *session {
	concurrency := decl.Limits.Concurrency
	if concurrency == 0 {
		concurrency = catalog.DefaultConcurrency
	}
	return &session{
		slots: make(chan struct{}, concurrency), renew: lastWait,
		gate: g, decl: decl, dial: dial, secrets: newSecrets(decl.Secrets()),
		log: g.log.With("server", decl.Addr.String()),
	}
}

// enter waits until a call more may be in flight. Whoever was let in leaves again.
func (s *session) enter(ctx context.Context) error {
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.gate.ctx.Done():
		return ErrClosed
	}
}

func (s *session) leave() { <-s.slots }

// connect returns the connection, or makes one: one attempt at a time, which all callers share and none can cancel.
func (s *session) connect(ctx context.Context) (*conn, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	if s.conn != nil {
		select {
		case <-s.conn.client.Done():
			s.dropLocked(s.conn)
		default:
			c := s.conn
			s.mu.Unlock()
			return c, nil
		}
	}
	o := s.opening
	if o == nil {
		if wait := time.Until(s.next); s.fails > 0 && wait > 0 {
			err := fmt.Errorf("not tried again for %v after %d failures: %w", wait.Round(time.Millisecond), s.fails, s.err)
			s.mu.Unlock()
			return nil, err
		}
		o = &opening{done: make(chan struct{})}
		s.opening = o
		s.gate.wg.Go(func() { s.open(o) })
	}
	s.mu.Unlock()
	select {
	case <-o.done:
		return o.conn, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *session) open(o *opening) {
	client, err := s.dial(s.gate.ctx, s.decl)
	s.secrets.set(s.decl.Secrets()) // a token may be new
	s.mu.Lock()
	s.opening = nil
	switch {
	case err != nil:
		s.fails++
		s.next = time.Now().Add(min(firstWait<<min(s.fails-1, 16), lastWait))
		o.err = s.secrets.cleanError(err)
		s.err = o.err
	case s.closed:
		o.err = ErrClosed
	default:
		s.fails, s.err = 0, nil
		o.conn = &conn{client: client, opened: time.Now()}
		s.conn = o.conn
	}
	fails := s.fails
	s.mu.Unlock()
	if o.err != nil && client != nil {
		_ = client.Close() // the gate is closing
	}
	if err != nil && s.gate.ctx.Err() == nil {
		s.log.Warn("server could not be reached", "failures", fails, "error", o.err)
	} else if o.conn != nil {
		s.log.Info("connected")
	}
	close(o.done)
}

// dropLocked lets go of a connection that has ended; what is left of it is cleared away beside the callers.
func (s *session) dropLocked(c *conn) {
	if s.conn == c {
		s.conn = nil
		s.last = nil // it says nothing about the next process
	}
	s.gate.wg.Go(func() {
		why := c.client.Err()
		_ = c.client.Close() // it has ended already
		if s.gate.ctx.Err() == nil {
			s.log.Warn("connection ended", "error", s.secrets.cleanError(why))
		}
	})
}

// unauthorized lets go of a connection whose token the server does not take any more, so that the next call makes one with a
// token of its own. The call that met it fails, and others on it go on. A young connection is kept: otherwise a server that takes
// no token at all would have the command run for every call.
func (s *session) unauthorized(c *conn, err error) {
	var auth *mcp.AuthError
	if s.decl.HTTP == nil || s.decl.HTTP.AuthCommand == nil || !errors.As(err, &auth) || auth.Status != http.StatusUnauthorized {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != c || time.Since(c.opened) < s.renew {
		return
	}
	s.conn, s.last = nil, nil
	s.log.Warn("the token is not accepted any more, the next call asks for another one")
	s.gate.wg.Go(func() {
		wait := time.NewTimer(mcp.MaxCallTimeout) // after which no call is left
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-s.gate.ctx.Done():
		}
		_ = c.client.Close() // nothing is waiting for it
	})
}

// shut ends the connection. The walks end with the gate's context.
func (s *session) shut() {
	s.mu.Lock()
	s.closed = true
	c := s.conn
	s.conn = nil
	s.mu.Unlock()
	if c != nil {
		_ = c.client.Close() // nothing can be done about a child that does not end; Close has killed it
	}
}

func (s *session) status() ServerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := ServerStatus{Address: s.decl.Addr.String(), Connected: s.conn != nil, Err: s.err}
	if s.last != nil {
		st.Checked = s.last.began
	}
	return st
}

// view is what one complete walk saw. It is not changed after it was made.
type view struct {
	conn   *conn
	number uint64 // of the walk: those that began later have higher ones
	began  time.Time
	sights map[string]sight
	server *mcp.Implementation // as the list named itself, nil if it did not
}

// sight returns what the walk saw of the tool.
func (v *view) sight(name string) sight {
	s := v.sights[name]
	s.complete = true
	return s
}

// walk is one reading of the whole list.
type walk struct {
	done    chan struct{}
	waiters int // guarded by the session's mutex
	view    *view
	err     error
}

// walked returns the outcome of a complete walk that began after this call. Calls share walks: one that arrives while a
// walk runs waits for the next one, together with all others that do.
//
// If the server cannot be walked the error says why; if ctx ends first it is ctx's.
func (s *session) walked(ctx context.Context) (*view, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	var w *walk
	switch {
	case s.running == nil:
		w = &walk{done: make(chan struct{})}
		s.running = w
		s.gate.wg.Go(func() { s.walkOn(w) })
	case s.waiting == nil:
		w = &walk{done: make(chan struct{})}
		s.waiting = w
	default:
		w = s.waiting
	}
	w.waiters++
	s.mu.Unlock()

	select {
	case <-w.done:
		return w.view, w.err
	case <-ctx.Done():
		s.mu.Lock()
		w.waiters--
		s.mu.Unlock()
		return nil, ctx.Err()
	}
}

// walkOn walks for w and then for whoever came in the meantime, until nobody waits.
func (s *session) walkOn(w *walk) {
	for w != nil {
		w.view, w.err = s.look(s.gate.ctx)
		if w.view != nil {
			s.judge(w.view)
		}
		s.mu.Lock()
		if w.view != nil && w.view.conn == s.conn {
			s.last, s.err = w.view, nil
		} else if w.err != nil {
			s.last, s.err = nil, w.err
		}
		next := s.waiting
		if next != nil && next.waiters == 0 {
			next = nil // all of them have left
		}
		s.waiting, s.running = nil, next
		s.mu.Unlock()
		close(w.done)
		w = next
	}
}

// judge applies what a walk saw to every tool, so that the list shows it, and tells what is new.
func (s *session) judge(v *view) {
	for _, t := range s.tools {
		if t.fault != nil {
			continue
		}
		before := t.found()
		switch r := t.judge(v.sight(t.upstream), v.number); {
		case r != nil && r != before:
			s.log.Warn("tool is refused from now on", "tool", t.address, "reason", string(r.Reason), "locked", r.Locked, "live", r.Live, "changed", r.Changed)
		case r == nil && before != nil:
			s.log.Info("tool is offered as pinned again", "tool", t.address)
		}
	}
}

// look reads the whole list. A connection that had ended before is replaced once.
func (s *session) look(ctx context.Context) (*view, error) {
	for attempt := 1; ; attempt++ {
		c, err := s.connect(ctx)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		s.mu.Lock()
		s.walks++
		number := s.walks
		s.mu.Unlock()
		snapshot, err := c.client.WalkTools(ctx, c.snapshot)
		if err == nil {
			if snapshot != c.snapshot {
				sights, err := sightsOf(snapshot)
				if err != nil {
					return nil, s.secrets.cleanError(err)
				}
				c.snapshot, c.sights = snapshot, sights
			}
			return &view{conn: c, number: number, began: began, sights: c.sights, server: snapshot.ServerInfo}, nil
		}
		s.unauthorized(c, err)
		select {
		case <-c.client.Done():
			if attempt == 1 && c.snapshot != nil && ctx.Err() == nil {
				continue // it served before and has ended since
			}
		default:
		}
		if ctx.Err() != nil {
			return nil, ErrClosed
		}
		return nil, s.secrets.cleanError(err)
	}
}

// sightsOf takes the digest of every definition in a snapshot.
func sightsOf(snapshot *mcp.ToolsSnapshot) (map[string]sight, error) {
	sights := make(map[string]sight, len(snapshot.Tools)+len(snapshot.Excluded))
	add := func(name string, definition []byte, excluded bool) error {
		d, err := digest.OfItem(digest.KindTool, definition)
		if err != nil {
			return fmt.Errorf("definition of a tool: %w", err)
		}
		if _, twice := sights[name]; twice {
			return errors.New("a tool is listed twice")
		}
		sights[name] = sight{listed: true, excluded: excluded, digest: d, definition: definition}
		return nil
	}
	for _, t := range snapshot.Tools {
		if err := add(t.Name, t.Raw(), false); err != nil {
			return nil, err
		}
	}
	for _, x := range snapshot.Excluded {
		if err := add(x.Name, x.Definition, true); err != nil {
			return nil, err
		}
	}
	return sights, nil
}

// known returns the last walk if it is young enough to decide a call that arrives now, else nil. With a walk for each call
// none is.
func (s *session) known() *view {
	r := s.decl.Recheck
	if r.Mode != catalog.RecheckInterval {
		return nil
	}
	s.mu.Lock()
	v := s.last
	s.mu.Unlock()
	if v == nil || !young(v.began, time.Now(), r.Every) {
		return nil
	}
	select {
	case <-v.conn.client.Done():
		return nil
	default:
		return v
	}
}

// fresh returns a view on which a call that arrives now may be decided.
func (s *session) fresh(ctx context.Context) (*view, error) {
	if v := s.known(); v != nil {
		return v, nil
	}
	return s.walked(ctx)
}

// young says whether began is less than limit ago by the monotonic clock and by the wall clock. A wall clock that was set
// back makes nothing young.
func young(began, now time.Time, limit time.Duration) bool {
	wall := now.Round(0).Sub(began.Round(0))
	return wall >= 0 && max(wall, now.Sub(began)) < limit
}

// doubt forgets the last walk, because an answer came from a server that names itself differently.
func (s *session) doubt(v *view) {
	s.mu.Lock()
	if s.last == v {
		s.last = nil
	}
	s.mu.Unlock()
}
