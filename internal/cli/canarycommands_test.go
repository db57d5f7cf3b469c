package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/cli"
	"github.com/mcpcat-dev/mcpcat/internal/term"
)

// A command of a canary's tour. In its arguments SERVER stands for the label of a server, and
// TARGET for what discover is told to find it, ␣ for a blank within one of them.
type command struct {
	args  string
	stdin string
	// vars says that the command reads the catalog and takes the flags that set variables.
	vars bool
}

// canaryCommands are all commands in their forms of output, in an order in which each finds what it needs. A command that is
// not among them fails TestEveryCommandHasACanary.
var canaryCommands = []command{
	{args: "validate", vars: true},
	{args: "validate -json", vars: true},
	{args: "plan -contact=all -out=p.mcpplan -full -show-unchanged", vars: true},
	{args: "plan -contact=all -json", vars: true},
	{args: "plan -contact=none", vars: true},
	{args: "show p.mcpplan"},
	{args: "show -json p.mcpplan"},
	{args: "apply p.mcpplan -allow-incomplete -json"},
	{args: "apply -auto-approve -contact=all -allow-incomplete", vars: true},
	{args: "verify -contact=all", vars: true},
	{args: "verify -contact=all -json", vars: true},
	{args: "show catalog.lock.db"},
	{args: "show -json catalog.lock.db"},
	{args: "lock list -long", vars: true},
	{args: "lock list -json", vars: true},
	{args: "lock show server.SERVER.tool.berth", vars: true},
	{args: "lock show -json server.SERVER.tool.berth", vars: true},
	{args: "lock show -raw server.SERVER.tool.berth", vars: true},
	{args: "call -contact=all server.SERVER.tool.berth {}", vars: true},
	{args: "call -contact=all -json server.SERVER.tool.berth {}", vars: true},
	{args: "call -agent=pilot -dry-run SERVER__berth {}", vars: true},
	{args: "call -contact=all server.SERVER.tool.nothing", vars: true},
	{args: "serve -stdio -agent=pilot", vars: true, stdin: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"SERVER__berth","arguments":{},` + agentMeta + "}}\n"},
	{args: "serve -stdio -agent=nobody", vars: true},
	{args: "fmt -check -diff"},
	{args: "fmt -check -json"},
	{args: "client-config pilot", vars: true},
	{args: "client-config -json -format=vscode pilot", vars: true},
	{args: "client-config nobody", vars: true},
	{args: "import -dry-run client.json", vars: true},
	{args: "import -dry-run -json client.json", vars: true},
	{args: "import -out=imported client.json"},
	{args: "import -json -out=imported-too -format=mcp client.json"},
	{args: "import -dry-run broken.json", vars: true},
	{args: "discover TARGET"},
	{args: "discover -json TARGET"},
	{args: "discover -hcl TARGET"},
	{args: "digest tool.said"},
	{args: "digest -json tool.said"},
	{args: "version"},
	{args: "version -json"},
	{args: "completion bash"},
	{args: "completion zsh"},
	{args: "completion fish"},
	{args: "completion pwsh"},
	{args: "plan -bad-flag", vars: true},
	{args: "plan -var nothing=1", vars: true},
	{args: "apply missing.mcpplan"},
	{args: "console " + expressions, vars: true},
	{args: "console -json " + expressions, vars: true},
	{args: "console", vars: true, stdin: strings.ReplaceAll(expressions, "-e ", "\n") + "\n"},
	{args: "schema"},
	{args: "schema -json plan"},
	{args: "schema language"},
	{args: "graph", vars: true},
	{args: "graph -format=mermaid -agent=pilot", vars: true},
	{args: "graph -json", vars: true},
	{args: "init -chdir=empty -git"},
	{args: "init -chdir=empty -json -force -from=../client.json"},
	{args: "__complete fish -- call -"},
	{args: "__complete fish -- call server."},
	{args: "__complete fish -- lock show server."},
	{args: "__complete bash -- console -e var."},
}

// expressions are what a person may ask the console to get at a secret. Those that a catalog lacks the names for are errors.
const expressions = `-e var.token -e local.key -e "x${var.token}" -e [var.token] -e {(var.token)="x"} -e {x=1}[var.token] -e var.token=="x" -e can(regex("x",var.token)) ` +
	`-e try(var.token,"x") -e strlen(var.token) -e jsondecode(var.token) -e var.token.x -e var.token+1 -e tonumber(var.token) -e urlencode(var.token) -e sha256(var.token) ` +
	`-e env("KEY") -e secret_file("token.key") -e server.SERVER -e server.SERVER.tool.berth -e var.pair -e [for␣x␣in␣var.all:x]`

// TestEveryCommandHasACanary: a command that comes later is not forgotten.
func TestEveryCommandHasACanary(t *testing.T) {
	p, there := emptyPlace(t), map[string]bool{}
	var walk func(above string)
	walk = func(above string) {
		_, help := p.run(strings.Fields(above + " -help")...)
		_, list, _ := strings.Cut(help, "\nCOMMANDS:\n")
		for line := range strings.Lines(list) {
			name := strings.Fields(line)
			if len(name) == 0 {
				break
			}
			there[name[0]] = true
			path := strings.TrimSpace(above + " " + name[0])
			if !slices.ContainsFunc(canaryCommands, func(c command) bool { return strings.HasPrefix(c.args+" ", path+" ") }) {
				t.Errorf("mcpcat %s: add to canaryCommands how it is run, in each form of its output, so that it is looked through for secrets", path)
			}
			walk(path)
		}
	}
	walk("")
	if len(there) < 15 {
		t.Errorf("only %d commands found", len(there))
	}
	// Those that are not there yet have to be refused, or they would be looked through without being run.
	for _, c := range canaryCommands {
		name := strings.Fields(c.args)[0]
		if there[name] || strings.HasPrefix(name, "_") || strings.HasPrefix(name, "-") {
			continue
		}
		if code, _, told := p.streams(name); code != 1 || !strings.Contains(told, "There is no command") {
			t.Errorf("mcpcat %s: exit %d: %s", c.args, code, told)
		}
	}
}

// clientConfig is the config of an agent program that has a secret in every place where people write one.
func clientConfig(secret string) string {
	s := secret
	config := map[string]any{"mcpServers": map[string]any{
		"environment": map[string]any{"command": "x", "env": map[string]string{"API_KEY": s, "PLAIN": s, "BOTH": "a " + s}},
		"headers":     map[string]any{"type": "http", "url": "https://a.example/mcp", "headers": map[string]string{"Authorization": "Bearer " + s, "X-Key": s}},
		"default":     map[string]any{"command": "x", "env": map[string]string{"KEY": "${KEY:-" + s + "}"}},
		"member":      map[string]any{"command": "x", "token": s, "auth": map[string]string{"token": s}},
		"query":       map[string]any{"type": "http", "url": "https://a.example/mcp?api_key=" + url.QueryEscape(s)},
		"user":        map[string]any{"type": "http", "url": "https://me:" + url.QueryEscape(s) + "@a.example/mcp"},
		"arguments":   map[string]any{"command": "x", "args": []string{"--token", s, "--api-key=" + s}},
	}, "inputs": []any{map[string]any{"type": "promptString", "id": "key", "default": s}}}
	text, err := json.Marshal(config)
	if err != nil {
		panic(err) // texts
	}
	return string(text)
}

// everyCommand runs all commands with a trace, with flags added to those that read the catalog. Skip, if given, leaves some
// out.
func (p *echoPlace) everyCommand(server string, flags []string, skip func(command) bool) {
	p.t.Helper()
	p.file("tool.said", goodTool)
	client := clientConfig(p.secret)
	p.file("client.json", client)
	p.file("broken.json", client[:len(client)-20])
	for _, dir := range []string{"imported", "imported-too", "empty"} {
		if err := os.MkdirAll(filepath.Join(p.dir, dir), 0o700); err != nil {
			p.t.Fatal(err)
		}
	}
	target := p.targets[server]
	if target == "" {
		target = "http://127.0.0.1:9/mcp" // nobody is there
	}
	for i, c := range canaryCommands {
		if skip != nil && skip(c) {
			continue
		}
		args := strings.Fields(strings.NewReplacer("SERVER", server, "TARGET", target).Replace(c.args))
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "␣", " ")
		}
		if c.vars {
			args = append(args, flags...)
		}
		args = append([]string{"-log-level=trace", "-log-format=" + []string{"text", "json"}[i%2]}, args...)
		stdin := p.stdin
		if c.stdin != "" {
			p.stdin = strings.NewReplacer("SERVER", server, "␣", " ").Replace(c.stdin)
		}
		p.run(args...)
		p.stdin = stdin
	}
}

// tour runs commands against one server: those that ask it, and one for each kind of output and file. A long one runs all
// commands in all their forms.
func (p *echoPlace) tour(server string, long bool) {
	p.t.Helper()
	if long {
		p.everyCommand(server, nil, nil)
		p.listen(server)
		return
	}
	p.run("plan", "-contact=all", "-out=p.mcpplan", "-full", "-show-unchanged")
	p.run("call", "-contact=all", "-json", "server."+server+".tool.berth", "{}")
	p.stdin = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + server + `__berth","arguments":{},` + agentMeta + "}}\n"
	p.run("serve", "-stdio", "-agent=pilot", "-log-level=debug")
	p.stdin = ""
	p.run("apply", "p.mcpplan", "-allow-incomplete", "-json")
	p.run("plan", "-json", "-contact=all", "-log-level=trace")
}

