package mcptest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// childTime is how long a faulty child lives at most, whatever its client forgets.
const childTime = 45 * time.Second

// ChildArgs are the arguments with which a test binary whose TestMain calls Child becomes a server over stdio with the
// fault at the step. The zero Fault gives a good server.
func ChildArgs(f Fault, at Step) []string {
	return []string{"-fault=" + f.Name, "-step=" + string(at)}
}

// Child is a server over stdio for the process whose arguments and streams are given. A test binary calls it first of all:
//
//	func TestMain(m *testing.M) {
//		if code, ok := mcptest.Child(os.Args, os.Stdin, os.Stdout, os.Stderr); ok {
//			os.Exit(code)
//		}
//		os.Exit(m.Run())
//	}
//
// ok is false, and nothing has happened, if the arguments are not those of ChildArgs.
func Child(args []string, in, out, errs *os.File) (code int, ok bool) {
	if len(args) != 3 || !strings.HasPrefix(args[1], "-fault=") || !strings.HasPrefix(args[2], "-step=") {
		return 0, false
	}
	name, step := args[1][len("-fault="):], Step(args[2][len("-step="):])
	f, known := FindFault(name)
	if name != "" && (!known || f.Over != OverStdio || !f.At(step)) {
		_, _ = fmt.Fprintf(errs, "no fault %q over stdio at step %q\n", name, step)
		return 64, true
	}
	// Killed, not ended in good order: whoever waits for it to have ended by itself must not be satisfied.
	late := time.AfterFunc(childTime, kill)
	defer late.Stop()
	p := &process{in: in, out: out, errs: errs, step: step}
	if name != "" {
		p.fault = f.stdio
	}
	return p.serve(), true
}

// kill ends this process with a signal.
func kill() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}

// stdioFault is what a faulty child does. A hook returns goOn, or the exit status with which the process ends.
type stdioFault struct {
	// before runs before the answer of the step before is written; at the first step, before anything is read.
	before func(p *process) int
	// after runs behind that answer, which it is given; at the first step it runs behind before, with "".
	after func(p *process, answer string) int
	// act runs instead of the step's answer, which it is given. For an open subscription that is its graceful end.
	act func(p *process, r Request, answer string) int
	// cancelled runs when the client has cancelled the request that act was given.
	cancelled func(p *process, r Request) int
}

const goOn = -1

// process is a faulty child.
type process struct {
	in, out, errs *os.File
	step          Step
	fault         stdioFault
	r             Request // the request that act was given
	done          bool    // before and after have run
}

func (p *process) serve() int {
	lines := bufio.NewReaderSize(p.in, 64<<10)
	if p.step == StepDiscover {
		if code := p.between(""); code != goOn {
			return code
		}
	}
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return 0
		}
		if code := p.handle(parse(bytes.TrimSuffix(line, []byte("\n")), nil)); code != goOn {
			return code
		}
	}
}

// handle takes one message.
func (p *process) handle(r Request) int {
	if r.ID == "" {
		if p.r.ID != "" && p.fault.cancelled != nil && r.Method == "notifications/cancelled" {
			return p.fault.cancelled(p, p.r)
		}
		return goOn
	}
	step := stepOf(r.Method)
	if step == p.step.request() && p.fault.act != nil && p.r.ID == "" {
		p.r = r
		if p.step != StepEvents {
			return p.fault.act(p, r, answer(r))
		}
		p.say(answer(r) + "\n")
		return p.fault.act(p, r, respond(r.ID, result(r)))
	}
	if step == p.step.before() {
		return p.between(answer(r))
	}
	p.say(answer(r) + "\n")
	return goOn
}

// between writes the answer of the step before, if there is one, and runs what stands before and behind it, once.
func (p *process) between(answer string) int {
	before, after := p.fault.before, p.fault.after
	if p.done {
		before, after = nil, nil
	}
	p.done = true
	if before != nil {
		if code := before(p); code != goOn {
			return code
		}
	}
	if answer != "" {
		p.say(answer + "\n")
	}
	if after != nil {
		return after(p, answer)
	}
	return goOn
}

// say writes to stdout and reports whether somebody still reads there.
func (p *process) say(s string) bool {
	_, err := io.WriteString(p.out, s)
	return err == nil
}

// wait reads what the client sends, answers none of it, and ends when the client closes its end.
func (p *process) wait() int {
	_, _ = io.Copy(io.Discard, p.in)
	return 0
}

// sleep reads nothing and ends when it is told to by a signal.
func (p *process) sleep() int {
	time.Sleep(childTime)
	return 0
}

// endless writes the same text until nobody reads it.
func (p *process) endless(s string) int {
	s = strings.Repeat(s, 1+(8<<10)/len(s))
	for p.say(s) {
	}
	return p.wait()
}

// parse reads one message as far as it goes.
func parse(raw []byte, header map[string][]string) Request {
	r := Request{Raw: bytes.Clone(raw), Header: header}
	if v, err := strictjson.Parse(r.Raw, strictjson.Limits{}); err == nil {
		id, _ := v.Get("id")
		r.ID = string(id)
		method, _ := v.Get("method")
		r.Method, _ = method.Text()
		r.Params, _ = v.Get("params")
	}
	return r
}

func itoa(n int) string { return strconv.Itoa(n) }
