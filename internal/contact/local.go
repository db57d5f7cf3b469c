package contact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
)

// local says why what a command runs may depend on files of the checkout, empty if it does not. A pull request can change
// such a file without changing the endpoint, so the lock does not vouch for the command.
//
// It is careful rather than exact. What counts: an interpreter or launcher, because it looks for modules, packages and
// settings in its working directory, which is the catalog's; a command in the checkout, by its name or behind links; an
// argument or a variable that names a program in the checkout; a variable that makes programs load code. Data files of a
// program outside the checkout do not count.
//
// What the lock pins by content vouches for itself: a program with sha256, a file in files. An interpreter or launcher does not,
// whatever is pinned: nobody has listed all that it may load.
func (k *Keeper) local(c *catalog.Stdio) string {
	at := &place{Keeper: k, dir: k.join(c.Workdir), pinned: map[string]bool{}}
	for _, f := range c.Files {
		at.pinned[resolved(k.join(f.Path))] = true
	}
	command := c.Command
	if !strings.ContainsRune(command, '/') {
		path, err := exec.LookPath(command)
		if err != nil && !errors.Is(err, exec.ErrDot) {
			return "" // it cannot be started either
		}
		command = path
	}
	if len(c.SHA256) == 0 && k.inside(command, k.Dir) {
		return fmt.Sprintf("it runs %q from the checkout, whose content the lock does not pin", c.Command)
	}
	if launcher(c.Command) || launcher(resolved(k.join(command))) {
		return fmt.Sprintf("%q is an interpreter or launcher: what it runs depends on files that the lock does not pin", c.Command)
	}
	for _, arg := range c.Args {
		if at.runs(arg) {
			return fmt.Sprintf("the argument %q names a program in the checkout, whose content the lock does not pin", arg)
		}
	}
	for _, v := range c.Env {
		if loads(v.Name) {
			return fmt.Sprintf("the variable %s can make it load code that the lock does not pin", v.Name)
		}
		if !v.Value.Secret() && at.runs(v.Value.Expose()) {
			return fmt.Sprintf("the variable %s names a program in the checkout, whose content the lock does not pin", v.Name)
		}
	}
	return ""
}

// place is where a command starts.
type place struct {
	*Keeper
	dir    string
	pinned map[string]bool // files by their path without links
}

// runs reports whether a word of a command line names a program in the checkout whose content is not pinned: the word
// itself, what follows an equals sign or a one-letter flag, or an element of a list in it.
func (k *place) runs(word string) bool {
	candidates := []string{word}
	if _, v, ok := strings.Cut(word, "="); ok {
		candidates = append(candidates, v)
	}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		candidates = append(candidates, word[2:])
	}
	for _, c := range candidates {
		for _, part := range append(strings.FieldsFunc(c, func(r rune) bool { return r == ':' || r == ';' || r == ',' }), c) {
			if full := joined(k.dir, part); k.inside(part, k.dir) && !k.pinned[resolved(full)] && program(full) {
				return true
			}
		}
	}
	return false
}

// inside reports whether a path leads into the checkout: it is relative to a directory there, or lies there by its name or
// behind links. A path that does not exist leads nowhere.
func (k *Keeper) inside(path, dir string) bool {
	if path == "" {
		return false
	}
	full := joined(dir, path)
	if _, err := os.Lstat(full); err != nil {
		return false
	}
	root := checkout(k.Dir)
	if !filepath.IsAbs(path) && below(root, resolved(dir)) {
		return true
	}
	return below(root, resolved(full)) || below(root, filepath.Join(resolved(filepath.Dir(full)), filepath.Base(full))) || below(root, filepath.Clean(full))
}

func (k *Keeper) join(path string) string { return joined(k.Dir, path) }

func joined(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func below(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// checkout is the outermost directory above dir that a version control system keeps its files in, or dir itself.
func checkout(dir string) string {
	dir = resolved(dir)
	root := dir
	for d := dir; ; d = filepath.Dir(d) {
		for _, name := range []string{".git", ".hg", ".jj", ".svn"} {
			if _, err := os.Lstat(filepath.Join(d, name)); err == nil {
				root = d
			}
		}
		if d == filepath.Dir(d) {
			return root
		}
	}
}

func resolved(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return filepath.Clean(path)
}

// launchers run what an argument, a setting or the working directory names. Versions are cut off before the look-up:
// python3.12 is python.
var launchers = set(`
	ant ash awk bash bazel bun bunx bundle busybox cargo chroot cmake cmd composer conda cscript csh dash deno docker
	doas dotnet elixir env erl fish gawk gem gmake go gradle gradlew groovy guile java jbang jshell julia just ksh ld lua luajit
	make mawk mix mise mvn nerdctl ninja nice nix node nodejs nohup npm npx nvm ocaml perl php pipenv pip pipx pixi pnpm pnpx
	podman poetry powershell pwsh pypy python pythonw racket rake rscript ruby runghc rustup sbt scala script setsid sh source
	ssh stdbuf strace su sudo swift task tclsh time timeout tox ts-node tsx unshare uv uvx volta wasmer wasmtime watch wine
	wscript xargs yarn zig zsh`)

func launcher(command string) bool {
	name := strings.TrimSuffix(filepath.Base(command), ".exe")
	return launchers[strings.ToLower(strings.TrimRight(name, "0123456789.-"))]
}

// loaders are variables by which programs load code; loaderPrefixes begin the names of families of them.
var (
	loaders = set(`
		BASH_ENV BUNDLE_GEMFILE BUN_OPTIONS CDPATH CLASSPATH DENO_DIR DOTNET_STARTUP_HOOKS ENV ELIXIR_ERL_OPTIONS ERL_FLAGS FPATH GCONV_PATH
		GEM_HOME GEM_PATH GOFLAGS HOSTALIASES JAVA_OPTS JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS LUA_CPATH LUA_INIT LUA_PATH NODE_OPTIONS NODE_PATH
		OPENSSL_CONF OPENSSL_ENGINES PATH PATHEXT PERL5DB PERL5LIB PERL5OPT PERLLIB PHPRC PHP_INI_SCAN_DIR PS4 PYTHONHOME PYTHONPATH
		PYTHONSTARTUP PYTHONUSERBASE RUBYLIB RUBYOPT SHELLOPTS ZDOTDIR _JAVA_OPTIONS`)
	loaderPrefixes = []string{"LD_", "DYLD_", "NPM_CONFIG_", "GIT_", "PIP_", "UV_", "COR_", "CORECLR_"}
)

func loads(name string) bool {
	name = strings.ToUpper(name)
	for _, p := range loaderPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return loaders[name]
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// suffixes of files that are run.
var suffixes = set(`.bash .bat .cjs .cmd .dll .dylib .exe .go .jar .js .lua .mjs .mts .node .php .phar .pl .ps1 .py .pyz .rb .sh .so .ts .tsx .wasm .zsh`)

// program reports whether a file is a script or a program by its mode, its name or its first bytes. One that cannot be
// looked at counts as one; a directory does not.
func program(path string) bool {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return true
	case info.IsDir():
		return false
	case info.Mode()&0o111 != 0 || suffixes[strings.ToLower(filepath.Ext(path))]:
		return true
	case !info.Mode().IsRegular():
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	head := make([]byte, 4)
	n, err := io.ReadFull(f, head)
	short := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if closeErr := f.Close(); closeErr != nil || err != nil && !short {
		return true
	}
	head = head[:n]
	return bytes.HasPrefix(head, []byte("#!")) || bytes.HasPrefix(head, []byte("\x7fELF")) || bytes.HasPrefix(head, []byte("MZ"))
}
