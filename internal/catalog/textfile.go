package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
)

// SecretsDirVariable names the environment variable that holds the absolute path of a directory whose files secret_file
// may read beside those of the catalog directory.
const SecretsDirVariable = "MCPCAT_SECRETS_DIR"

// fileError is why file or secret_file failed. Its text is safe to print: it holds neither the path, which may be a pasted credential, nor
// anything that was read.
type fileError struct{ why string }

func (e *fileError) Error() string { return e.why }

func fileErrorf(format string, args ...any) error { return &fileError{fmt.Sprintf(format, args...)} }

func isFileError(err error) bool {
	var f *fileError
	var m *missingError
	return errors.As(err, &f) || errors.As(err, &m)
}

// textFile is what file or secret_file got for one path.
type textFile struct {
	text string
	file *File // of file
	err  error
}

// pathFault is PathFault for the functions.
func pathFault(path string) string {
	if len(path) > maxNamedPath {
		return fmt.Sprintf("has more than %d bytes", maxNamedPath)
	}
	return PathFault(path)
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// fileFunc is file(PATH): the text of a file of the catalog directory, which becomes part of the configuration digest.
func (l *loader) fileFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			f, err := l.readFile(asString(args[0]))
			if err != nil {
				return cty.DynamicVal, err
			}
			return cty.StringVal(string(f.Text)), nil
		},
	})
}

// readFile reads a file for the function file, each path once.
func (l *loader) readFile(path string) (*File, error) {
	path = strings.TrimPrefix(path, "./")
	if f, known := l.texts[path]; known {
		return f.file, f.err
	}
	var f textFile
	f.file, f.err = l.openFile(path)
	l.texts[path] = f
	if f.err == nil {
		l.named = append(l.named, f.file)
	}
	return f.file, f.err
}

func (l *loader) openFile(path string) (*File, error) {
	switch fault := pathFault(path); {
	case filepath.IsAbs(path), fault != "" && strings.Contains(path, "..") && !strings.Contains(path, "\n"):
		return nil, fileErrorf("the path given to file must be one inside the catalog directory: relative, with forward slashes and without . or .. in it")
	case fault != "":
		return nil, fileErrorf("the path given to file %s", fault)
	}
	raw, err := l.readInside(path)
	if err != nil {
		return nil, fileErrorf("the file in the catalog directory: %s", reason(err))
	}
	text := normalise(raw)
	if fault := textFault(text); fault != "" {
		return nil, fileErrorf("the file in the catalog directory %s", fault)
	}
	return newFile(path, text), nil
}

// readInside reads a file of the catalog directory. Links may not lead to hidden files either: what programs keep there,
// such as the credentials in .git, was not put there for the catalog.
func (l *loader) readInside(path string) ([]byte, error) {
	dir := l.opts.Dir
	if dir == "" {
		dir = "."
	}
	text, _, err := readNamed(dir, path)
	if err != nil {
		return nil, err
	}
	root, err1 := filepath.EvalSymlinks(dir)
	target, err2 := filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(path)))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(root, target)
	if err != nil {
		return nil, err
	}
	// Names that begin with two dots are those of volumes that a cluster mounts, which link every file to them.
	if slices.ContainsFunc(strings.Split(filepath.ToSlash(rel), "/"), func(s string) bool { return strings.HasPrefix(s, ".") && !strings.HasPrefix(s, "..") }) {
		return nil, errors.New("it is a link to a hidden file")
	}
	return text, nil
}

// textFault is why a text cannot be a value of the language, or "".
func textFault(text []byte) string {
	switch {
	case !utf8.Valid(text):
		return "holds bytes that are not UTF-8"
	case !norm.NFC.IsNormal(text):
		return "holds characters that are not in Unicode normal form C, which its value would have"
	}
	return ""
}

// secretFileFunc is secret_file(PATH): the text of a file without one line end at its end, and always secret.
func (l *loader) secretFileFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			path := strings.TrimPrefix(asString(args[0]), "./")
			f, known := l.secretTexts[path]
			if !known {
				f.text, f.err = l.openSecretFile(path)
				l.secretTexts[path] = f
			}
			switch {
			case errors.Is(f.err, errSecretMissing) && l.offline():
				l.need(secretFileRef(path), "")
				return cty.UnknownVal(cty.String), nil
			case f.err != nil:
				return cty.DynamicVal, f.err
			}
			v := cty.StringVal(f.text)
			l.secrets = secretsIn(l.secrets, v, secretFileRef(path))
			return v, nil
		},
	})
}

func secretFileRef(path string) string {
	return "secret_file(" + quoteText(strings.TrimPrefix(path, "./")) + ")"
}

// errSecretMissing marks a secret that is not on this machine, or not for this user.
var errSecretMissing = errors.New("secret missing")

type missingError struct{ fileError }

func (e *missingError) Unwrap() error { return errSecretMissing }

func missingErrorf(format string, args ...any) error {
	return &missingError{fileError{fmt.Sprintf(format, args...)}}
}

// openSecretFile looks for a relative path below $MCPCAT_SECRETS_DIR and then in the catalog directory, and for an absolute
// one below $MCPCAT_SECRETS_DIR.
func (l *loader) openSecretFile(path string) (string, error) {
	if fault := pathFault(path); fault != "" {
		return "", fileErrorf("the path given to secret_file %s", fault)
	}
	dir, set := l.lookup(SecretsDirVariable)
	if set = set && dir != ""; set && !filepath.IsAbs(dir) {
		return "", fileErrorf("%s must be an absolute path", SecretsDirVariable)
	}
	below := path
	if filepath.IsAbs(path) {
		if !set {
			return "", missingErrorf("an absolute path is read below %s only, which is not set", SecretsDirVariable)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || !filepath.IsLocal(rel) || rel == "." {
			return "", fileErrorf("an absolute path must lie below %s", SecretsDirVariable)
		}
		below = rel
	}
	if set {
		raw, _, err := readNamed(dir, filepath.ToSlash(below))
		if err == nil || !errors.Is(err, fs.ErrNotExist) || below != path {
			return secretText(raw, err, "below "+SecretsDirVariable)
		}
	}
	raw, err := l.readInside(path)
	text, err := secretText(raw, err, "in the catalog directory")
	if err == nil {
		l.add(diag.Warningf("catalog.secret_exposed", "Secret in the catalog directory",
			"%s is read from the catalog directory, where most files are committed. Keep it out of version control, or put it below %s.", diag.Escape(secretFileRef(path)), SecretsDirVariable))
	}
	return text, err
}

// secretText is the value of a secret file. One LF or CR LF at its end is removed, as editors write one, and nothing else.
func secretText(raw []byte, err error, where string) (string, error) {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return "", missingErrorf("the file of a secret %s: %s. Put it there, or below %s", where, reason(err), SecretsDirVariable)
	case err != nil:
		return "", fileErrorf("the file of a secret %s: %s", where, reason(err))
	}
	text, cut := strings.CutSuffix(string(raw), "\n")
	if cut {
		text = strings.TrimSuffix(text, "\r")
	}
	if fault := textFault([]byte(text)); fault != "" {
		return "", fileErrorf("the file of a secret %s %s", where, fault)
	}
	return text, nil
}
