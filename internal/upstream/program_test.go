//go:build unix

package upstream

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

func sum(text string) string { return digest.Digest(sha256.Sum256([]byte(text))).String() }

// startable is a script that plays a server and notes where it was started, and the lines of a stdio block for it.
func startable(t *testing.T) (text, args string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	words := mcptest.ChildArgs(mcptest.Fault{Over: mcptest.OverStdio}, mcptest.StepCall)
	for i, w := range words {
		words[i] = fmt.Sprintf("%q", w)
	}
	return "#!/bin/sh\npwd -P >> \"$STARTED\"\nexec '" + self + "' \"$@\"\n", "args = [" + strings.Join(words, ", ") + "]"
}

// TestPinnedProgram: a command starts only if the program and its files are what the block says, each time.
func TestPinnedProgram(t *testing.T) {
	text, args := startable(t)
	type files map[string]string
	own := `sha256 = "` + sum(text) + `"`
	other := sum("other")
	for name, test := range map[string]struct {
		lines   string
		files   files
		command string
		want    string // "" for a start, otherwise a part of the error
		content string // the path in the *ContentError
	}{
		"pinned":                {lines: own},
		"one of several":        {lines: `sha256 = ["` + other + `", "` + sum(text) + `"]`},
		"behind a link":         {lines: own, command: "./link"},
		"in PATH":               {lines: own, command: "harbour-server"},
		"another":               {lines: `sha256 = "` + other + `"`, want: "has the digest " + sum(text) + ", and sha256 wants " + other, content: "./server"},
		"in PATH, another":      {lines: `sha256 = "` + other + `"`, command: "harbour-server", want: other, content: "harbour-server"},
		"files":                 {lines: "files = {\n \"data/a\" = \"" + sum("a") + "\"\n \"DIR/b\" = \"" + sum("b") + "\"\n}", files: files{"data/a": "a", "b": "b"}},
		"a file that differs":   {lines: "files = {\n \"data/a\" = \"" + sum("a") + "\"\n}", files: files{"data/a": "b"}, want: "files wants " + sum("a"), content: "data/a"},
		"a file that is gone":   {lines: "files = {\n \"data/a\" = \"" + sum("a") + "\"\n}", want: "no such file"},
		"a directory":           {lines: "files = {\n \"data\" = \"" + sum("a") + "\"\n}", files: files{"data/a": "b"}, want: "not a regular file"},
		"a pipe":                {lines: "files = {\n \"pipe\" = \"" + sum("") + "\"\n}", want: "not a regular file"},
		"no program":            {lines: own, command: "./nowhere", want: "no such file"},
		"workdir":               {lines: `workdir = "data"`, files: files{"data/a": ""}},
		"workdir, absolute":     {lines: `workdir = "DIR/data"`, files: files{"data/a": ""}},
		"workdir is gone":       {lines: `workdir = "data"`, want: `workdir "data": no such file`},
		"workdir is a file":     {lines: `workdir = "data"`, files: files{"data": ""}, want: "not a directory"},
		"workdir leads outside": {lines: `workdir = "out"`, want: "leads out of the catalog directory"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			dir := t.TempDir()
			started := filepath.Join(t.TempDir(), "started")
			elsewhere := t.TempDir()
			t.Setenv("PATH", elsewhere+":"+os.Getenv("PATH"))
			write := func(path, text string) {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			command := test.command
			if command == "" {
				command = "./server"
			}
			s, d := server(t, fmt.Sprintf("stdio {\n command = %q\n%s\n env = {\n GORACE = \"atexit_sleep_ms=0\"\n STARTED = %q\n }\n%s\n}", command, args, started, strings.ReplaceAll(test.lines, "DIR", dir)))
			d.Dir = dir
			write(filepath.Join(dir, "server"), text)
			write(filepath.Join(elsewhere, "harbour-server"), text)
			for path, text := range test.files {
				write(filepath.Join(dir, path), text)
			}
			err := errors.Join(os.Symlink("server", filepath.Join(dir, "link")), os.Symlink(elsewhere, filepath.Join(dir, "out")), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			c, err := d.Connect(t.Context(), s)
			if c != nil {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
			where, readErr := os.ReadFile(started)
			if test.want == "" {
				want := dir
				if strings.HasPrefix(name, "workdir") {
					want = filepath.Join(dir, "data")
				}
				if want, _ = filepath.EvalSymlinks(want); err != nil || string(where) != want+"\n" {
					t.Errorf("Connect = %v, started in %q, want %q", err, where, want)
				}
				return
			}
			var content *ContentError
			switch {
			case err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "server.harbour"):
				t.Errorf("Connect = %v, want %q", err, test.want)
			case errors.As(err, &content) != (test.content != "") || content != nil && content.Path != test.content:
				t.Errorf("Connect = %#v, want a *ContentError for %q", err, test.content)
			case readErr == nil:
				t.Errorf("it was started all the same, in %q", where)
			case time.Since(begin) > 10*time.Second:
				t.Error("it has waited")
			}
		})
	}
}

// TestPinnedProgramIsLookedAtEachTime: a program that is replaced between two starts is not started again.
func TestPinnedProgramIsLookedAtEachTime(t *testing.T) {
	text, args := startable(t)
	s, d := server(t, "stdio {\n command = \"./server\"\n"+args+"\n env = {\n GORACE = \"atexit_sleep_ms=0\"\n STARTED = \"/dev/null\"\n }\n sha256 = \""+sum(text)+"\"\n}")
	path := filepath.Join(d.Dir, "server")
	for i, now := range []string{text, text + "\n", text} {
		if err := os.WriteFile(path, []byte(now), 0o755); err != nil {
			t.Fatal(err)
		}
		c, err := d.Connect(t.Context(), s)
		if (err == nil) != (now == text) {
			t.Errorf("start %d: %v", i, err)
		}
		if c != nil {
			_ = c.Close()
		}
	}
}

// TestExpect: a server that does not call itself what is expected is not used.
func TestExpect(t *testing.T) {
	for name, test := range map[string]struct{ info, lines, want string }{
		"both":              {`{"name":"harbour","version":"3.2.0"}`, "name = \"harbour\"\n version = \"~> 3.1\"", ""},
		"least version":     {`{"name":"harbour","version":"3.1"}`, `version = "~> 3.1"`, ""},
		"below":             {`{"name":"harbour","version":"3.0.9"}`, `version = "~> 3.1"`, `the version "3.0.9", want "~> 3.1"`},
		"above":             {`{"name":"harbour","version":"4.0.0"}`, `version = "~> 3.1"`, `the version "4.0.0"`},
		"a pre-release":     {`{"name":"harbour","version":"3.2.0-rc.1"}`, `version = "~> 3.1"`, `the version "3.2.0-rc.1"`},
		"no version at all": {`{"name":"harbour","version":"latest"}`, `version = "~> 3.1"`, "cannot be compared"},
		"another name":      {`{"name":"Harbour","version":"3.2.0"}`, `name = "harbour"`, `calls itself "Harbour", want "harbour"`},
		"concealed":         {`{"name":"harbour\u202e","version":"3.2.0"}`, `name = "harbour"`, "calls itself \"harbour⟨U+202E⟩\""},
		"a secret":          {`{"name":"s3cret-value","version":"3.2.0"}`, `name = "harbour"`, `calls itself "(sensitive)"`},
		"nobody":            {"", `name = "harbour"`, "does not say who it is"},
	} {
		p := mcptest.HTTP(t, func(c *mcptest.Conn, r mcptest.Request) {
			meta := ""
			if test.info != "" {
				meta = `,"_meta":{"io.modelcontextprotocol/serverInfo":` + test.info + `}`
			}
			c.Result(r, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"`+meta+`}`)
		})
		s, d := server(t, fmt.Sprintf("http {\n url = %q\n headers = {\n X-Key = env(\"TOKEN\")\n }\n egress {\n allow_private = true\n }\n}\nexpect {\n %s\n}", p.URL, test.lines))
		c, err := d.Connect(t.Context(), s)
		if c != nil {
			_ = c.Close()
		}
		var identity *IdentityError
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (!errors.As(err, &identity) || !strings.Contains(identity.Reason, test.want) || !strings.Contains(err.Error(), "server.harbour")):
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestContentEndsWithItsContext: a file that takes long to read does not hold an interrupt up.
func TestContentEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxPinnedBytes+1); err != nil { // a hole: no space is taken
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := contentOf(ctx, path); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 2*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}
