package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// fault is a decoding error on its way up: path grows at its front as callers are left, so that a value that is fine
// costs no path.
type fault struct {
	path   string
	reason string
	limit  *LimitError
	cause  error // of a codec of the caller's, never part of the reason

	// What path and reason are made of, for hide: peer text in it is whole.
	names  []string // of the path, the innermost first
	format string
	args   []any
	about  []about
}

// about is what stands in front of a reason: an item, or the message itself if name is "".
type about struct{ kind, name string }

func (a about) String() string {
	if a.name == "" {
		return a.kind + ": "
	}
	return a.kind + " " + quote(a.name) + ": "
}

func (f *fault) Error() string { return f.path + ": " + f.reason }

func faultf(format string, args ...any) *fault {
	return &fault{reason: fmt.Sprintf(format, args...), format: format, args: args}
}

func tooMuch(what string, limit int, unit string) *fault {
	return tooMuchf(limit, unit, "%s", what)
}

// tooMuchf is tooMuch for what has peer text in it, see peer.
func tooMuchf(limit int, unit, format string, args ...any) *fault {
	f := faultf(format, args...)
	f.limit = &LimitError{What: f.reason, Max: int64(limit), Unit: unit}
	return f
}

// hide is f with its peer text redacted, before anything of it is cut or escaped.
func (f *fault) hide(redact func([]byte) []byte) *fault {
	if f == nil || redact == nil {
		return f
	}
	clean := func(s string) string { return string(redact([]byte(s))) }
	g := &fault{cause: f.cause, names: f.names, format: f.format, args: f.args, about: f.about}
	for _, name := range f.names {
		g.path = pathStep(clean(name)) + g.path
	}
	args := slices.Clone(f.args)
	for i, arg := range args {
		if p, ok := arg.(peer); ok {
			args[i] = peer(clean(string(p)))
		}
	}
	g.reason = f.reason
	if f.format != "" {
		g.reason = fmt.Sprintf(f.format, args...)
		for _, a := range f.about {
			if a.name != "" {
				a.name = clean(a.name)
			}
			g.reason = a.String() + g.reason
		}
	}
	if f.limit != nil {
		limit := *f.limit
		limit.What = g.reason
		g.limit = &limit
	}
	return g
}

// under puts a member name in front of f's path.
func (f *fault) under(name string) *fault {
	if f == nil {
		return nil
	}
	f.names = append(f.names, name)
	f.path = pathStep(name) + f.path
	return f
}

