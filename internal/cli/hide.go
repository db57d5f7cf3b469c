package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/diag"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
)

// hidden finds the secrets of the loaded catalogs in what a command is about to write. What servers repeat of them is
// dealt with where it comes in; this is the last net, so that one hole there is not one here.
type hidden struct {
	catalogs []*catalog.Catalog
	renewing sync.Mutex
	shown    *secret.Redactor // for what people read
	files    *secret.Redactor // for what is written to files
}

func (h *hidden) values() []secret.String {
	var all []secret.String
	for _, c := range h.catalogs {
		all = append(all, c.Secrets()...)
	}
	return all
}

// renew takes in what the catalogs' servers have learned.
func (h *hidden) renew() {
	h.renewing.Lock() // whoever comes last has seen everything
	defer h.renewing.Unlock()
	all := h.values()
	h.shown.Set(all...)
	h.files.Set(secret.AtLeast(secret.MinWithheld, all...)...)
}

// flusher is a writer that keeps something back.
type flusher interface{ Flush() error }

// hide makes both streams replace the values of cat's secrets from now on, and no file be written with them, also of those
// that come up later.
func (a *app) hide(cat *catalog.Catalog) error {
	if err := a.flush(); err != nil {
		return err
	}
	h := &hidden{catalogs: append(a.hidden.catalogs, cat), shown: &secret.Redactor{}, files: &secret.Redactor{}}
	h.renew()
	for _, c := range h.catalogs {
		c.OnSecret(h.renew)
	}
	a.hidden = h
	err := a.hidden.shown.Writer(a.Stderr)
	a.err, a.flushers = err, []flusher{err}
	if a.flags.json {
		out := &document{w: a.Stdout, r: a.hidden.shown}
		a.out, a.flushers = out, append(a.flushers, out)
		return nil
	}
	out := a.hidden.shown.Writer(a.Stdout)
	a.out, a.flushers = out, append(a.flushers, out)
	return nil
}

func (a *app) flush() error {
	var errs []error
	for _, w := range a.flushers {
		errs = append(errs, w.Flush())
	}
	return errors.Join(errs...)
}

// document keeps the JSON document of a command until it is whole, since only in its strings may something be replaced:
// a secret may be a word that the document itself is made of.
type document struct {
	w   io.Writer
	r   *secret.Redactor
	buf bytes.Buffer
}

func (d *document) Write(p []byte) (int, error) { return d.buf.Write(p) }

func (d *document) Flush() error {
	if d.buf.Len() == 0 {
		return nil
	}
	text := d.buf.Bytes()
	if json.Valid(text) {
		text = d.r.RedactJSON(text)
	} else {
		text = d.r.Redact(text)
	}
	_, err := d.w.Write(text)
	d.buf.Reset()
	return err
}

// diagnostics is list with its texts redacted, before they are wrapped.
func (h *hidden) diagnostics(list diag.List) diag.List {
	clean := slices.Clone(list)
	for i := range clean {
		d := &clean[i]
		for _, text := range []*string{&d.Summary, &d.Detail, &d.Context, &d.Snippet, &d.Address} {
			*text = h.shown.RedactString(*text)
		}
	}
	return clean
}

// inFile returns the reference of a secret that a JSON document which is to be a file holds in a string, "" if there is
// none. Words of the document's own structure are no finds.
func (h *hidden) inFile(doc []byte) string {
	return h.find(func(r *secret.Redactor) bool { return !bytes.Equal(r.RedactJSON(doc), doc) })
}

// find returns the reference of the first secret for which in holds.
func (h *hidden) find(in func(*secret.Redactor) bool) string {
	if !in(h.files) {
		return ""
	}
	for _, v := range h.values() {
		if in(secret.NewRedactor(secret.AtLeast(secret.MinWithheld, v)...)) {
			return v.Ref()
		}
	}
	return "a secret" // of which two are needed
}

// inLock is inFile for a lock and its mirror. Serials, digests and the format are ours.
func (h *hidden) inLock(l *lock.Lock) (string, error) {
	entries, err := l.Entries()
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		ref := h.find(func(r *secret.Redactor) bool { return r.Holds([]byte(e.Key)) })
		if ref == "" && json.Valid(e.Value) {
			ref = h.inFile(e.Value)
		}
		if ref != "" {
			return ref, nil
		}
	}
	return "", nil
}

// secretInFile refuses to write a file.
func secretInFile(what, ref string) error {
	return fail(exitFailed, diag.Errorf("plan.secret", "A secret would be written",
		"%s would hold the value of %s, so it was not written. Look for that value in names, descriptions and plain values of the catalog, and change the secret if a server repeats it.", what, diag.Escape(ref)))
}
