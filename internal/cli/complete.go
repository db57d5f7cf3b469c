package cli

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	cli "github.com/urfave/cli/v3"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

const (
	// completionTime is how long the answer to one completion may take; a person waits for it with a key pressed.
	completionTime = 1500 * time.Millisecond
	// maxCompletions is how many candidates are given.
	maxCompletions = 10_000
	// maxCompletionInput bounds the words on standard input.
	maxCompletionInput = 1 << 20
)

// candidate is one word that may stand at the cursor.
type candidate struct{ value, description string }

// goesOn reports whether a value is not the whole of its word.
func goesOn(value string) bool { return strings.HasSuffix(value, "=") || strings.HasSuffix(value, "/") }

// completion is the answer to one question: candidates, and whether names of files fit too.
type completion struct {
	candidates         []candidate
	files, directories bool
}

// completeCommand answers the completion scripts: first a line that says whether the shell is to complete names of files
// (":files", ":directories" or ":"), then one candidate a line. It never fails and says nothing else, because it speaks
// into a person's prompt.
//
//	mcpcat __complete zsh|fish -- WORD... CURRENT     all words behind the program's name; prints VALUE TAB DESCRIPTION
//	mcpcat __complete bash -- LINE BREAKS TYPE COLUMNS  the line up to the cursor; prints texts to insert or to show
//	mcpcat __complete powershell                        words on standard input; prints TEXT TAB VALUE TAB DESCRIPTION
func (a *app) completeCommand() *cli.Command {
	return &cli.Command{
		Name:            "__complete",
		Hidden:          true,
		SkipFlagParsing: true,
		Action: func(ctx context.Context, c *cli.Command) error {
			args := c.Args().Slice()
			if len(args) == 0 {
				return nil
			}
			shell, args := args[0], args[1:]
			if len(args) > 0 && args[0] == "--" {
				args = args[1:]
			}
			ctx, cancel := context.WithTimeout(ctx, completionTime)
			defer cancel()
			var out strings.Builder
			switch {
			case shell == "bash" && len(args) == 4:
				a.completeBash(ctx, c.Root(), &out, args)
			case (shell == "zsh" || shell == "fish") && len(args) > 0:
				a.complete(ctx, c.Root(), args).lines(&out, func(x candidate) string { return x.value + "\t" + x.description })
			case shell == "powershell":
				b, err := io.ReadAll(io.LimitReader(a.Stdin, maxCompletionInput))
				if err != nil {
					return nil //nolint:nilerr // a prompt is no place for it
				}
				words := strings.Split(strings.TrimRight(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n"), "\n")
				got := a.complete(ctx, c.Root(), words)
				got.keep(words[len(words)-1])
				got.lines(&out, func(x candidate) string { return quotePowerShell(x.value) + "\t" + x.value + "\t" + x.description })
			default:
				return nil
			}
			_, err := io.WriteString(a.out, out.String())
			return err
		},
	}
}

// lines prints the answer, each candidate as form says.
func (c completion) lines(out *strings.Builder, form func(candidate) string) {
	switch {
	case c.files:
		out.WriteString(":files\n")
	case c.directories:
		out.WriteString(":directories\n")
	default:
		out.WriteString(":\n")
	}
	for _, x := range c.candidates {
		out.WriteString(strings.TrimRight(form(x), "\t") + "\n")
	}
}

// keep drops the candidates that do not begin with prefix.
func (c *completion) keep(prefix string) {
	c.candidates = slices.DeleteFunc(c.candidates, func(x candidate) bool { return !strings.HasPrefix(x.value, prefix) })
}

// completeBash answers with texts that bash inserts as they are, or with values and descriptions where it only lists them.
func (a *app) completeBash(ctx context.Context, root *cli.Command, out *strings.Builder, args []string) {
	line := parseBash(args[0], args[1])
	if len(line.words) == 0 {
		return
	}
	got := a.complete(ctx, root, append(slices.Clone(line.words[1:]), line.current))
	got.keep(line.current)
	columns, err := strconv.Atoi(args[3])
	const listing = "63" // the code of ?: candidates are shown and none is inserted
	if args[2] != listing || len(got.candidates) < 2 || err != nil {
		got.lines(out, func(x candidate) string { return line.insert(x.value) })
		return
	}
	widest := 0
	for _, x := range got.candidates {
		widest = max(widest, utf8.RuneCountInString(x.value))
	}
	got.lines(out, func(x candidate) string {
		room := columns - widest - 3
		if room < 10 {
			return x.value
		}
		text := x.value + strings.Repeat(" ", widest-utf8.RuneCountInString(x.value)+2) + firstRunes(x.description, room)
		// bash lists short texts side by side, in which descriptions cannot be told from values.
		return text + strings.Repeat(" ", max(columns/2-utf8.RuneCountInString(text), 0))
	})
}

// firstRunes cuts s to n characters.
func firstRunes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// complete finds what may stand at the cursor. words are those behind the program's name, without their quotes; the last one
// is the one at the cursor, as far as it is written.
func (a *app) complete(ctx context.Context, root *cli.Command, words []string) completion {
	q := newQuestion(root, words)
	current := q.current
	var out completion
	switch {
	case q.program:
		out.files = true
	case q.value != nil:
		out = a.values(ctx, q, placeholder(q.value))
		if name, _, ok := strings.Cut(current, "="); ok && strings.HasPrefix(name, "-") {
			for i := range out.candidates {
				out.candidates[i].value = name + "=" + out.candidates[i].value
			}
		}
	case strings.HasPrefix(current, "-") && !q.onlyArguments:
		out.candidates = q.flagCandidates(strings.HasPrefix(current, "--"))
	case len(q.command.Commands) > 0 && len(q.arguments) == 0:
		for _, c := range q.command.Commands {
			if !c.Hidden {
				out.candidates = append(out.candidates, candidate{c.Name, c.Usage})
			}
		}
	default:
		out = a.values(ctx, q, q.argumentForm())
	}
	if len(out.candidates) > maxCompletions {
		out.candidates = out.candidates[:maxCompletions]
	}
	for i := range out.candidates {
		x := &out.candidates[i]
		x.description = firstRunes(diag.Escape(x.description), 100)
	}
	return out
}

// question is what the words before the cursor say about the word at it.
type question struct {
	current       string // as far as it is written
	command       *cli.Command
	path          string // names of the command, such as "lock show"
	flags         []cli.Flag
	given         map[string][]string // values of the flags before the cursor; "" where there is none
	arguments     []string            // before the cursor
	value         cli.Flag            // the word at the cursor is a value of this flag
	onlyArguments bool                // behind "--"
	program       bool                // the word is part of a command that is not ours
}

func newQuestion(root *cli.Command, words []string) *question {
	q := &question{command: root, flags: root.Flags, given: map[string][]string{}}
	q.current = words[len(words)-1]
	last := len(words) - 1
	for i := 0; i < last; i++ {
		word := words[i]
		switch {
		case q.onlyArguments || len(word) < 2 || word[0] != '-':
			if sub := q.sub(word); sub != nil {
				q.command, q.flags = sub, slices.Concat(sub.Flags, q.flags)
				q.path = strings.TrimSpace(q.path + " " + sub.Name)
				continue
			}
			q.arguments = append(q.arguments, word)
		case word == "--":
			q.onlyArguments = true
			q.program = strings.Contains(q.command.ArgsUsage, "-- COMMAND")
		default:
			name, value, has := strings.Cut(strings.TrimLeft(word, "-"), "=")
			flag := q.flag(name)
			if flag == nil {
				continue
			}
			if !has && takesValue(flag) {
				if i+1 == last { // the value is being written
					q.value = flag
					return q
				}
				i++
				value = words[i]
			}
			q.given[name] = append(q.given[name], value)
		}
	}
	if name, _, has := strings.Cut(q.current, "="); has && len(name) > 1 && name[0] == '-' && !q.onlyArguments {
		if flag := q.flag(strings.TrimLeft(name, "-")); flag != nil {
			q.value = flag
		}
	}
	return q
}

// sub is the command that a word means where a command's name may stand.
func (q *question) sub(word string) *cli.Command {
	if len(q.arguments) > 0 || q.onlyArguments {
		return nil
	}
	for _, c := range q.command.Commands {
		if c.Name == word && !c.Hidden {
			return c
		}
	}
	return nil
}

func (q *question) flag(name string) cli.Flag {
	for _, f := range q.flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// last is the last value that a flag was given; "" for none.
func (q *question) last(name string) string {
	if all := q.given[name]; len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

func flagUsage(f cli.Flag) string {
	if d, ok := f.(cli.DocGenerationFlag); ok {
		return d.GetUsage()
	}
	return ""
}

// placeholder is what stands for the value of a flag in its help: FILE, or all|locked|none.
func placeholder(f cli.Flag) string {
	_, rest, _ := strings.Cut(flagUsage(f), "`")
	name, _, _ := strings.Cut(rest, "`")
	return name
}

// flagCandidates are the flags that may come next: those of the command and the common ones, each once unless it may be
// repeated.
func (q *question) flagCandidates(twoDashes bool) []candidate {
	dashes := "-"
	if twoDashes {
		dashes = "--"
	}
	var out []candidate
	seen := map[string]bool{}
	for _, f := range q.flags {
		name, text := f.Names()[0], flagUsage(f)
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() || seen[name] || q.given[name] != nil && !strings.Contains(text, "repeated") {
			continue
		}
		seen[name] = true
		value := dashes + name
		if takesValue(f) {
			value += "="
		}
		out = append(out, candidate{value, strings.ReplaceAll(text, "`", "")})
	}
	if !seen["help"] {
		out = append(out, candidate{dashes + "help", "say what the command does"})
	}
	return out
}

// argumentForm is the part of the command's usage line that stands for the argument at the cursor.
func (q *question) argumentForm() string {
	forms := strings.Fields(q.command.ArgsUsage)
	if len(forms) == 0 {
		return ""
	}
	i := len(q.arguments)
	if i >= len(forms) {
		if !strings.Contains(forms[len(forms)-1], "...") && !strings.HasSuffix(forms[len(forms)-1], "*") {
			return ""
		}
		i = len(forms) - 1
	}
	return strings.Trim(forms[i], "[]")
}