// listen serves HTTP to an agent that lists and calls.
func (p *echoPlace) listen(server string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	r, w := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer w.Close()
		cli.Main(ctx, []string{"serve", "-listen=127.0.0.1:0", "-agent=pilot", "-log-level=trace", "-drain=1s"}, &term.Process{
			Stdin: strings.NewReader(""), Stdout: w, Stderr: w, Dir: p.dir, State: p.state(), Lookup: p.lookup,
		})
	}()
	address := make(chan string, 1)
	logged := make(chan []byte)
	go func() {
		var log []byte
		b := make([]byte, 4096)
		for {
			n, err := r.Read(b)
			log = append(log, b[:n]...)
			if m := regexp.MustCompile(`url=(http://[0-9.:]+/mcp)`).FindSubmatch(log); m != nil {
				select {
				case address <- string(m[1]):
				default:
				}
			}
			if err != nil {
				close(address)
				logged <- log
				return
			}
		}
	}()
	if url, ok := <-address; ok {
		for _, method := range []string{"server/discover", "tools/list", "tools/call"} {
			params, name := `{`+agentMeta+`}`, ""
			if method == "tools/call" {
				params, name = `{"name":"`+server+`__berth","arguments":{},`+agentMeta+`}`, server+"__berth"
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`))
			if err != nil {
				p.t.Fatal(err)
			}
			req.Header = http.Header{
				"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
				"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method},
			}
			if name != "" {
				req.Header.Set("Mcp-Name", name)
			}
			answer, err := http.DefaultClient.Do(req)
			if err != nil {
				p.t.Errorf("%s of the agent: %v", method, err)
				continue
			}
			body, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			fmt.Fprintf(&p.out, "%d %v\n%s\n", answer.StatusCode, answer.Header, body)
		}
	}
	cancel()
	p.out.Write(<-logged)
	<-ended
}
