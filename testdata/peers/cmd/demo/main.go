// Command demo shows the main job of mcpcat on two real servers, and fails if any step does not do what it says.
//
// It builds mcpcat, the unchanged memory example of the official Go SDK and the harbour office of this module into a
// temporary directory, copies the catalog of examples/demo there, and runs the commands of the story below. Each is
// printed before its output. It needs Go alone, and no network once the modules are downloaded.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	module = "github.com/mcpcat-dev/mcpcat"
	memory = "github.com/modelcontextprotocol/go-sdk/examples/server/memory"

	stepTime = 30 * time.Second // no step takes longer, unless something hangs
)

// A step is one command line of the story.
type step struct {
	say  string   // the comment printed before the command
	args []string // arguments of mcpcat; a step without them edits a file
	exit int      // wanted exit status
	want []string // texts that the output must hold
	not  []string // texts that it must not hold

	file, before, after string // an edit: in file, which holds before once, after takes its place
}

var story = []step{
	{
		say:  "Nothing is locked yet, so nothing may be started yet: -contact=all says that these two commands may run.",
		args: []string{"plan", "-contact=all", "-out=first.mcpplan"},
		want: []string{
			"+ server.harbour.tool.close_gate", "+ server.harbour.tool.tide_table", "+ server.memory.tool.read_graph",
			"Plan: 7 to add, 0 to change, 0 to remove",
		},
	},
	{
		say:  "What was reviewed is what gets pinned. This asks no server.",
		args: []string{"apply", "first.mcpplan"},
	},
	{
		args: []string{"plan", "-detailed-exitcode"},
		want: []string{"No changes."},
	},
	{
		say:  "A call goes through the gate: the tool is listed again and compared with its pin before it is called.",
		args: []string{"call", "server.harbour.tool.tide_table", `{"date":"2026-10-01"}`},
		want: []string{`11:30 high 2.9 m`},
	},
	{
		args: []string{"call", "server.memory.tool.create_entities", `{"entities":[{"name":"Marjatta","entityType":"ship","observations":["draws 6 m"]}]}`},
		want: []string{"Marjatta"},
	},
	{
		args: []string{"call", "server.memory.tool.read_graph", "{}"},
		want: []string{"draws 6 m"},
	},
	{
		say:  "The harbour office now becomes release 2. Neither its command nor its version says so.",
		file: "harbour.release", before: "1", after: "2",
	},
	{
		args: []string{"plan", "-detailed-exitcode"},
		exit: 2,
		want: []string{
			"- server.harbour.tool.close_gate", "~ server.harbour.tool.log_arrival", "~ server.harbour.tool.tide_table",
			"logbook", "Plan: 0 to add, 2 to change, 1 to remove",
		},
		not: []string{"~ server.harbour.tool.list_berths", "server.memory.tool."},
	},
	{
		say:  "A pipeline asks only whether what is live is what was pinned.",
		args: []string{"verify"},
		exit: 3,
		want: []string{"server.harbour.tool.tide_table", "server.harbour.tool.log_arrival", "server.harbour.tool.close_gate"},
	},
	{
		say:  "The changed tool is refused, and the harbour office never sees the call.",
		args: []string{"call", "server.harbour.tool.tide_table", `{"date":"2026-10-02"}`},
		exit: 3,
		want: []string{"server.harbour.tool.tide_table"},
		not:  []string{"high 2.9 m"},
	},
	{
		say:  "The unchanged tool of the same server is still served.",
		args: []string{"call", "server.harbour.tool.list_berths", "{}"},
		want: []string{"Marjatta"},
	},
	{
		say:  "Somebody has read the difference and wants it. What the office no longer has leaves the catalog too.",
		file: "catalog.hcl", before: `"close_gate", `, after: ``,
	},
	{
		args: []string{"plan", "-out=second.mcpplan"},
		want: []string{"- server.harbour.tool.close_gate", "Plan: 0 to add, 2 to change, 1 to remove"},
	},
	{
		args: []string{"apply", "second.mcpplan"},
	},
	{
		args: []string{"call", "server.harbour.tool.tide_table", `{"date":"2026-10-03"}`},
		want: []string{"high 2.9 m"},
	},
	{
		args: []string{"plan", "-detailed-exitcode"},
		want: []string{"No changes."},
	},
}

