//go:build unix

package cli_test

import (
	"strings"
	"testing"
)

// TestConsoleTerminal types at the prompt: editing keys, the history, an error that does not end it, and the ways to end it.
func TestConsoleTerminal(t *testing.T) {
	dir, state := terminalPlace(t)

	s := onTerminal(t, dir, state, "console")
	s.wait("exit or Ctrl-D ends")
	s.wait("> ")
	s.enter("uper(\"berth\")\r")
	s.wait(`Did you mean "upper"?`)
	s.enter("\x1b[A\x1b[H\x1b[C\x1b[Cp\r") // the line before, with a p behind its second letter
	s.wait("\n\"BERTH\"")
	s.enter("server.harbour.tool\r")
	s.wait("{ berth_status = server.harbour.tool.berth_status }")
	s.enter("help\r")
	s.wait("> help\r\r\nAn expression")
	s.enter("\x04")
	s.exit(0)
	if text := s.String(); strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\n") {
		t.Errorf("answers are not shown as usual:\n%q", text)
	}

	s = onTerminal(t, dir, state, "console")
	s.wait("> ")
	s.enter("\"typed ahead\"\r") // and the rest while it is evaluated
	s.enter("exit\r")
	s.exit(0)

	s = onTerminal(t, dir, state, "console")
	s.wait("> ")
	s.enter("1 + 1\r\x04")
	s.exit(0)
	if text := s.String(); !strings.Contains(text, "\n2\r\n") {
		t.Errorf("no answer:\n%s", text)
	}

	s = onTerminal(t, dir, state, "console")
	s.wait("> ")
	s.enter("var.x\x03")
	s.exit(130)
	if !strings.Contains(s.String(), "Interrupted") {
		t.Errorf("the interrupt is not told:\n%s", s)
	}

	s = onTerminal(t, dir, state, "console")
	s.wait("> ")
	s.enter("length(\"" + strings.Repeat("x", 5000) + "\")\r")
	s.wait("4096 characters or more")
	s.enter("1 + 1\r")
	s.wait("\n2\r\n")
	s.enter("\x04")
	s.exit(0)

	// With -json the document comes at the end.
	s = onTerminal(t, dir, state, "console", "-json")
	s.wait("> ")
	s.enter("1\r\x04")
	s.wait(`"results":[{"line":1,"value":1}]`)
	s.exit(0)
}
