package term

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Progress shows on standard error how far a command is that asks several servers: one rewritten line on a terminal,
// one line a server elsewhere. The zero value shows nothing. It is safe for concurrent use.
type Progress struct {
	mu      sync.Mutex
	running map[string]int
	lines   io.Writer
	bars    *mpb.Progress
	bar     *mpb.Bar
}

// NewProgress starts a progress of total steps. What is the present participle shown in front, such as "asking servers".
// Quiet shows nothing at all.
func (p *Process) NewProgress(what string, total int, quiet bool) *Progress {
	g := &Progress{running: map[string]int{}}
	switch {
	case quiet || total == 0:
	case p.StderrTerminal:
		g.bars = mpb.New(mpb.WithOutput(p.Stderr), mpb.WithWidth(24), mpb.WithAutoRefresh())
		g.bar = g.bars.New(int64(total), mpb.BarStyle().Lbound("[").Filler("=").Tip(">").Padding(" ").Rbound("]"),
			mpb.PrependDecorators(decor.Name(what+" "), decor.CountersNoUnit("%d/%d ")),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return " " + g.current() })),
			mpb.BarRemoveOnComplete())
	default:
		g.lines = p.Stderr
	}
	return g
}

// Start says that the step name has begun.
func (g *Progress) Start(name string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running != nil {
		g.running[name]++
	}
}

// Done says that the step name has ended, and how, in a few words.
func (g *Progress) Done(name, outcome string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	delete(g.running, name)
	bar, lines := g.bar, g.lines
	if lines != nil {
		// A progress line that cannot be written must not fail the command; the result goes to standard output.
		_, _ = fmt.Fprintf(lines, "%s: %s\n", name, outcome)
	}
	g.mu.Unlock()
	if bar != nil {
		bar.Increment()
	}
}

// Close ends the progress and removes its line from the terminal.
func (g *Progress) Close() {
	if g == nil || g.bars == nil {
		return
	}
	g.bar.Abort(true)
	g.bars.Wait()
}

// current names the steps under way, cut to what fits beside the bar.
func (g *Progress) current() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	names := make([]string, 0, len(g.running))
	for n := range g.running {
		names = append(names, n)
	}
	sort.Strings(names)
	const most = 2
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
