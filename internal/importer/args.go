package importer

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
)

// argument is one argument of a command. at is its position in the config, from 1.
type argument struct {
	at   int
	text string
	// fault says why the argument is left out; it looks like a credential then.
	fault sentence
}

// outArg is an argument as it is written: an expression, or a comment in its place.
type outArg struct {
	expr expr
	out  sentence
}

var (
	flagValue  = regexp.MustCompile(`^--?([A-Za-z][A-Za-z0-9_.-]*)=(.+)$`)
	flagAlone  = regexp.MustCompile(`^--?([A-Za-z][A-Za-z0-9_.-]*)$`)
	assignment = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.-]*)=(.+)$`)
	headerLine = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*): ?(.+)$`)
)

// judgeArgs marks the arguments that look like credentials and remembers what they hold.
func (im *importer) judgeArgs(s *server) {
	if lit, ok := literal(split(s.command)); ok && credentialValue(lit) && !pathLike.MatchString(lit) {
		im.keepSecret(lit)
	}
	for i := range s.arguments {
		a := &s.arguments[i]
		before := ""
		if i > 0 {
			if m := flagAlone.FindStringSubmatch(s.arguments[i-1].text); m != nil {
				before = m[1]
			}
		}
		value := credentialIn(before, a.text)
		if value == "" {
			continue
		}
		a.fault = say("it looks like a credential")
		for _, p := range split(value) { // what it refers to is no secret of this file
			if p.ref == nil && !keepable(p.lit) {
				im.keepSecret(p.lit)
			} else if p.ref != nil && p.ref.hasDef && !im.publicDefault(p.ref) {
				im.keepSecret(p.ref.def)
			}
		}
	}
}

// credentialIn returns the part of an argument that looks like a credential, or "". flag is the name of the option that
// stands alone in front of it.
func credentialIn(flag, arg string) string {
	if path := pathIn(arg); path != "" {
		if knownCredential(path) { // its directories may look like anything
			return arg
		}
		return ""
	}
	for _, form := range []*regexp.Regexp{flagValue, assignment, headerLine} {
		m := form.FindStringSubmatch(arg)
		if m == nil {
			continue
		}
		if harmless(m[1], m[2]) {
			return ""
		}
		if credentialName(m[1]) {
			return m[2]
		}
	}
	if flag != "" && credentialName(flag) && !strings.HasPrefix(arg, "-") && !slices.Contains(trivial, arg) && !headerLine.MatchString(arg) {
		return arg
	}
	if credentialValue(arg) {
		return arg
	}
	if strings.Contains(arg, "://") {
		if _, found := credentialURL(arg); found {
			return arg
		}
	}
	return ""
}

// pathIn returns the path that an argument is, or that it gives to an option; "" if there is none.
func pathIn(arg string) string {
	for _, form := range []*regexp.Regexp{flagValue, assignment} {
		if m := form.FindStringSubmatch(arg); m != nil {
			arg = m[2]
			break
		}
	}
	if pathLike.MatchString(arg) {
		return arg
	}
	return ""
}

// convertArgs converts the arguments. One that may not stand in a catalog leaves a comment in its place and disables the
// server.
func (im *importer) convertArgs(s *server) []outArg {
	var out []outArg
	for _, a := range s.arguments {
		e, why := im.inPublic(s, a.text)
		if a.fault.format != "" {
			why = a.fault
		}
		if why.format == "" {
			out = append(out, outArg{expr: e})
			if strings.HasPrefix(a.text, "~/") {
				im.note(s, "import.platform", "Argument %d begins with \"~\", which is expanded neither by mcpcat nor by most clients. Write the path out if the server does not expand it.", a.at)
			}
			continue
		}
		out = append(out, outArg{out: say("Argument %d is left out: %s.", a.at, why)})
		im.disable(s, "import.disabled", say("Argument %d is left out: %s.", a.at, why), "Everybody sees arguments in the list of processes. Give it through env if the server can take it from there.")
	}
	return out
}

// inPublic converts a text in a place where no secret may stand. why is set if it cannot be written.
func (im *importer) inPublic(s *server, value string) (e expr, why sentence) {
	for _, p := range split(value) {
		if p.ref == nil {
			if fault := textFault(p.lit); fault != "" {
				return nil, say("%s", fault)
			}
			e = append(e, piece{lit: p.lit})
			continue
		}
		x, fault := im.publicRef(s, p.ref)
		if fault.format != "" {
			return nil, fault
		}
		e = append(e, x)
	}
	if e = join(e); im.exposes(e.literals()) {
		return nil, say("it holds a value that stands in env or headers, where literals are taken for secrets")
	}
	if len(e) == 0 {
		e = text("")
	}
	return e, why
}

// engines are the programs whose run command has images.
var engines = []string{"docker", "podman", "nerdctl"}

// valueFlags are the options of run that take the next argument as their value.
var valueFlags = strings.Fields(`-a --add-host --annotation --blkio-weight --cap-add --cap-drop --cgroup-parent --cidfile --cpus -c --cpu-shares
	--cpuset-cpus --device --dns --dns-option --dns-search --entrypoint -e --env --env-file --expose --gpus --group-add -h --hostname --init-path --ip
	--ip6 --ipc -l --label --label-file --link --log-driver --log-opt --mac-address -m --memory --memory-swap --mount --name --network --net
	--network-alias --pid --pids-limit --platform -p --publish --pull --restart --runtime --security-opt --shm-size --stop-signal --stop-timeout
	--storage-opt --sysctl --tmpfs --ulimit -u --user --userns --uts -v --volume --volume-driver --volumes-from -w --workdir`)

