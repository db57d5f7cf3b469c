package catalog

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

// readClient reads the client's certificate and its key.
func (l *loader) readClient(c *contents, t *TLS) {
	const certName, keyName = "client_cert_file", keyRef
	absent := func(name string) bool {
		v, ok := c.valueOrNull(name)
		return c.args[name] == nil || ok && v.IsNull()
	}
	switch noCert, noKey := absent(certName), absent(keyName); {
	case noCert && noKey:
		return
	case noKey:
		l.fail("catalog.tls", "Certificate without a key", c.args[certName].NameRange, c.w, "client_cert_file needs client_key_file beside it: the private key of the certificate.")
		return
	case noCert:
		l.fail("catalog.tls", "Key without a certificate", c.args[keyName].NameRange, c.w, "client_key_file needs client_cert_file beside it: the certificate that belongs to the key.")
		return
	}
	file, certs := l.readCertificates(c, certName)
	key, ok := l.readKey(c, keyName)
	if file == nil || !ok {
		return
	}
	t.Certificate = file
	if key == nil {
		return // allowed to be missing
	}
	public := key.signer.Public().(interface{ Equal(crypto.PublicKey) bool }) // all of crypto/x509 have it
	if i := slices.IndexFunc(certs, func(x *x509.Certificate) bool { return public.Equal(x.PublicKey) }); i != 0 {
		why := "The private key that client_key_file names does not belong to the certificate that client_cert_file names."
		if i > 0 {
			why = fmt.Sprintf("The private key belongs to certificate %d of client_cert_file. Put the client's own certificate first and those of its authorities behind it.", i+1)
		}
		l.fail("catalog.tls", "Key of another certificate", c.exprRange(keyName), c.w, "%s", why)
		return
	}
	if _, err := tls.X509KeyPair(file.Text, []byte(key.pem.Expose())); err != nil {
		l.fail("catalog.tls", "Client certificate cannot be used", c.exprRange(certName), c.w, "%s.", diag.Escape(cutText(err.Error(), 256)))
		return
	}
	t.Key = key.pem
}

// keyRef is by what name people speak of a private key.
const keyRef = "client_key_file"

type privateKey struct {
	signer crypto.Signer
	pem    secret.String
	text   secret.String // without the lines that begin and end it, which every key has
}

// readKey reads a private key. It is nil if it may be missing and is; ok is false after an error.
func (l *loader) readKey(c *contents, name string) (key *privateKey, ok bool) {
	r := c.exprRange(name)
	exposed := func() (*privateKey, bool) {
		l.fail("catalog.key_exposed", "Private key in the catalog directory", r, c.w,
			"%s must be an absolute path outside the catalog directory: what lies there is committed and read by everybody. Where the path differs between machines, take it from a variable.", name)
		return nil, false
	}
	path, ok := c.namedPath(name)
	if !ok {
		return nil, false
	}
	if !filepath.IsAbs(path) {
		return exposed()
	}
	text, info, err := readNamed(l.opts.Dir, path)
	switch {
	case err != nil && l.offline() && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)):
		l.need(keyRef+" of "+c.w.address, "")
		return nil, true
	case err != nil:
		c.unreadable(name, err)
		return nil, false
	case l.insideDir(path):
		return exposed()
	}
	blocks, fault := splitPEM(normalise(text))
	if fault == "" {
		key, fault = parseKey(blocks, name)
	}
	if fault != "" {
		l.fail("catalog.file", "Not a private key", r, c.w, "The file that %s names %s", name, stop(fault))
		return nil, false
	}
	l.secrets = append(l.secrets, key.text)
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0 {
		l.warn("catalog.key_exposed", "Private key that everybody can read", r, c.w,
			"Every user of this machine can read the file that %s names (mode %04o). Let its owner alone read it: chmod 600.", name, info.Mode().Perm())
	}
	return key, true
}

// offline reports whether secrets may be missing.
func (l *loader) offline() bool { return l.opts.AllowMissingSecrets || l.opts.Planned != nil }

// parseKey returns the one private key among the blocks of a file, or what is wrong with it. Ref is by what name people
// speak of it.
func parseKey(blocks []pemBlock, ref string) (*privateKey, string) {
	blocks = slices.DeleteFunc(blocks, func(b pemBlock) bool { return b.Type == "EC PARAMETERS" }) // openssl writes them before a key
	switch {
	case len(blocks) != 1:
		return nil, fmt.Sprintf("holds %d blocks, want one private key in PEM form", len(blocks))
	case blocks[0].Type == "ENCRYPTED PRIVATE KEY" || blocks[0].Headers["Proc-Type"] != "":
		return nil, "holds an encrypted key, and there is nobody to ask for its password. Decrypt it with:\n\n    openssl pkey -in FILE -out FILE.pem"
	case !strings.HasSuffix(blocks[0].Type, "PRIVATE KEY"):
		return nil, "holds no private key"
	}
	b := blocks[0]
	signer := parseSigner(b.Bytes)
	if signer == nil {
		return nil, "holds a private key that is damaged or of a kind that TLS does not use"
	}
	return &privateKey{signer: signer, pem: secret.New(string(pem.EncodeToMemory(b.Block)), ref), text: secret.New(strings.TrimSuffix(b.text, "\n"), ref)}, ""
}

// parseSigner reads the forms that crypto/tls reads, nil for others.
func parseSigner(der []byte) crypto.Signer {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		signer, _ := key.(crypto.Signer)
		return signer
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key
	}
	return nil
}
