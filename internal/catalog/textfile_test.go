package catalog

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// described is a catalog whose server has the text of the expression as description.
func described(expr string) map[string]string {
	return one("server \"a\" {\n  description = " + expr + "\n  stdio {\n    command = \"x\"\n  }\n}\n")
}

func with(files map[string]string, more ...string) map[string]string {
	for i := 0; i < len(more); i += 2 {
		files[more[i]] = more[i+1]
	}
	return files
}

// TestFileTexts: which texts file takes, and as what.
func TestFileTexts(t *testing.T) {
	for name, tt := range map[string]struct{ text, want, fault string }{
		"plain":      {"a\n", "a\n", ""},
		"line ends":  {"\ufeffa\r\nb\r\n", "a\nb\n", ""},
		"empty":      {"", "", ""},
		"not UTF-8":  {"a\xff", "", "not UTF-8"},
		"decomposed": {"e\u0301", "", "characters that are"},
		"largest":    {strings.Repeat("x", maxDescription), strings.Repeat("x", maxDescription), ""},
		"too large":  {strings.Repeat("x", MaxNamedFileBytes+1), "", "larger than 1048576 bytes"},
	} {
		c, _, shown := load(t, with(described(`file("note.txt")`), "note.txt", tt.text))
		switch {
		case tt.fault != "":
			if c != nil || !strings.Contains(shown, tt.fault) {
				t.Errorf("%s: want an error with %q:\n%s", name, tt.fault, shown)
			}
		case c == nil || c.Servers[0].Description != tt.want:
			t.Errorf("%s: not %.40q:\n%s", name, tt.want, shown)
		}
	}
	// What is just allowed.
	if c, _, shown := load(t, with(described(`strlen(file("note.txt")) == 1048576 ? "all" : "part"`), "note.txt", strings.Repeat("x", MaxNamedFileBytes))); c == nil || c.Servers[0].Description != "all" {
		t.Errorf("a file of %d bytes: %s", MaxNamedFileBytes, shown)
	}
}

// TestFileDigest: what file reads is part of the configuration digest, whatever becomes of it; secrets are not.
func TestFileDigest(t *testing.T) {
	digest := func(expr, note, hidden string) string {
		t.Helper()
		c, list := Load(Options{
			Dir:    writeFiles(t, with(one("locals {\n  a = "+expr+"\n}\n"), "note.txt", note, "secret.txt", hidden)),
			Lookup: func(string) (string, bool) { return "", false },
		})
		if c == nil {
			t.Fatal(list)
		}
		return c.Digest.String()
	}
	for _, expr := range []string{
		`file("note.txt")`, `file("./note.txt")`, `strlen(file("note.txt"))`, `try(file("note.txt"), "")`,
		`secret_file("secret.txt") == "b" ? file("note.txt") : "x"`, `[for n in ["note.txt"] : file(n)]`,
	} {
		a, b := digest(expr, "a", "a"), digest(expr, "b", "a")
		if a == b {
			t.Errorf("%s: the file is not part of the digest", expr)
		}
		if a != digest(expr, "a\r\n", "a") && digest(expr, "a\n", "a") != digest(expr, "a\r\n", "a") {
			t.Errorf("%s: line ends change the digest", expr)
		}
		if digest(expr, "a", "b") != a {
			t.Errorf("%s: a secret is part of the digest", expr)
		}
	}
	if digest(`"x"`, "a", "a") != digest(`"x"`, "b", "a") {
		t.Error("a file that nobody reads is part of the digest")
	}
}