// containerRun finds the arguments of "docker run": the index of the first option and of the image, len(args) if there is none.
func containerRun(command string, args []string) (options, image int, ok bool) {
	if !slices.Contains(engines, program(command)) {
		return 0, 0, false
	}
	run := slices.Index(args, "run")
	if run < 0 || run > 2 {
		return 0, 0, false
	}
	for i := run + 1; i < len(args); i++ {
		switch {
		case !strings.HasPrefix(args[i], "-"):
			return run + 1, i, true
		case slices.Contains(valueFlags, args[i]):
			i++
		}
	}
	return run + 1, len(args), true
}

// moveContainerEnv moves values that docker run would be given as arguments into env: "-e NAME" makes docker take the
// variable from its own environment. That is the one place where an argument is known to be readable from there.
func (im *importer) moveContainerEnv(s *server) {
	args := make([]string, len(s.arguments))
	for i, a := range s.arguments {
		args[i] = a.text
	}
	options, image, ok := containerRun(s.command, args)
	if !ok {
		return
	}
	for i := options; i < image; i++ {
		prefix, given := "", ""
		switch a := args[i]; {
		case (a == "-e" || a == "--env") && i+1 < image:
			i++
			given = args[i]
		case strings.HasPrefix(a, "--env="):
			prefix, given = "--env=", a[len("--env="):]
		case strings.HasPrefix(a, "-e") && len(a) > 2 && !strings.HasPrefix(a, "--"):
			prefix, given = "-e", strings.TrimPrefix(a[2:], "=")
		case slices.Contains(valueFlags, a):
			i++
			continue
		default:
			continue
		}
		name, value, has := strings.Cut(given, "=")
		if !catalog.ValidEnvName(name) {
			continue
		}
		known := slices.IndexFunc(s.env, func(p pair) bool { return p.name == name })
		switch {
		case has && known >= 0 && s.env[known].value != value:
			s.arguments[i].fault = say("it sets %s, to which env gives another value", foreign(name))
			im.collect(name, value)
			continue
		case has && known < 0:
			s.env = append(s.env, pair{name: name, value: value})
			im.note(s, "import.changed", "Argument %d gave %s its value. The value stands in env now, where %s takes it from.", s.arguments[i].at, foreign(name), program(s.command))
		case !has && known < 0 && !inherited(name):
			s.env = append(s.env, pair{name: name, value: "${" + name + "}"})
			im.note(s, "import.changed", "Argument %d passes %s on from the environment. A server gets few variables from there, so env has it now.", s.arguments[i].at, foreign(name))
		}
		s.arguments[i].text = prefix + name
	}
}

// bridges are programs that connect to a server over HTTP and speak with their parent over stdio.
var bridges = regexp.MustCompile(`^(mcp-remote|mcp-proxy|supergateway|@modelcontextprotocol/proxy)(@|==|$)`)

// inherited reports whether servers get a variable without asking for it.
func inherited(name string) bool {
	return slices.Contains(strings.Fields("PATH HOME USER LOGNAME SHELL TMPDIR TZ LANG TERM"), name) || strings.HasPrefix(name, "LC_")
}

// program is the name of a command without directory and extension, in lower case.
func program(command string) string {
	command = strings.ToLower(command[strings.LastIndexAny(command, `/\`)+1:])
	for _, ext := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		command = strings.TrimSuffix(command, ext)
	}
	return command
}

var (
	exactNPM    = regexp.MustCompile(`.@v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$`)
	exactPython = regexp.MustCompile(`(==|@)v?[0-9]+(\.[0-9]+)*([a-z0-9.+]*)$|@[0-9a-f]{40}$`)
	exactImage  = regexp.MustCompile(`@sha256:[0-9a-f]{64}$`)
)

// floats names what a command would fetch without saying exactly which, and how to write that. ok is false if it fetches
// nothing, or says which.
func floats(command string, args []string) (what, want string, ok bool) {
	name := program(command)
	if name == "cmd" && len(args) > 1 && strings.EqualFold(args[0], "/c") {
		return floats(args[1], args[2:])
	}
	if _, image, ok := containerRun(command, args); ok {
		if image == len(args) || exactImage.MatchString(args[image]) {
			return "", "", false
		}
		return args[image], "the image's digest instead of a tag, NAME@sha256:…, as docker image inspect prints it below RepoDigests", true
	}
	python := false
	switch sub := strings.Join(args[:min(len(args), 2)], " "); {
	case name == "npx" || name == "bunx" || name == "pnpx":
	case name == "npm" && strings.HasPrefix(sub, "exec"), (name == "pnpm" || name == "yarn") && strings.HasPrefix(sub, "dlx"), name == "bun" && strings.HasPrefix(sub, "x "):
		args = args[1:]
	case name == "uvx":
		python = true
	case name == "uv" && sub == "tool run":
		args, python = args[2:], true
	case name == "pipx" && strings.HasPrefix(sub, "run"):
		args, python = args[1:], true
	default:
		return "", "", false
	}
	exact, want := exactNPM, "the exact version, NAME@1.2.3"
	if python {
		exact, want = exactPython, "the exact version, NAME==1.2.3"
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		flag, value, has := strings.Cut(a, "=")
		switch {
		case flag == "-p" && !python || flag == "--package" || flag == "--from" || flag == "--spec":
			if !has && i+1 < len(args) {
				value = args[i+1]
			}
			return value, want, !exact.MatchString(value)
		case !has && python && slices.Contains([]string{"-p", "--python", "--with", "--index-url", "-i", "--index", "--extra-index-url", "--default-index"}, a):
			i++
		case strings.HasPrefix(a, "-"):
		default:
			return a, want, !exact.MatchString(a)
		}
	}
	return "", "", false
}
