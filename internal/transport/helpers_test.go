package transport

import (
	"errors"
	"io"
	"testing"
	"unicode"

	"github.com/mcpcat-dev/mcpcat/internal/jsonrpc"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

type outcome struct {
	m   *jsonrpc.Message
	err error
}

func good(t *testing.T, o outcome, id string) string {
	t.Helper()
	if o.err != nil {
		t.Fatalf("call %s: %v", id, o.err)
	}
	if o.m.Kind != jsonrpc.Result || o.m.ID.Raw() != id {
		t.Fatalf("call %s got %v with id %s", id, o.m.Kind, o.m.ID)
	}
	return string(o.m.Result)
}

// printable fails for an error text with control characters or quoted bytes beyond the limit.
func printable(t *testing.T, err error) {
	t.Helper()
	for _, r := range err.Error() {
		if !unicode.IsPrint(r) {
			t.Errorf("error text has %U: %q", r, err)
		}
	}
	var framing *FramingError
	if errors.As(err, &framing) && len(framing.Excerpt) > 256 {
		t.Errorf("excerpt has %d bytes, want at most 256", len(framing.Excerpt))
	}
}

func body(id int, method, params string) []byte {
	return jsonrpc.AppendRequest(nil, jsonrpc.IntID(int64(id)), method, []byte(params))
}

func call(id int, method string) *Call {
	return &Call{ID: jsonrpc.IntID(int64(id)), Method: method, Body: body(id, method, `{}`)}
}

// rawID is the id token in a request.
func rawID(t testing.TB, request []byte) string {
	t.Helper()
	m, err := jsonrpc.Decode(request, strictjson.Limits{})
	if err != nil {
		t.Fatalf("our own request %q: %v", request, err)
	}
	return m.ID.Raw()
}

// chunks is a reader that gives its parts one by one.
type chunks [][]byte

func (c *chunks) Read(p []byte) (int, error) {
	if len(*c) == 0 {
		return 0, io.EOF
	}
	n := copy(p, (*c)[0])
	if (*c)[0] = (*c)[0][n:]; len((*c)[0]) == 0 {
		*c = (*c)[1:]
	}
	return n, nil
}

// cutUp cuts b at places that the seed decides.
func cutUp(b []byte, seed uint64) *chunks {
	var c chunks
	for len(b) > 0 {
		seed = seed*6364136223846793005 + 1442695040888963407
		n := min(1+int(seed>>33)%7, len(b))
		if seed>>60 == 0 {
			n = min(len(b), 100_000)
		}
		c = append(c, b[:n])
		b = b[n:]
	}
	return &c
}
