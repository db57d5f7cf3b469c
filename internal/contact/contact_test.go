package contact

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/addr"
	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
)

// load writes a catalog with one server block into dir and returns that server.
func load(t *testing.T, dir, block string) *catalog.Server {
	t.Helper()
	text := fmt.Sprintf("server \"harbour\" {\n%s\n}\n", block)
	if err := os.WriteFile(filepath.Join(dir, "catalog.hcl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cat, diags := catalog.Load(catalog.Options{Dir: dir, Lookup: func(name string) (string, bool) { return "s3cret-value", name == "TOKEN" }})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return cat.Servers[0]
}

func pinned(s *catalog.Server) *lock.Lock {
	return &lock.Lock{Servers: []lock.Server{{Addr: s.Addr, Endpoint: s.Endpoint(), EndpointDigest: s.EndpointDigest()}}}
}

// renamed is a lock with its server called port.
func renamed(l *lock.Lock) *lock.Lock {
	l.Servers[0].Addr.Label = "port"
	return l
}

func moved(s *catalog.Server, from string) []catalog.Moved {
	return []catalog.Moved{{From: catalog.Place{Server: addr.Server{Label: from}}, To: catalog.Place{Server: s.Addr}}}
}

const remote = "http {\n    url = \"https://harbour.example/mcp\"\n    auth {\n      bearer = env(\"TOKEN\")\n    }\n  }"

func TestApprove(t *testing.T) {
	dir := t.TempDir()
	s := load(t, dir, "  "+remote)
	other := load(t, t.TempDir(), "  "+strings.Replace(remote, "harbour.example", "elsewhere.example", 1))
	tests := []struct {
		name string
		keep Keeper
		want string // part of the reason; empty: approved
	}{
		{"nothing locked", Keeper{Mode: Locked}, "nothing is locked"},
		{"locked", Keeper{Mode: Locked, Base: pinned(s)}, ""},
		{"another endpoint locked", Keeper{Mode: Locked, Base: pinned(other)}, "differs from the one in the lock"},
		{"not in the lock", Keeper{Mode: Locked, Base: &lock.Lock{}}, "not in the lock"},
		{"locked under its address before", Keeper{Mode: Locked, Base: renamed(pinned(s)), Moved: moved(s, "port")}, ""},
		{"another endpoint under that address", Keeper{Mode: Locked, Base: renamed(pinned(other)), Moved: moved(s, "port")}, "differs from the one in the lock"},
		{"locked under an address that it did not have", Keeper{Mode: Locked, Base: renamed(pinned(s)), Moved: moved(s, "quay")}, "not in the lock"},
		{"all", Keeper{Mode: All}, ""},
		{"none, although locked", Keeper{Mode: None, Base: pinned(s)}, "-contact=none"},
		{"no mode", Keeper{Base: pinned(s)}, "unknown contact mode"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.keep.Dir = dir
			err := tt.keep.Approve(t.Context(), s)
			var no *NotApprovedError
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("Approve = %v, want nil", err)
			case tt.want != "" && !errors.As(err, &no):
				t.Errorf("Approve = %v, want a *NotApprovedError", err)
			case tt.want != "" && !strings.Contains(no.Reason, tt.want):
				t.Errorf("reason = %q, want %q in it", no.Reason, tt.want)
			}
		})
	}
}

