package mcptest

import (
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// stdioFaults are what a child process can do wrong.
func stdioFaults() []Fault {
	out := slices.Concat(stdioLegal(), stdioLines(), stdioMessages(), stdioSilences(), stdioEnds())
	for i := range out {
		out[i].Name, out[i].Over = "stdio/"+out[i].Name, OverStdio
		if out[i].Steps == nil {
			out[i].Steps = allSteps
		}
	}
	return out
}

// instead is a fault that writes something in place of the answer and goes on.
func instead(name string, text func(r Request, answer string) string) Fault {
	return Fault{Name: name, stdio: stdioFault{act: func(p *process, r Request, answer string) int {
		p.say(text(r, answer))
		return goOn
	}}}
}

// behind is a fault that writes something behind the answer of the step before.
func behind(name string, text func(answer string) string) Fault {
	return Fault{Name: name, Between: true, stdio: stdioFault{after: func(p *process, answer string) int {
		p.say(text(answer))
		return goOn
	}}}
}

// stdioLegal is odd and right.
func stdioLegal() []Fault {
	plain := func(name string, text func(r Request, answer string) string) Fault {
		f := instead(name, text)
		f.Legal, f.Steps = true, requests
		return f
	}
	trickled := plain("slow-message", nil)
	trickled.stdio.act = func(p *process, _ Request, answer string) int {
		for i := range 8 { // in eight pieces
			p.say(answer[i*len(answer)/8 : (i+1)*len(answer)/8])
			time.Sleep(10 * time.Millisecond)
		}
		p.say("\n")
		return goOn
	}
	loud := plain("stderr-flood", nil)
	loud.stdio.act = func(p *process, _ Request, answer string) int {
		_, _ = p.errs.WriteString(strings.Repeat("warning: \x1b[1mtide\x1b[0m\r\n", 40_000)) // about 1 MiB, far beyond a pipe
		p.say(answer + "\n")
		return goOn
	}
	return []Fault{
		plain("carriage-return", func(_ Request, answer string) string { return answer + "\r\n" }),
		plain("empty-lines", func(_ Request, answer string) string { return "\n\r\n\n" + answer + "\n\n" }),
		plain("white-space", func(_ Request, answer string) string { return " \t" + answer + " \t\n" }),
		plain("unknown-notification", func(_ Request, answer string) string {
			return `{"jsonrpc":"2.0","method":"notifications/harbour"}` + "\n" + answer + "\n"
		}),
		plain("foreign-progress", func(_ Request, answer string) string {
			return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}` + "\n" + answer + "\n"
		}),
		trickled,
		loud,
	}
}

// stdioMessages are the messages that are wrong whatever carries them.
func stdioMessages() []Fault {
	var out []Fault
	for _, m := range messageFaults {
		out = append(out, instead(m.name, func(r Request, _ string) string { return m.make(r) + "\n" }))
	}
	late := instead("answer-after-cancellation", func(Request, string) string { return "" })
	late.Steps = requests
	late.stdio.cancelled = func(p *process, r Request) int {
		if r.Method == "subscriptions/listen" {
			p.say(acknowledge(r.ID) + "\n")
		}
		p.say(respond(r.ID, result(r)) + "\n")
		return goOn
	}
	second := behind("second-answer", func(answer string) string { return answer + "\n" })
	second.Steps = Steps[1:4] // behind a response; two acknowledgements are a fault of their own
	return append(append(out, late, second), listenFaults(func(text func(r Request) string) Fault {
		return instead("", func(r Request, _ string) string { return text(r) })
	}, func(s string) string { return s + "\n" })...)
}

// stdioLines are the faults of what carries the messages: lines.
func stdioLines() []Fault {
	pretty := instead("pretty-printed", func(_ Request, answer string) string {
		return strings.ReplaceAll(answer, `,"`, ",\n  \"") + "\n"
	})
	banner := behind("banner", func(string) string { return "Harbour server 1.0 (\x1b[32mready\x1b[0m)\n" })
	long := instead("long-line", nil)
	long.stdio.act = func(p *process, r Request, _ string) int {
		p.say(respond(r.ID, `{"x":"`+strings.Repeat("x", 1<<20)+`"}`) + "\n")
		return goOn
	}
	endless := instead("endless-line", nil)
	endless.stdio.act = func(p *process, _ Request, _ string) int { return p.endless("x") }
	flood := instead("notification-flood", nil)
	flood.stdio.act = func(p *process, _ Request, _ string) int {
		// In pieces that a pipe takes whole or not at all, so that the client never has half a line.
		lines := strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/harbour","params":{"n":1}}`+"\n", 50)
		for p.say(lines) {
			time.Sleep(time.Millisecond)
		}
		return p.wait()
	}
	flood.Steps = requests // an open subscription may wait for ever
	blank := instead("endless-empty-lines", nil)
	blank.stdio.act = func(p *process, _ Request, _ string) int { return p.endless("\n") }
	blank.Steps = requests
	return []Fault{banner, pretty, long, endless, flood, blank}
}

