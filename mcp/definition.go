package mcp

import (
	"math"
	"reflect"
	"strconv"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// anyLimits let everything pass that a client has let pass, whatever its limits were.
var anyLimits = Limits{NameBytes: math.MaxInt, URIBytes: math.MaxInt}

// definitionOf returns the JSON text that an item stands for: the one it was decoded from, as long as its fields say the
// same, or for an item that was built by hand one that is made of them, by the rules and default limits of the wire.
func definitionOf[T any](
	item *T, raw strictjson.Value, what string, decode func(strictjson.Value, *Limits) (*T, *fault), encode func([]byte) []byte,
) (strictjson.Value, error) {
	if raw != nil {
		again, f := decode(raw, &anyLimits)
		if f != nil || !reflect.DeepEqual(again, item) {
			return nil, &RequestError{Reason: what + " was changed after it was received; use its Parse function to make one"}
		}
		return raw, nil
	}
	v, _, err := parseItem(encode(nil), decode)
	return v, err
}

// parseItem reads one item under the default limits. It keeps text.
func parseItem[T any](text []byte, decode func(strictjson.Value, *Limits) (*T, *fault)) (strictjson.Value, *T, error) {
	lim := strictjson.Limits{Bytes: defaultListBytes, Depth: defaultJSONDepth}
	v, err := strictjson.Parse(text, lim)
	if err != nil {
		return nil, nil, fromStrict("", err, lim)
	}
	limits, err := Limits{}.filled(Limits{})
	if err != nil {
		return nil, nil, err
	}
	item, f := decode(v, &limits)
	if f != nil {
		return nil, nil, f.err("")
	}
	return v, item, nil
}

func (b *builder) number(name string, value *int64) {
	if value != nil {
		b.key(name)
		b.dst = strconv.AppendInt(b.dst, *value, 10)
	}
}

// annotations appends them: those that were received keep their bytes.
func (b *builder) annotations(a *Annotations) {
	if a == nil {
		return
	}
	b.key("annotations")
	if a.raw != nil {
		b.dst = append(b.dst, a.raw...)
		return
	}
	inner := object(b.dst)
	if a.Audience != nil {
		inner.texts("audience", a.Audience)
	}
	if a.Priority != nil {
		inner.key("priority")
		inner.dst = strconv.AppendFloat(inner.dst, *a.Priority, 'g', -1, 64)
	}
	inner.text("lastModified", a.LastModified)
	b.dst = inner.end()
}
