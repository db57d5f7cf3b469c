package catalog

import (
	"bytes"
	"strings"
	"testing"
)

func TestShown(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "server \"wiki\" {\n  http { url = \"https://wiki.example/mcp\" }\n  tools = [\"search_pages\", \"get_page\"]\n}\n", ""},
		{"reference", "auth { bearer = var.harbour_token }\n", ""},
		{"digests", "sha256 = \"sha256:0705559bd93713f51d31f444a854af540705559bd93713f51d31f444a854af54\"\npin = \"sha256/e9qjG74IQWa6Z4bqJMDTtTaYtdmHKIe8SKz5GO8Liqw=\"\n", ""},
		{"name of the argument", "token = \"hunter2\"\nx = \"hunter2\"\n", "token = \"…\"\nx = \"hunter2\"\n"},
		{"name in a list", "api_keys = [\"a\",\n \"b\"]\nx = \"c\"\n", "api_keys = [\"…\",\n \"…\"]\nx = \"c\"\n"},
		{"key", "headers = { \"X-Api-Key\" = \"k\", Accept: \"a\" }\n", "headers = { \"X-Api-Key\" = \"…\", Accept: \"a\" }\n"},
		{"key of an object", "secrets = {\n  \"a\" = \"k\"\n  b = { c = \"l\" }\n}\nx = \"y\"\n", "secrets = {\n  \"a\" = \"…\"\n  b = { c = \"…\" }\n}\nx = \"y\"\n"},
		{"label of the block", "variable \"password\" {\n  default = \"p\"\n}\nvariable \"x\" {\n  default = \"p\"\n}\n", "variable \"password\" {\n  default = \"…\"\n}\nvariable \"x\" {\n  default = \"p\"\n}\n"},
		{"heredoc", "private_key = <<EOT\nab\n  cd\n\nEOT\nx = \"y\"\n", "private_key = <<EOT\n…\n…\n\nEOT\nx = \"y\"\n"},
		{"template", "authorization = \"Basic ${var.a}xyz\"\n", "authorization = \"…${var.a}…\"\n"},
		{"sensitive", "x = \"a${sensitive(\"b\")}c\"\ny = [sensitive(upper(\"d\")), (\"e\")]\nz = \"f\"\n", "x = \"a${sensitive(\"…\")}c\"\ny = [sensitive(upper(\"…\")), (\"e\")]\nz = \"f\"\n"},
		{"known forms", "x = \"ghp_abcdefghijklmnop\"\ny = \"Bearer abcdefg\"\n", "x = \"…\"\ny = \"Bearer …\"\n"},
		{"long run", "x = [\"--key=a1b2c3d4e5f6a7b8c9d0e1\"]\n", "x = [\"…\"]\n"},
		{"URL", "url = \"https://me:pw@a.example/mcp?key=v\"\n", "url = \"https://…@a.example/mcp?…\"\n"},
		{"comments", "# token: abc def\n// sk-abcdefghijklmnop\n# about tokens\n/* password=x\n y */\n", "# token: …\n// …\n# about tokens\n/* password=…\n y */\n"},
		{"no quotes", "x = ghp_abcdefghijklmnop\n", "x = …\n"},
		{"not well-formed", "token = \"abc\nx = {\n", "token = \"…\n…\n"},
		{"CR LF", "\xef\xbb\xbfpassword = \"p\"\r\n", "password = \"…\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == "" {
				want = tt.in
			}
			if got, hidden := Shown([]byte(tt.in)); string(got) != want || hidden != (tt.want != "") {
				t.Errorf("hidden: %v, got\n%s\nwant\n%s", hidden, got, want)
			}
		})
	}
}

// TestShownHidesAlike wants a text and what it is formatted to, to show the same: nothing but blanks is between them.
func TestShownHidesAlike(t *testing.T) {
	all, _ := repository(t)
	n := 0
	for _, w := range all {
		src := deindent(w.text)
		out, diags := Format(w.where, src)
		if diags.HasErrors() {
			continue
		}
		n++
		a, _ := Shown(src)
		b, _ := Shown(out)
		if !bytes.Equal(withoutBlanks(a), withoutBlanks(b)) {
			t.Errorf("%s: shown as\n%s\nand as\n%s", w.where, a, b)
		}
		if bytes.Count(a, []byte("\n")) != bytes.Count(out, []byte("\n")) {
			t.Errorf("%s: lines are missing", w.where)
		}
		for _, word := range strings.Fields(string(a)) {
			if strings.Contains(word, "canary-pw@") {
				t.Errorf("%s: the user information of a URL is shown: %s", w.where, word)
			}
		}
	}
	if n < 60 {
		t.Errorf("%d catalogs were looked at, want many more", n)
	}
}
