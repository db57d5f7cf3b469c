package catalog

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

const (
	maxArgs     = 1024
	maxArgBytes = 32 << 10
	maxEnv      = 256
	maxEnvBytes = 32 << 10
)

func (l *loader) readStdio(b *hclsyntax.Block, w where) *Stdio {
	c := l.contents(b.Body, w, stdioBlock)
	s := &Stdio{}
	if cmd, ok := c.required("command", maxArgBytes); ok {
		s.Command = cmd
		l.checkCommand(cmd, c.exprRange("command"), w)
	}
	args, _ := c.texts("args", maxArgs, maxArgBytes)
	for _, e := range args {
		s.Args = append(s.Args, e.text)
	}
	s.Env = l.readEnv(c)
	inherit, set := c.texts("inherit_env", maxEnv, 255)
	s.InheritSet = set
	first := map[string]hcl.Range{}
	for _, e := range inherit {
		switch earlier, twice := first[e.text]; {
		case !validEnvName(e.text):
			l.fail("catalog.value", "Invalid variable name", e.rng, w, "The name of an environment variable has letters, digits and underscores; patterns are not supported.")
		case twice:
			l.fail("catalog.duplicate", "Variable listed twice", e.rng, w, "%s was already listed at %s.", e.text, place(earlier))
		case slices.ContainsFunc(s.Env, func(v EnvVar) bool { return v.Name == e.text }):
			l.fail("catalog.duplicate", "Variable both set and inherited", e.rng, w, "%s is set in env, too. Keep one of the two.", e.text)
		default:
			first[e.text] = e.rng
			s.InheritEnv = append(s.InheritEnv, e.text)
		}
	}
	slices.Sort(s.InheritEnv)
	c.readProgram(s)
	return s
}

// checkCommand checks the form of a command. Whether the file exists shows when it is started.
func (l *loader) checkCommand(cmd string, r hcl.Range, w where) {
	l.checkProgram(cmd, r, "Put the program into command and each word behind it into args, as in command = \"npx\" and args = [\"-y\", \"name@1.2.3\"].", w)
}

// checkProgram is checkCommand where words are written as right says.
func (l *loader) checkProgram(cmd string, r hcl.Range, right string, w where) {
	hint := "It is not a shell line. " + right
	fields := strings.Fields(cmd)
	slash := strings.ContainsAny(cmd, `/\`)
	switch {
	case len(fields) == 0:
		l.fail("catalog.command", "Invalid command", r, w, "command is empty.")
	case strings.ContainsAny(cmd, "\n\t") || strings.TrimSpace(cmd) != cmd:
		l.fail("catalog.command", "Invalid command", r, w, "command has a line end, a tab, or a blank at one of its ends.")
	case strings.HasPrefix(cmd, "~"):
		l.fail("catalog.command", "Invalid command", r, w, "command begins with \"~\", which is not expanded. Write an absolute path, a path relative to the catalog, or a name that is found in PATH.")
	case len(fields) > 1 && !slash:
		l.fail("catalog.command", "Command is a shell line", r, w, "command has %d words. %s", len(fields), hint)
	case len(fields) > 1 && shellLike(fields[1:]):
		l.warn("catalog.command", "Command looks like a shell line", r, w, "command has %d words and is taken as the path of one program. %s", len(fields), hint)
	}
}

// shellLike reports whether words look like options, assignments or operators rather than parts of a path.
func shellLike(words []string) bool {
	return slices.ContainsFunc(words, func(s string) bool {
		return strings.HasPrefix(s, "-") || strings.HasPrefix(s, "/") || strings.ContainsAny(s, "|&;<>$`=")
	})
}

func (l *loader) readEnv(c *contents) []EnvVar {
	var out []EnvVar
	first := map[string]hcl.Range{}
	for _, e := range c.textMap("env", maxEnv, maxEnvBytes) {
		earlier, twice := first[e.key]
		switch {
		case !validEnvName(e.key):
			l.fail("catalog.value", "Invalid variable name", e.keyRange, c.w, "The name of an environment variable has letters, digits and underscores.")
			continue
		case twice:
			l.fail("catalog.duplicate", "Variable set twice", e.keyRange, c.w, "%s was already set at %s.", e.key, place(earlier))
			continue
		case strings.ContainsRune(e.value.Expose(), 0):
			l.fail("catalog.value", "Invalid value", e.valueRange, c.w, "The value of %s contains a NUL. It is not shown.", diag.Quote(e.key, 255))
			continue
		}
		first[e.key] = e.keyRange
		l.warnLiteral(e, c.w)
		out = append(out, EnvVar{Name: e.key, Value: e.value})
	}
	slices.SortFunc(out, func(a, b EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return out
}