// TestFileLinksAndPipes: nothing outside of the directory is read, nothing hidden, and nothing that is no file.
func TestFileLinksAndPipes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs links and named pipes")
	}
	for name, tt := range map[string]struct {
		link, target string
		fault        string
	}{
		"inside":           {"note.txt", "real.txt", ""},
		"mounted volume":   {"note.txt", "..data/real.txt", ""},
		"outside":          {"note.txt", "../outside.txt", "escapes"},
		"absolute":         {"note.txt", "/etc/hostname", "escapes"},
		"directory":        {"sub", "..", "escapes"},
		"hidden":           {"note.txt", ".git/config", "hidden file"},
		"hidden directory": {"sub", ".git", "hidden file"},
		"circle":           {"note.txt", "note.txt", "too many"},
		"device":           {"note.txt", "/dev/zero", "escapes"},
		"pipe":             {"note.txt", "pipe", "not a regular file"},
	} {
		dir := writeFiles(t, with(described(`file("`+map[string]string{"note.txt": "note.txt", "sub": "sub/config"}[tt.link]+`")`),
			"real.txt", "canary-inside", ".git/config", "canary-hidden", "..data/real.txt", "canary-inside"))
		if err := os.Symlink(tt.target, filepath.Join(dir, tt.link)); err != nil {
			t.Fatal(err)
		}
		if err := mkfifo(filepath.Join(dir, "pipe")); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		c, list := Load(Options{Dir: dir})
		if time.Since(begin) > 5*time.Second {
			t.Errorf("%s: took %s", name, time.Since(begin))
		}
		switch {
		case tt.fault == "":
			if c == nil || c.Servers[0].Description != "canary-inside" {
				t.Errorf("%s: %v", name, list)
			}
		case c != nil || len(list) != 1 || list[0].Code != "catalog.file" || !strings.Contains(list[0].Detail, tt.fault) || strings.Contains(list.Error(), "canary"):
			t.Errorf("%s: want one error catalog.file with %q, got %v", name, tt.fault, list)
		}
	}
}

// TestSecretFileTexts: exactly one line end is removed, and the places are asked in their order.
func TestSecretFileTexts(t *testing.T) {
	text := "server \"a\" {\n  stdio {\n    command = \"x\"\n    env = { T = secret_file(\"token\") }\n  }\n}\n"
	load := func(dir, secrets string) (string, string) {
		c, list := Load(Options{Dir: dir, Lookup: func(name string) (string, bool) { return secrets, name == SecretsDirVariable && secrets != "" }})
		if c == nil {
			return "", list.Error()
		}
		return c.Servers[0].Stdio.Env[0].Value.Expose(), ""
	}
	for in, want := range map[string]string{
		"abc": "abc", "abc\n": "abc", "abc\r\n": "abc", "abc\n\n": "abc\n", "abc\r": "abc\r", " abc \n": " abc ", "\n": "", "\r\n": "", "a\r\nb\n": "a\r\nb",
	} {
		if got, fault := load(writeFiles(t, with(one(text), "token", in)), ""); got != want || fault != "" {
			t.Errorf("a file with %q gave %q, %s, want %q", in, got, fault, want)
		}
	}
	inside := writeFiles(t, with(one(text), "token", "inside"))
	secrets := writeFiles(t, map[string]string{"token": "mounted"})
	for name, tt := range map[string]struct{ dir, secrets, want, fault string }{
		"both":                {inside, secrets, "mounted", ""},
		"not below secrets":   {inside, t.TempDir(), "inside", ""},
		"no secrets":          {inside, "", "inside", ""},
		"relative secrets":    {inside, "secrets", "", "must be an absolute path"},
		"no such secrets":     {inside, filepath.Join(secrets, "absent"), "inside", ""},
		"directory, no file":  {inside, writeFiles(t, map[string]string{"token/x": ""}), "", "not a regular file"},
		"not UTF-8":           {inside, writeFiles(t, map[string]string{"token": "a\xff"}), "", "not UTF-8"},
		"neither":             {writeFiles(t, one(text)), t.TempDir(), "", "no such file"},
		"larger than allowed": {inside, writeFiles(t, map[string]string{"token": strings.Repeat("x", MaxNamedFileBytes+1)}), "", "larger than"},
	} {
		if got, fault := load(tt.dir, tt.secrets); got != tt.want || !strings.Contains(fault, tt.fault) || (fault == "") != (tt.fault == "") {
			t.Errorf("%s: got %q, %q, want %q, %q", name, got, fault, tt.want, tt.fault)
		}
	}
	absolute := strings.Replace(text, `"token"`, `"`+filepath.ToSlash(filepath.Join(secrets, "token"))+`"`, 1)
	if got, fault := load(writeFiles(t, one(absolute)), secrets); got != "mounted" {
		t.Errorf("an absolute path below the directory: %q, %s", got, fault)
	}
	for _, other := range []string{t.TempDir(), filepath.Join(secrets, "token"), secrets + "x"} {
		if got, fault := load(writeFiles(t, one(absolute)), other); got != "" || !strings.Contains(fault, "must lie below") {
			t.Errorf("an absolute path that is not below %s: %q, %s", other, got, fault)
		}
	}
}