// allowed is what the harbour office must have received: every call above that was not refused, and nothing else.
var allowed = []string{
	`tide_table {"date":"2026-10-01"}`,
	`list_berths {}`,
	`tide_table {"date":"2026-10-03"}`,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := demo(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context, out io.Writer) (err error) {
	root, err := repository()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "mcpcat-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	bin, dir := filepath.Join(work, "bin"), filepath.Join(work, "catalog")
	for _, d := range []string{bin, dir, filepath.Join(work, "state")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "# Building mcpcat and two MCP servers.")
	if err := build(ctx, out, root, bin, "./cmd/mcpcat"); err != nil {
		return err
	}
	if err := build(ctx, out, filepath.Join(root, "testdata", "peers"), bin, "./cmd/harbour", memory); err != nil {
		return err
	}
	catalog, err := os.ReadFile(filepath.Join(root, "examples", "demo", "catalog.hcl"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n$ cat catalog.hcl\n%s", catalog)
	for name, content := range map[string][]byte{"catalog.hcl": catalog, "harbour.release": []byte("1\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}

	env := environment(bin, filepath.Join(work, "state"))
	for i, s := range story {
		if err := s.run(ctx, out, filepath.Join(bin, "mcpcat"), dir, env); err != nil {
			return fmt.Errorf("step %d of %d: %w", i+1, len(story), err)
		}
	}

	fmt.Fprintf(out, "\n# What the harbour office received, by its own record:\n$ grep -v start harbour.calls\n")
	calls, err := received(filepath.Join(dir, "harbour.calls"))
	if err != nil {
		return err
	}
	fmt.Fprintln(out, strings.Join(calls, "\n"))
	if !slices.Equal(calls, allowed) {
		return fmt.Errorf("the harbour office received %q, want %q", calls, allowed)
	}
	fmt.Fprintf(out, "\n# Done: %d steps did what they say.\n", len(story))
	return nil
}

// repository finds the root of the product's module above the working directory.
func repository() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.Contains("\n"+string(b), "\nmodule "+module+"\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no module %s above %s", module, start)
		}
	}
}

func build(ctx context.Context, out io.Writer, dir, bin string, packages ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-o", bin + string(filepath.Separator)}, packages...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build %s: %w", strings.Join(packages, " "), err)
	}
	return nil
}

// environment puts the built programs first on PATH and gives mcpcat a state directory of its own, so that nothing the
// user has accepted before takes part.
func environment(bin, state string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if name != "PATH" && name != "XDG_STATE_HOME" && name != "NO_COLOR" && !strings.HasPrefix(name, "MCPCAT_") {
			env = append(env, kv)
		}
	}
	return append(env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "XDG_STATE_HOME="+state, "NO_COLOR=1")
}

func (s step) run(ctx context.Context, out io.Writer, mcpcat, dir string, env []string) error {
	fmt.Fprintln(out)
	if s.say != "" {
		fmt.Fprintln(out, "#", s.say)
	}
	if s.file != "" {
		fmt.Fprintf(out, "$ sed -i 's/%s/%s/' %s\n", s.before, s.after, s.file)
		return edit(filepath.Join(dir, s.file), s.before, s.after)
	}

	line := commandLine(s.args)
	fmt.Fprintln(out, "$", line)
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, mcpcat, s.args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, 5*time.Second
	cmd.Stdout = io.MultiWriter(out, &output)
	cmd.Stderr = cmd.Stdout
	err := cmd.Run()
	var status *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", line, ctx.Err())
	case err != nil && !errors.As(err, &status):
		return fmt.Errorf("%s: %w", line, err)
	}
	exit := cmd.ProcessState.ExitCode()
	if exit != 0 {
		fmt.Fprintf(out, "(exit status %d)\n", exit)
	}
	if exit != s.exit {
		return fmt.Errorf("%s: exit status is %d, want %d", line, exit, s.exit)
	}
	for _, text := range s.want {
		if !strings.Contains(output.String(), text) {
			return fmt.Errorf("%s: the output does not hold %q", line, text)
		}
	}
	for _, text := range s.not {
		if strings.Contains(output.String(), text) {
			return fmt.Errorf("%s: the output holds %q", line, text)
		}
	}
	return nil
}

func edit(file, before, after string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := strings.Count(string(b), before); n != 1 {
		return fmt.Errorf("%s holds %q %d times, want once", filepath.Base(file), before, n)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(b), before, after, 1)), 0o600)
}

// commandLine shows the command as it would be typed in a shell.
func commandLine(args []string) string {
	words := []string{"mcpcat"}
	for _, a := range args {
		if strings.ContainsAny(a, ` {}"`) {
			a = "'" + a + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// received returns the calls in the harbour office's record, without the line that each process writes at its start.
func received(file string) ([]string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return line == "start" }), nil
}