// pathStep is one step of a path in an error: cut and escaped.
func pathStep(name string) string {
	if len(name) > maxExcerpt {
		name = strings.ToValidUTF8(name[:maxExcerpt], "") + "..."
	}
	return "/" + pointerEscape.Replace(strings.Trim(strconv.Quote(name), `"`))
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// at puts an index in front of f's path.
func (f *fault) at(i int) *fault {
	return f.under(strconv.Itoa(i))
}

// of names the item that f is about, in front of its reason.
func (f *fault) of(kind, name string) *fault {
	if f != nil && f.limit == nil {
		f.front(about{kind, name})
	}
	return f
}

func (f *fault) front(a about) {
	f.about = append(f.about, a)
	f.reason = a.String() + f.reason
}

// err is f as an error of the package: a *LimitError or a *ProtocolError. It is nil if f is.
func (f *fault) err(method string) error {
	switch {
	case f == nil:
		return nil
	case f.limit != nil:
		f.limit.Method = method
		return f.limit
	}
	return &ProtocolError{Method: method, Path: f.path, Reason: f.reason, Err: f.cause}
}

// fromStrict turns an error of strictjson, which was given lim, into one of this package.
func fromStrict(method string, err error, lim strictjson.Limits) error {
	var se *strictjson.Error
	if !errors.As(err, &se) {
		return &ProtocolError{Method: method, Reason: err.Error()}
	}
	over := &LimitError{Method: method, What: se.Error()}
	switch se.Class {
	case strictjson.ClassSize:
		over.Max, over.Unit = int64(cmp.Or(lim.Bytes, strictjson.DefaultMaxBytes)), "bytes"
	case strictjson.ClassDepth:
		over.Max, over.Unit = int64(cmp.Or(lim.Depth, strictjson.DefaultMaxDepth)), "levels"
	case strictjson.ClassDigits:
		over.Max, over.Unit = strictjson.MaxDigits, "digits"
	case strictjson.ClassExponent:
		over.Max, over.Unit = strictjson.MaxExponent, "powers of ten"
	default:
		return &ProtocolError{Method: method, Path: se.Pointer, Reason: se.Reason}
	}
	return over
}

func kindName(v strictjson.Value) string {
	switch v.Kind() {
	case strictjson.KindObject:
		return "an object"
	case strictjson.KindArray:
		return "an array"
	case strictjson.KindString:
		return "a string"
	case strictjson.KindNumber:
		return "a number"
	case strictjson.KindTrue:
		return "true"
	case strictjson.KindFalse:
		return "false"
	case strictjson.KindNull:
		return "null"
	}
	return "missing"
}

// missing says that a required member is not there.
func missing(name, want string) *fault { return faultf("is missing, want %s", want).under(name) }

func asString(name string, v strictjson.Value) (string, *fault) {
	s, ok := v.Text()
	if !ok {
		return "", faultf("is %s, want a string", kindName(v)).under(name)
	}
	return s, nil
}

func asOptional(name string, v strictjson.Value) (*string, *fault) {
	s, f := asString(name, v)
	if f != nil {
		return nil, f
	}
	return &s, nil
}

func asBool(name string, v strictjson.Value) (bool, *fault) {
	b, ok := v.Bool()
	if !ok {
		return false, faultf("is %s, want true or false", kindName(v)).under(name)
	}
	return b, nil
}

func asObject(name string, v strictjson.Value) *fault {
	if v.Kind() != strictjson.KindObject {
		return faultf("is %s, want an object", kindName(v)).under(name)
	}
	return nil
}

func asArray(name string, v strictjson.Value) *fault {
	if v.Kind() != strictjson.KindArray {
		return faultf("is %s, want an array", kindName(v)).under(name)
	}
	return nil
}

// asStrings decodes an array of strings; it is never nil.
func asStrings(name string, v strictjson.Value) ([]string, *fault) {
	if f := asArray(name, v); f != nil {
		return nil, f
	}
	list := []string{}
	for e := range v.Elements() {
		s, ok := e.Text()
		if !ok {
			return nil, faultf("is %s, want a string", kindName(e)).at(len(list)).under(name)
		}
		list = append(list, s)
	}
	return list, nil
}

// asNumber decodes a number that a float64 can hold.
func asNumber(name string, v strictjson.Value) (float64, *fault) {
	text, ok := v.Number()
	if !ok {
		return 0, faultf("is %s, want a number", kindName(v)).under(name)
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, faultf("is a number beyond the range of a double").under(name)
	}
	return n, nil
}

const maxSafeInteger = 1<<53 - 1

// asTTL decodes ttlMs: a whole number by value, however it is spelled, from 0 to 2^53-1.
func asTTL(v strictjson.Value) (int64, *fault) {
	if v.Kind() != strictjson.KindNumber {
		return 0, faultf("is %s, want a whole number >= 0", kindName(v)).under("ttlMs")
	}
	n, ok := v.Int()
	if !ok || n < 0 || n > maxSafeInteger {
		return 0, faultf("is not a whole number from 0 to 2^53-1").under("ttlMs")
	}
	return n, nil
}

// duration clamps milliseconds to what a time.Duration can hold.
func duration(ms int64) time.Duration {
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}

func asScope(v strictjson.Value) (CacheScope, *fault) {
	s, f := asString("cacheScope", v)
	if f != nil {
		return "", f
	}
	switch scope := CacheScope(s); scope {
	case CachePublic, CachePrivate:
		return scope, nil
	}
	return "", faultf("is %s, want \"public\" or \"private\"", peer(s)).under("cacheScope")
}

// Members of _meta and result types of the protocol.
const (
	keyVersion      = "io.modelcontextprotocol/protocolVersion"
	keyCapabilities = "io.modelcontextprotocol/clientCapabilities"
	keyClientInfo   = "io.modelcontextprotocol/clientInfo"
	keyLogLevel     = "io.modelcontextprotocol/logLevel"
	keyServerInfo   = "io.modelcontextprotocol/serverInfo"
	keyProgress     = "progressToken"

	typeComplete      = "complete"
	typeInputRequired = "input_required"
)

// resultType reads the member that decides what kind of result this is, before anything else is looked at.
func resultType(result strictjson.Value) (string, *fault) {
	v, ok := result.Get("resultType")
	if !ok {
		return "", missing("resultType", `"complete"`)
	}
	if string(v) == `"`+typeComplete+`"` { // the usual case costs no allocation
		return typeComplete, nil
	}
	return asString("resultType", v)
}

// onlyComplete is resultType for methods whose result cannot be an interim one.
func onlyComplete(method string, result strictjson.Value) *fault {
	typ, f := resultType(result)
	switch {
	case f != nil:
		return f
	case typ == typeInputRequired:
		return faultf(`is "input_required", which %s may not answer`, method).under("resultType")
	case typ != typeComplete:
		return unknownType(typ)
	}
	return nil
}

func unknownType(typ string) *fault {
	return faultf("is %s, which is no result type of this revision", peer(typ)).under("resultType")
}

// decodeResultMeta reads the _meta of a result and the server's identity in it.
func decodeResultMeta(v strictjson.Value) (*Implementation, *fault) {
	if f := asObject("_meta", v); f != nil {
		return nil, f
	}
	info, ok := v.Get(keyServerInfo)
	if !ok {
		return nil, nil
	}
	impl, f := decodeImplementation(info)
	return impl, f.under(keyServerInfo).under("_meta")
}

func decodeImplementation(v strictjson.Value) (*Implementation, *fault) {
	if v.Kind() != strictjson.KindObject {
		return nil, faultf("is %s, want an object", kindName(v))
	}
	impl := &Implementation{Wire: Wire{v}}
	var name, version bool
	for key, m := range v.Members() {
		var f *fault
		switch key {
		case "name":
			name = true
			impl.Name, f = asString(key, m)
		case "version":
			version = true
			impl.Version, f = asString(key, m)
		case "title":
			impl.Title, f = asOptional(key, m)
		case "description":
			impl.Description, f = asOptional(key, m)
		case "websiteUrl":
			impl.WebsiteURL, f = asOptional(key, m)
		case "icons":
			impl.Icons, f = decodeIcons(m)
		}
		if f != nil {
			return nil, f
		}
	}
	switch {
	case !name:
		return nil, missing("name", "a string")
	case !version:
		return nil, missing("version", "a string")
	}
	return impl, nil
}

// asList reads an array whose elements are all read by element; it is never nil.
func asList[T any](key string, v strictjson.Value, element func(strictjson.Value) (T, *fault)) ([]T, *fault) {
	if f := asArray(key, v); f != nil {
		return nil, f
	}
	list := []T{}
	for e := range v.Elements() {
		item, f := element(e)
		if f != nil {
			return nil, f.at(len(list)).under(key)
		}
		list = append(list, item)
	}
	return list, nil
}

func decodeIcons(v strictjson.Value) ([]Icon, *fault) { return asList("icons", v, decodeIcon) }

func decodeIcon(v strictjson.Value) (Icon, *fault) {
	icon := Icon{Wire: Wire{v}}
	if v.Kind() != strictjson.KindObject {
		return icon, faultf("is %s, want an object", kindName(v))
	}
	src := false
	for key, m := range v.Members() {
		var f *fault
		switch key {
		case "src":
			src = true
			icon.Src, f = asString(key, m)
		case "mimeType":
			icon.MIMEType, f = asOptional(key, m)
		case "sizes":
			icon.Sizes, f = asStrings(key, m)
		case "theme":
			icon.Theme, f = asOptional(key, m)
			if f == nil && *icon.Theme != "light" && *icon.Theme != "dark" {
				f = faultf(`is %s, want "light" or "dark"`, peer(*icon.Theme)).under(key)
			}
		}
		if f != nil {
			return icon, f
		}
	}
	if !src {
		return icon, missing("src", "a string")
	}
	return icon, nil
}

// decodeMeta reads a _meta of which nothing is known.
func decodeMeta(v strictjson.Value) (jsontext.Value, *fault) {
	if f := asObject("_meta", v); f != nil {
		return nil, f
	}
	return jsontext.Value(v), nil
}