// stdioSilences are the children that live and say nothing more.
func stdioSilences() []Fault {
	act := func(name string, f func(p *process, r Request, answer string) int) Fault {
		return Fault{Name: name, Steps: requests, stdio: stdioFault{act: f}}
	}
	halfLine := act("half-a-line-then-silence", func(p *process, _ Request, answer string) int {
		p.say(half(answer))
		return p.wait()
	})
	halfLine.Steps = allSteps
	slow := act("slow-line", func(p *process, _ Request, answer string) int {
		for i := range len(answer) {
			if !p.say(answer[i : i+1]) {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		return p.wait()
	})
	closed := Fault{Name: "closed-stdin", Between: false, Steps: laterOnes, stdio: stdioFault{before: func(p *process) int {
		_ = p.in.Close()
		return goOn
	}, after: func(p *process, _ string) int { return p.sleep() }}}
	deaf := Fault{Name: "never-reads", Steps: laterOnes, Big: morePipe, stdio: stdioFault{after: func(p *process, _ string) int { return p.sleep() }}}
	mute := act("closed-stdout", func(p *process, _ Request, _ string) int {
		_ = p.out.Close()
		return p.wait()
	})
	mute.Steps = allSteps
	return []Fault{
		act("no-answer", func(p *process, _ Request, _ string) int { return p.wait() }),
		act("no-answer-and-deaf", func(p *process, _ Request, _ string) int { return p.sleep() }),
		act("no-answer-and-stubborn", func(p *process, _ Request, _ string) int {
			signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			return p.sleep()
		}),
		act("stderr-flood-no-answer", func(p *process, _ Request, _ string) int {
			_, _ = p.errs.WriteString(strings.Repeat("warning: \x1b[1mtide\x1b[0m\r\n", 40_000))
			return p.wait()
		}),
		halfLine, slow, closed, deaf, mute,
	}
}

// stdioEnds are the children that end.
func stdioEnds() []Fault {
	ways := []struct {
		name string
		end  func() int
	}{
		{"exit-0", func() int { return 0 }},
		{"exit-3", func() int { return 3 }},
		{"killed", func() int { kill(); return 0 }},
	}
	var out []Fault
	for _, way := range ways {
		out = append(
			out,
			Fault{Name: way.name, stdio: stdioFault{act: func(p *process, _ Request, _ string) int {
				_, _ = p.errs.WriteString("cannot open the \x1b[31mtide table\x1b[0m\n")
				return way.end()
			}}},
			Fault{Name: way.name + "-within-the-answer", stdio: stdioFault{act: func(p *process, _ Request, answer string) int {
				p.say(half(answer))
				return way.end()
			}}},
			// Behind the answer before: that one arrives, and the request of the step finds nobody.
			Fault{Name: way.name + "-between", Between: true, Steps: Steps[1:], stdio: stdioFault{after: func(*process, string) int { return way.end() }}},
		)
	}
	out = append(out,
		Fault{Name: "stderr-flood-then-exit", stdio: stdioFault{act: func(p *process, _ Request, _ string) int {
			_, _ = p.errs.WriteString(strings.Repeat("warning: \x1b[1mtide\x1b[0m\r\n", 40_000))
			return 3
		}}},
		Fault{Name: "answer-without-line-end", stdio: stdioFault{act: func(p *process, _ Request, answer string) int {
			p.say(answer)
			return 0
		}}},
	)
	return out
}
