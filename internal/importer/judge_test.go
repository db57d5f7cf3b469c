package importer

import "testing"

// TestFloats: a runner is pinned by an exact version or digest; each is shown with the nearest form that is none.
func TestFloats(t *testing.T) {
	const digest = "@sha256:0f343b0931126a20f133d67c2b018a3b9b1d1f6e2a6d1d4b0f343b0931126a20"
	const commit = "@0123456789abcdef0123456789abcdef01234567"
	for _, tt := range []struct {
		command string
		args    []string
		what    string // "" is pinned
	}{
		{"npx", []string{"-y", "pkg@1.2.3"}, ""},
		{"npx", []string{"-y", "pkg@1.2"}, "pkg@1.2"},
		{"npx", []string{"-y", "pkg@latest"}, "pkg@latest"},
		{"npx", []string{"-y", "@scope/pkg"}, "@scope/pkg"},
		{"npx", []string{"@scope/pkg@1.2.3-beta.1"}, ""},
		{"npx", []string{"pkg@^1.2.3"}, "pkg@^1.2.3"},
		{"npx", []string{"-p", "pkg@1.2.3", "tool"}, ""},
		{"npx", []string{"--package=pkg", "tool"}, "pkg"},
		{"npx", nil, ""},
		{`C:\nodejs\npx.cmd`, []string{"pkg"}, "pkg"},
		{"cmd", []string{"/c", "npx", "-y", "pkg"}, "pkg"},
		{"cmd", []string{"/c", "dir"}, ""},
		{"npm", []string{"exec", "--yes", "pkg"}, "pkg"},
		{"npm", []string{"run", "pkg"}, ""},
		{"pnpm", []string{"dlx", "pkg"}, "pkg"},
		{"bun", []string{"x", "pkg@1.0.0"}, ""},
		{"uvx", []string{"pkg==1.2.3"}, ""},
		{"uvx", []string{"pkg@1.2.3"}, ""},
		{"uvx", []string{"pkg>=1.2"}, "pkg>=1.2"},
		{"uvx", []string{"pkg==1.*"}, "pkg==1.*"},
		{"uvx", []string{"--python", "3.12", "pkg"}, "pkg"},
		{"uvx", []string{"--from", "git+https://host.example/x" + commit, "tool"}, ""},
		{"uvx", []string{"--from", "git+https://host.example/x@main", "tool"}, "git+https://host.example/x@main"},
		{"uv", []string{"tool", "run", "pkg"}, "pkg"},
		{"uv", []string{"run", "server.py"}, ""},
		{"pipx", []string{"run", "pkg==1.0"}, ""},
		{"docker", []string{"run", "-i", "--rm", "img:1.2"}, "img:1.2"},
		{"docker", []string{"run", "-i", "-e", "A", "--mount", "type=bind", "img" + digest}, ""},
		{"docker", []string{"run", "-v", "/a:/b", "img", "npx" + digest}, "img"},
		{"docker", []string{"compose", "up"}, ""},
		{"podman", []string{"run", "img"}, "img"},
		{"node", []string{"index.js"}, ""},
		{"/opt/npx-tools/server", []string{"pkg"}, ""},
	} {
		what, want, ok := floats(tt.command, tt.args)
		if ok != (tt.what != "") || ok && (what != tt.what || want == "") {
			t.Errorf("floats(%s %q) = %q, %v, want %q", tt.command, tt.args, what, ok, tt.what)
		}
	}
}

// TestCredentialIn: what looks like a credential in an argument, and next to it what does not.
func TestCredentialIn(t *testing.T) {
	for _, tt := range []struct{ flag, arg, want string }{
		{"api-key", "abc", "abc"},
		{"api-key", "--verbose", ""},
		{"api-key", "true", ""},
		{"api-key-file", "/run/secrets/key", ""},
		{"path", "abc", ""},
		{"", "--api-key=abc", "abc"},
		{"", "--api-key=", ""},
		{"", "--keyboard=us", ""},
		{"", "--keys", ""},
		{"", "--token-file=/run/secrets/token", ""},
		{"", "API_KEY=abc", "abc"},
		{"", "MODE=fast", ""},
		{"", "LOG_LEVEL=debug", ""},
		{"", "Authorization: Bearer abc", "Bearer abc"},
		{"header", "X-Mode: fast", ""},
		{"", "ghp_0123456789abcdef", "ghp_0123456789abcdef"},
		{"", "ghp_short", ""},
		{"", "postgres://app:pw@db/app", "postgres://app:pw@db/app"},
		{"", "postgres://app@db/app", ""},
		{"", "https://h.example/mcp?apikey=abc", "https://h.example/mcp?apikey=abc"},
		{"", "https://h.example/mcp?mode=abc", ""},
		{"", "9f86d081884c7d659a2feaa0", "9f86d081884c7d659a2feaa0"},
		{"", "550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000"},
		{"", "/tmp/go-build1234567890123/out", ""},
		{"", "--dir=/tmp/go-build1234567890123/out", ""},
		{"", "@modelcontextprotocol/server-filesystem", ""},
		{"", "img@sha256:0f343b0931126a20f133d67c2b018a3b9b1d1f6e2a6d1d4b0f343b0931126a20", ""},
		{"", "--root", ""},
		{"", "", ""},
	} {
		if got := credentialIn(tt.flag, tt.arg); got != tt.want {
			t.Errorf("credentialIn(%q, %q) = %q, want %q", tt.flag, tt.arg, got, tt.want)
		}
	}
}

// TestSecretLiteral: which literals of env are left behind, each beside one that is not.
func TestSecretLiteral(t *testing.T) {
	im := &importer{public: []string{"/opt/bin/server", "--mode=production", "https://h.example/mcp"}}
	for _, tt := range []struct {
		name, value string
		secret      bool
	}{
		{"LOG_LEVEL", "debug", false},
		{"FASTMCP_LOG_LEVEL", "INFO", false},
		{"LOG_LEVEL", "hunter2", true},
		{"XLOG_LEVELS", "debug", true},
		{"NODE_ENV", "production", false},
		{"NODE_ENV", "prodx", true},
		{"LANG", "en_US.UTF-8", false},
		{"LANG", "correcthorse", true},
		{"TZ", "Europe/Berlin", false},
		{"TZ", "s3cret", true},
		{"PORT", "8080", false},
		{"PIN", "8080", true},
		{"API_KEY", "", false},
		{"API_KEY", "true", false},
		{"API_KEY", "production", true},
		{"MODE", "production", false}, // it stands in an argument
		{"MODE", "productive", true},
		{"BIN", "/opt/bin", false},
		{"BIN", "/opt/sbin", true},
		{"BASE", "https://h.example", false},
		{"BASE", "https://other.example", true},
	} {
		if got := im.secretLiteral(tt.name, tt.value); got != tt.secret {
			t.Errorf("secretLiteral(%s, %s) = %v, want %v", tt.name, tt.value, got, tt.secret)
		}
	}
}
