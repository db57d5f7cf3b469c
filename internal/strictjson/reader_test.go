package strictjson_test

import (
	"bytes"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// reread writes what the Reader finds. It stops after steps values, so that a Reader that does not end is found.
func reread(dst []byte, r *strictjson.Reader, steps *int) []byte {
	if *steps--; *steps < 0 {
		return dst
	}
	sep := byte(0)
	next := func() {
		if sep != 0 {
			dst = append(dst, sep)
		}
		sep = ','
	}
	switch r.Kind() {
	case strictjson.KindObject:
		dst = append(dst, '{')
		for r.Enter(); r.More() && *steps >= 0; {
			next()
			dst = append(strictjson.AppendString(dst, r.Name()), ':')
			dst = reread(dst, r, steps)
		}
		return append(dst, '}')
	case strictjson.KindArray:
		dst = append(dst, '[')
		for r.Enter(); r.More() && *steps >= 0; {
			next()
			dst = reread(dst, r, steps)
		}
		return append(dst, ']')
	case strictjson.KindString:
		s, _ := r.Scalar().Text()
		return strictjson.AppendString(dst, s)
	}
	return append(dst, r.Scalar()...)
}

// FuzzReader reads a text and writes it again: the canonical form stays. On other bytes the Reader must end.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		` {"a" : [ 1 , -0.5e+3,true,false , null,"\u00e9\n"], "" : { } } `, `[]`, `[[],[[]],{}]`, `"x"`, `7`, ``, `[1`, `{"a"`, `{"a":`, `[}`, `{]`, `:`, `[1 2]`, `{{`, `"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		steps := len(src) + 1
		got := reread(nil, strictjson.NewReader(src), &steps)
		if steps < 0 {
			t.Fatalf("Reader of %q finds more than %d values", src, len(src))
		}
		want, err := strictjson.AppendCanonical(nil, src, strictjson.Limits{})
		if err != nil {
			return
		}
		if got, err = strictjson.AppendCanonical(nil, got, strictjson.Limits{}); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("Reader of %q finds %s, %v, want %s", src, got, err, want)
		}
	})
}
