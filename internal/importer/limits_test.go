package importer_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpcat-dev/mcpcat/internal/importer"
)

func many(n int, format string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(out, ",")
}

// TestLimits: what is just allowed is imported, and one more is an error that says so.
func TestLimits(t *testing.T) {
	server := func(members string) string { return `{"mcpServers":{"a":{"command":"x",` + members + `}}}` }
	for name, tt := range map[string]struct {
		most   int
		config func(n int) string
		code   string
	}{
		"servers": {importer.MaxServers, func(n int) string { return `{"mcpServers":{` + many(n, `"s%d":{"command":"x"}`) + `}}` }, "import.limit"},
		"members": {64, func(n int) string { return server(many(n-1, `"odd%d":1`)) }, "import.limit"},
		"args":    {1024, func(n int) string { return server(`"args":[` + many(n, `"a%d"`) + `]`) }, "import.limit"},
		"env":     {256, func(n int) string { return server(`"env":{` + many(n, `"A%d":"true"`) + `}`) }, "import.limit"},
		"headers": {64, func(n int) string {
			return `{"mcpServers":{"a":{"url":"https://a.example/","headers":{` + many(n, `"X-A%d":"true"`) + `}}}}`
		}, "import.limit"},
		"inputs": {256, func(n int) string {
			return `{"servers":{"a":{"command":"x"}},"inputs":[` + many(n, `{"id":"i%d"}`) + `]}`
		}, "import.limit"},
		"bytes": {importer.MaxBytes, func(n int) string {
			s := server(`"args":[]`)
			return s + strings.Repeat(" ", n-len(s))
		}, "import.limit"},
		"depth": {importer.MaxDepth, func(n int) string {
			return `{"mcpServers":{"a":{"command":"x","odd":` + strings.Repeat("[", n-3) + strings.Repeat("]", n-3) + `}}}`
		}, "import.format"},
	} {
		t.Run(name, func(t *testing.T) {
			if r, list := importer.Import([]byte(tt.config(tt.most)), importer.Options{Name: "c"}); r == nil {
				t.Errorf("%d: %s", tt.most, remarks(list))
			} else if _, faults := load(t, r.Text); len(faults) > 0 {
				t.Errorf("%d: %v", tt.most, faults[0])
			}
			r, list := importer.Import([]byte(tt.config(tt.most+1)), importer.Options{Name: "c"})
			if r != nil || len(list) == 0 || list.Errors()[0].Code != tt.code {
				t.Errorf("%d: %v, %s", tt.most+1, r != nil, remarks(list))
			}
		})
	}
	// The catalog file has a limit of its own.
	big := server(`"args":[` + many(20, `"`+strings.Repeat("long ", 3000)+`%d"`) + `]`)
	if r, list := importer.Import([]byte(big), importer.Options{Name: "c"}); r != nil || list.Errors()[0].Code != "import.limit" {
		t.Errorf("a text of 300,000 bytes: %v, %s", r != nil, remarks(list))
	}
}

// TestRefused: what no client would take is refused with its place and what is wanted.
func TestRefused(t *testing.T) {
	for config, want := range map[string]string{
		``:                                       `import.format c:1|`,
		`[]`:                                     `import.format c:1|a list, want a JSON object`,
		`{}`:                                     `import.format c:1|no member mcpServers`,
		"{\n\"mcpServers\":{}}":                  `import.format c:2|mcpServers is empty`,
		"{\n\"mcpServers\":[]}":                  `import.invalid c:2|a list, want an object`,
		`{"mcpServers":{"a":[]}}`:                `import.invalid c:1|"a" is a list, want an object`,
		`{"mcpServers":{"a":{}}}`:                `import.invalid c:1|neither a command nor a url`,
		`{"mcpServers":{"a":{"args":[]}}}`:       `import.invalid c:1|neither a command nor a url`,
		`{"mcpServers":{"a":{"command":""}}}`:    `import.invalid c:1|command of "a" is empty`,
		`{"mcpServers":{"a":{"command":["x"]}}}`: `import.invalid c:1|command of "a" is a list, want a text`,
		`{"mcpServers":{"a":{"command":"x","url":"https://a.b"}}}`:                            `import.invalid c:1|both a command and a url`,
		`{"mcpServers":{"a":{"url":"https://a.b","serverUrl":"https://a.b"}}}`:                `import.invalid c:1|two of url, serverUrl and httpUrl`,
		`{"mcpServers":{"a":{"command":"x","args":"-y"}}}`:                                    `import.invalid c:1|args of "a" is a text, want a list`,
		`{"mcpServers":{"a":{"command":"x","args":["a",{}]}}}`:                                `import.invalid c:1|Argument 2 of "a" is an object`,
		`{"mcpServers":{"a":{"command":"x","env":[]}}}`:                                       `import.invalid c:1|env of "a" is a list`,
		`{"mcpServers":{"a":{"command":"x","env":{"A":[]}}}}`:                                 `import.invalid c:1|"A" in env of "a" is a list`,
		`{"mcpServers":{"a":{"url":"https://a.b","headers":{"X-A":"1","x-a":"2"}}}}`:          `import.invalid c:1|sets the header "x-a" twice`,
		`{"mcpServers":{"a":{"command":"x"},"a":{"command":"x"}}}`:                            `import.format c:1|duplicate member name "a"`,
		`{"mcpServers":{"a":{"command":"x","env":{"A":"1","\u0041":"2"}}}}`:                   `import.format c:1|duplicate member name "A"`,
		`{"mcpServers":{"a":{"command":"x"}},"servers":{"b":{"command":"x"}}}`:                `import.format c:1|both mcpServers and servers`,
		`{"servers":{"a":{"command":"x"}},"inputs":{}}`:                                       `import.invalid c:1|inputs is an object, want a list`,
		`{"servers":{"a":{"command":"x"}},"inputs":[{"id":"i"},{"id":"i"}]}`:                  `import.invalid c:1|Two inputs have the id "i"`,
		`{"servers":{"a":{"command":"x"}},"inputs":[{"id":7}]}`:                               `import.invalid c:1|inputs[0] has no id`,
		`{"mcpServers":{"a":{"command":"x"}}} {}`:                                             `import.format c:1|`,
		"{\"mcpServers\":{\n/* \"a\":{\"command\":\"x\"}}}":                                   `import.format c:2|does not end`,
		`{"mcpServers":{"a":{"command":"x"},,}}`:                                              `import.format c:1|`,
		`{"mcpServers":{,}}`:                                                                  `import.format c:1|`,
		`{"mcpServers":{"a":{"command":"x","args":[,]}}}`:                                     `import.format c:1|`,
		`{"mcpServers":{"a":{"command":"x" // "y"` + "\n" + `,"env":{"A":/**/"b","C":"d"},}}`: `import.format c:2|`,
	} {
		code, text, _ := strings.Cut(want, "|")
		r, list := importer.Import([]byte(config), importer.Options{Name: "c"})
		if got := remarks(list); r != nil || !strings.HasPrefix(got, "error "+code+" ") || !strings.Contains(got, text) {
			t.Errorf("%s: imported %v, %s, want %s", config, r != nil, got, want)
		}
	}
}