// TestAsk puts the question once: a yes is remembered for this catalog and this endpoint, a no is not.
func TestAsk(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	s := load(t, dir, "  "+remote)
	asked, answer := 0, false
	keeper := func(dir string) *Keeper {
		return &Keeper{Mode: Locked, Dir: dir, State: state, Ask: func(_ context.Context, q Question) (bool, error) {
			asked++
			want := []Attribute{{Name: "auth.bearer", Value: `env("TOKEN") (secret)`}, {Name: "egress.allow_private", Value: "false"}, {Name: "transport", Value: "http"}, {Name: "url", Value: "https://harbour.example/mcp"}}
			if q.Server != "server.harbour" || q.Stdio || !slices.Equal(q.Posture, want) {
				t.Errorf("question = %+v, want the posture %+v", q, want)
			}
			if strings.Contains(fmt.Sprintf("%+v", q), "s3cret") {
				t.Errorf("question holds the secret: %+v", q)
			}
			return answer, nil
		}}
	}
	if err := keeper(dir).Approve(t.Context(), s); err == nil || asked != 1 {
		t.Fatalf("after a no: Approve = %v, asked %d times", err, asked)
	}
	answer = true
	for range 2 {
		if err := keeper(dir).Approve(t.Context(), s); err != nil || asked != 2 {
			t.Fatalf("after a yes: Approve = %v, asked %d times, want 2", err, asked)
		}
	}
	// Remembered without anybody to ask, but only for this catalog and this endpoint.
	quiet := &Keeper{Mode: Locked, Dir: dir, State: state}
	if err := quiet.Approve(t.Context(), s); err != nil {
		t.Errorf("remembered endpoint: %v", err)
	}
	elsewhere := t.TempDir()
	if err := (&Keeper{Mode: Locked, Dir: elsewhere, State: state}).Approve(t.Context(), load(t, elsewhere, "  "+remote)); err == nil {
		t.Error("an acceptance for one catalog approved another")
	}
	changed := load(t, dir, "  "+strings.Replace(remote, "/mcp", "/mcp2", 1))
	if err := quiet.Approve(t.Context(), changed); err == nil {
		t.Error("an acceptance for one endpoint approved another")
	}

	files, err := filepath.Glob(filepath.Join(state, "contacts", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files = %v, %v, want one", files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v, want 0600", info.Mode(), err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil || strings.Contains(string(b), "s3cret") {
		t.Errorf("file of acceptances: %v, %s", err, b)
	}

	// Damage is no acceptance.
	for _, text := range []string{"", "{", `{"catalog":"/other","endpoints":[]}`, `{"catalog":"` + dir + `","catalog":"x"}`} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := quiet.Approve(t.Context(), s); err == nil {
			t.Errorf("acceptances %q: approved", text)
		}
	}
}

func TestAskFails(t *testing.T) {
	dir := t.TempDir()
	s := load(t, dir, "  "+remote)
	want := errors.New("terminal is gone")
	k := &Keeper{Mode: Locked, Dir: dir, Ask: func(context.Context, Question) (bool, error) { return true, want }}
	if err := k.Approve(t.Context(), s); !errors.Is(err, want) {
		t.Errorf("Approve = %v, want %v", err, want)
	}
}

// TestCheckout: a lock does not vouch for a command whose program a pull request can change.
func TestCheckout(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "deploy", "catalog")
	outside := t.TempDir()
	for _, d := range []string{dir, filepath.Join(root, ".git"), filepath.Join(root, "bin")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]os.FileMode{
		filepath.Join(root, "bin", "tool"): 0o755, filepath.Join(dir, "server.js"): 0o644, filepath.Join(dir, "data.json"): 0o644, filepath.Join(dir, "plain"): 0o644,
		filepath.Join(outside, "tool"): 0o755, filepath.Join(outside, "server.js"): 0o644,
	}
	for name, mode := range files {
		text := "{}"
		if filepath.Base(name) == "plain" {
			text = "#!/bin/sh\n"
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{filepath.Join(outside, "link"): filepath.Join(root, "bin", "tool"), filepath.Join(dir, "out"): filepath.Join(outside, "tool")} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	zeros := "\"sha256:" + strings.Repeat("0", 64) + "\""
	sha256 := "sha256 = " + zeros + "\n"
	pinning := func(path string) string { return fmt.Sprintf("files = {\n %q = %s\n}\n", path, zeros) }
	tests := []struct {
		command string
		args    []string
		env     string
		more    string
		local   bool
	}{
		{command: filepath.Join(outside, "tool")},
		{command: filepath.Join(outside, "tool"), args: []string{"data.json", "--data=data.json", "missing.js", "--root", ".", "-x"}},
		{command: filepath.Join(outside, "tool"), args: []string{filepath.Join(outside, "server.js")}},
		{command: filepath.Join(outside, "tool"), env: "LOG_LEVEL = \"warn\""},
		{command: filepath.Join(outside, "tool"), args: []string{"server.js"}, local: true},
		{command: filepath.Join(outside, "tool"), args: []string{"--script=server.js"}, local: true},
		{command: filepath.Join(outside, "tool"), args: []string{"-sserver.js"}, local: true},
		{command: filepath.Join(outside, "tool"), args: []string{"a:server.js"}, local: true},
		{command: filepath.Join(outside, "tool"), args: []string{"plain"}, local: true},
		{command: filepath.Join(outside, "tool"), args: []string{"../../bin/tool"}, local: true},
		{command: filepath.Join(outside, "tool"), args: []string{filepath.Join(root, "bin", "tool")}, local: true},
		{command: filepath.Join(outside, "tool"), env: "LD_PRELOAD = \"/usr/lib/x.so\"", local: true},
		{command: filepath.Join(outside, "tool"), env: "NODE_OPTIONS = \"--require ./x\"", local: true},
		{command: filepath.Join(outside, "tool"), env: "PLUGIN = \"server.js\"", local: true},
		{command: filepath.Join(outside, "link"), local: true}, // leads into the checkout
		{command: "./out", local: true}, // a link in the checkout that leads out of it
		{command: "./server.js", local: true},
		{command: "../../bin/tool", local: true},
		{command: "sh", args: []string{"-c", "true"}, local: true},
		{command: "env", args: []string{"-C", "..", "x"}, local: true},
		// What is pinned by content vouches for itself and for nothing else.
		{command: "./server.js", more: sha256},
		{command: "../../bin/tool", more: sha256},
		{command: "../../bin/tool", args: []string{"server.js"}, more: sha256, local: true},
		{command: "../../bin/tool", args: []string{"server.js"}, more: sha256 + pinning("server.js")},
		{command: filepath.Join(outside, "tool"), args: []string{"--script=server.js"}, more: pinning("./server.js")},
		{command: filepath.Join(outside, "tool"), args: []string{filepath.Join(root, "bin", "tool")}, more: pinning(filepath.Join(root, "bin", "tool"))},
		{command: filepath.Join(outside, "tool"), args: []string{"server.js"}, more: pinning("data.json"), local: true},
		{command: filepath.Join(outside, "tool"), args: []string{"server.js", "plain"}, more: pinning("plain"), local: true},
		{command: "./server.js", more: pinning("server.js"), local: true},
		{command: "sh", args: []string{"plain"}, more: sha256 + pinning("plain"), local: true},
		{command: filepath.Join(outside, "tool"), env: "LD_PRELOAD = \"/usr/lib/x.so\"", more: sha256, local: true},
		// Relative arguments are relative to the directory that the command starts in.
		{command: filepath.Join(outside, "tool"), args: []string{"server.js"}, more: fmt.Sprintf("workdir = %q", outside)},
		{command: filepath.Join(outside, "tool"), args: []string{"tool"}, more: fmt.Sprintf("workdir = %q", filepath.Join(root, "bin")), local: true},
		{command: filepath.Join(outside, "tool"), args: []string{"bin/tool"}, more: fmt.Sprintf("workdir = %q", root), local: true},
	}
	for _, tt := range tests {
		quoted := make([]string, len(tt.args))
		for i, a := range tt.args {
			quoted[i] = fmt.Sprintf("%q", a)
		}
		s := load(t, dir, fmt.Sprintf("  stdio {\n    command = %q\n    args = [%s]\n    env = {\n      %s\n    }\n%s\n  }", tt.command, strings.Join(quoted, ", "), tt.env, tt.more))
		err := (&Keeper{Mode: Locked, Dir: dir, Base: pinned(s)}).Approve(t.Context(), s)
		if (err != nil) != tt.local {
			t.Errorf("%s %q %s %s: Approve = %v, want it refused: %v", tt.command, tt.args, tt.env, tt.more, err, tt.local)
		}
	}

	// Without version control the catalog directory is the checkout, and what a relative path names counts all the same.
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "catalog"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bare, "run"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := load(t, filepath.Join(bare, "catalog"), "  stdio {\n    command = \"../run\"\n  }")
	if err := (&Keeper{Mode: Locked, Dir: filepath.Join(bare, "catalog"), Base: pinned(s)}).Approve(t.Context(), s); err == nil {
		t.Error("a relative command is approved by the lock")
	}
}

// TestOutermostCheckout: a repository within another belongs to the outer one.
func TestOutermostCheckout(t *testing.T) {
	outer := resolved(t.TempDir())
	inner := filepath.Join(outer, "a", "b")
	for _, d := range []string{filepath.Join(outer, ".git"), filepath.Join(inner, "catalog")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(inner, ".git"), []byte("gitdir: elsewhere\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := checkout(filepath.Join(inner, "catalog")); got != outer {
		t.Errorf("checkout = %s, want %s", got, outer)
	}
}

func TestLauncher(t *testing.T) {
	for name, want := range map[string]bool{
		"node": true, "/usr/bin/python3.12": true, "python3": true, "bash": true, "Node.exe": true, "npx": true, "docker": true, "Rscript": true,
		"harbour": false, "nodemon-like": false, "gopls": false,
	} {
		if got := launcher(name); got != want {
			t.Errorf("launcher(%q) = %v, want %v", name, got, want)
		}
	}
}

// TestPosture: a person sees everything that is passed on, and what differs from the pinned endpoint.
func TestPosture(t *testing.T) {
	before := `{"transport":"stdio","command":"memory","args":["-x"],"env":{"OLD":"1","SAME":"2"}}`
	after := `{"transport":"stdio","command":"memory","args":["-y"],"env":{"SAME":"2","LD_PRELOAD":"./evil.so","KEY":{"secret":"var.key"}},"inherit_env":["AWS_SECRET_ACCESS_KEY"]}`
	var got []string
	for _, a := range posture([]byte(before), []byte(after)) {
		line := a.Name + "=" + a.Value
		if a.Was != nil {
			line += " was " + *a.Was
		}
		if a.New {
			line += " new"
		}
		if a.Gone {
			line += " gone"
		}
		got = append(got, line)
	}
	want := []string{
		`args=["-y"] was ["-x"]`, "command=memory", "env.KEY=var.key (secret) new", "env.LD_PRELOAD=./evil.so new", "env.SAME=2",
		`inherit_env=["AWS_SECRET_ACCESS_KEY"] new`, "transport=stdio", "env.OLD=1 gone",
	}
	if !slices.Equal(got, want) {
		t.Errorf("posture = %q, want %q", got, want)
	}

	got = nil
	for _, a := range posture(nil, []byte(`{"egress":{"allow_private":false,"proxy":["http://alice:",{"secret":"env(\"PW\")"},"@proxy.example:3128"]},`+
		`"tls":{"ca_file":"sha256:12","pin_sha256":["e9q="]},"transport":"http","url":["https://one.example/",{"secret":"var.key"}]}`)) {
		got = append(got, a.Name+"="+a.Value)
	}
	want = []string{
		"egress.allow_private=false", `egress.proxy=http://alice:${env("PW")}@proxy.example:3128`, "tls.ca_file=sha256:12", `tls.pin_sha256=["e9q="]`,
		"transport=http", "url=https://one.example/${var.key}",
	}
	if !slices.Equal(got, want) {
		t.Errorf("posture = %q, want %q", got, want)
	}
}

// TestTokenCommand: a command that prints a token is started under the rules for commands.
func TestTokenCommand(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, outside} {
		if err := os.WriteFile(filepath.Join(d, "token"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	block := func(words string) string {
		return "  http {\n    url = \"https://harbour.example/mcp\"\n    auth {\n      command = [" + words + "]\n    }\n  }"
	}
	for words, want := range map[string]string{
		fmt.Sprintf("%q, \"-x\"", filepath.Join(outside, "token")): "",
		`"./token"`:                   "from the checkout",
		`"python3", "-c", "print(1)"`: "interpreter or launcher",
		fmt.Sprintf("%q, \"token\"", filepath.Join(outside, "token")): "names a program in the checkout",
	} {
		s := load(t, dir, block(words))
		err := (&Keeper{Mode: Locked, Dir: dir, Base: pinned(s)}).Approve(t.Context(), s)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: Approve = %v, want %q", words, err, want)
		}
	}
	s := load(t, dir, block(`"./token", "--audience", "wiki"`))
	asked := false
	keep := &Keeper{Mode: Locked, Dir: dir, State: t.TempDir(), Ask: func(_ context.Context, q Question) (bool, error) {
		asked = true
		if want := (Attribute{Name: "auth.command", Value: `["./token","--audience","wiki"]`}); !q.Token || q.Stdio || !slices.Contains(q.Posture, want) {
			t.Errorf("question = %+v, want %+v in it", q, want)
		}
		return true, nil
	}}
	if err := keep.Approve(t.Context(), s); err != nil || !asked {
		t.Errorf("Approve = %v, asked: %v", err, asked)
	}
}