// TestComments: comments, trailing commas and a byte order mark are allowed, and a text that looks like them stays a text.
func TestComments(t *testing.T) {
	config := "\xef\xbb\xbf// one\r\n{\"mcpServers\": {/* two\n*/ \"a\": {\"command\": \"http://x/*y*/,]\\\"//\", \"args\": [\"a,\", \"]\", /*,*/ ], }, // three\n},}\n// four"
	r, list := importer.Import([]byte(config), importer.Options{Name: "c"})
	if r == nil {
		t.Fatal(remarks(list))
	}
	c, faults := load(t, r.Text)
	if len(faults) > 0 || c.Servers[0].Stdio.Command != `http://x/*y*/,]"//` || strings.Join(c.Servers[0].Stdio.Args, "|") != "a,|]" {
		t.Errorf("%v\n%s", faults, r.Text)
	}
}

// TestFormats: a format takes its own list of servers and its own members, and says what it does not take.
func TestFormats(t *testing.T) {
	const theirs, code = `{"mcpServers":{"a":{"command":"x","enabled":false,"alwaysAllow":["t"]}}}`, `{"servers":{"a":{"command":"x"}}}`
	for _, f := range []importer.Format{importer.MCP, importer.Claude, importer.Cursor, importer.VSCode, importer.Auto} {
		r, list := importer.Import([]byte(theirs), importer.Options{Name: "c", Format: f})
		if (r == nil) != (f == importer.VSCode) {
			t.Errorf("%s: mcpServers: %s", f, remarks(list))
		}
		if r != nil {
			off := !r.Servers[0].Enabled
			if off != (f == importer.Cursor || f == importer.Auto) {
				t.Errorf("%s: enabled = false was taken: %v", f, off)
			}
			if got := strings.Contains(string(r.Text), `"alwaysAllow" named: "t"`); got != (f == importer.MCP || f == importer.Auto) {
				t.Errorf("%s: alwaysAllow was taken: %v", f, got)
			}
			if !strings.Contains(remarks(list), "alwaysAllow") {
				t.Errorf("%s: alwaysAllow was dropped silently", f)
			}
		}
		if r, list := importer.Import([]byte(code), importer.Options{Name: "c", Format: f}); (r == nil) != (f != importer.VSCode && f != importer.Auto) {
			t.Errorf("%s: servers: %s", f, remarks(list))
		}
		if got, err := importer.ParseFormat(string(f)); got != f || err != nil {
			t.Errorf("ParseFormat(%s) = %s, %v", f, got, err)
		}
	}
	if _, err := importer.ParseFormat("zed"); err == nil {
		t.Error("zed is a format")
	}
}

// TestCutShort: wherever a config is cut off, what is said of it holds nothing that is secret in the whole.
func TestCutShort(t *testing.T) {
	a, err := txtar.ParseFile("testdata/claude.txtar")
	if err != nil {
		t.Fatal(err)
	}
	config := bytes.TrimRight(file(a, "config.json"), "\n")
	r, _ := importer.Import(config, importer.Options{Name: "c"})
	if r == nil || len(r.Secrets()) < 5 {
		t.Fatal("the config has no secrets")
	}
	for n := range config {
		r2, list := importer.Import(config[:n], importer.Options{Name: "c"})
		if r2 != nil {
			t.Fatalf("%d bytes were imported", n)
		}
		for _, v := range r.Secrets() {
			if len(v.Expose()) >= 8 && strings.Contains(remarks(list), v.Expose()) {
				t.Fatalf("%d bytes: %s", n, remarks(list))
			}
		}
	}
}
