package jsonrpc

import (
	"errors"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Decode reads one message. The text must be exactly one JSON object with "jsonrpc":"2.0" and be one of the four kinds.
// Refused are batches, ids that are neither strings nor whole numbers (null is reported as NullID on a failure and
// refused elsewhere), both or neither of result and error, a response with a method, and members of the wrong type.
// Members that JSON-RPC does not know are ignored; names are compared exactly, so "Result" is such a member.
//
// The error is a *strictjson.Error for a text that is not acceptable JSON within lim, and a *ShapeError for one that is
// no message.
//
// Spec: 2026-07-28 basic#messages.
func Decode(src []byte, lim strictjson.Limits) (*Message, error) {
	var room [8]strictjson.Field // a message has four members, so they need no memory of their own
	fields, err := strictjson.AppendFields(room[:0], src, lim)
	if err != nil {
		return nil, notObject(src, lim, err)
	}

	var version, id, method, params, result, failure strictjson.Value
	for _, f := range fields {
		switch string(f.Name) {
		case "jsonrpc":
			version = f.Value
		case "id":
			id = f.Value
		case "method":
			method = f.Value
		case "params":
			params = f.Value
		case "result":
			result = f.Value
		case "error":
			failure = f.Value
		}
	}
	m := &Message{Raw: trim(src), Size: len(src)}
	err = checkVersion(version)
	switch {
	case err != nil:
	case method != nil:
		err = m.call(id, method, params, result, failure)
	default:
		err = m.answer(id, params, result, failure)
	}
	if err == nil {
		return m, nil
	}
	var fault *ShapeError
	if errors.As(err, &fault) && id != nil {
		if known, err := ParseID(id); err == nil {
			fault.ID = known
		}
	}
	return nil, err
}

// notObject tells a good JSON text that is not an object, which is a fault of the message, from bad JSON. Only what the
// text begins with was looked at so far.
func notObject(src []byte, lim strictjson.Limits, err error) error {
	var fault *strictjson.Error
	if !errors.As(err, &fault) || fault.Class != strictjson.ClassKind {
		return err
	}
	v, err := strictjson.Parse(src, lim)
	if err != nil {
		return err
	}
	if v.Kind() == strictjson.KindArray {
		return shape("got an array (a batch), want an object")
	}
	return shape("got %s, want an object", v.Kind())
}

func trim(src []byte) strictjson.Value {
	space := func(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
	for len(src) > 0 && space(src[0]) {
		src = src[1:]
	}
	for len(src) > 0 && space(src[len(src)-1]) {
		src = src[:len(src)-1]
	}
	return strictjson.Value(src[:len(src):len(src)])
}

func checkVersion(v strictjson.Value) error {
	switch {
	case v == nil:
		return shape("member jsonrpc is missing")
	case string(v) == `"2.0"`:
		return nil
	}
	if s, ok := v.Text(); !ok || s != "2.0" {
		return shape("member jsonrpc is not the string 2.0")
	}
	return nil
}

// call fills in a request or a notification.
func (m *Message) call(id, method, params, result, failure strictjson.Value) error {
	if result != nil || failure != nil {
		return shape("got a method together with result or error")
	}
	name, ok := method.Text()
	if !ok {
		return shape("member method is %s, want a string", method.Kind())
	}
	if params != nil && params.Kind() != strictjson.KindObject {
		return shape("member params is %s, want an object", params.Kind())
	}
	m.Kind, m.Method, m.Params = Notification, name, params
	if id != nil {
		parsed, err := ParseID(id)
		if err != nil {
			return err
		}
		m.Kind, m.ID = Request, parsed
	}
	return nil
}

// answer fills in a result or a failure.
func (m *Message) answer(id, params, result, failure strictjson.Value) error {
	switch {
	case result != nil && failure != nil:
		return shape("got both result and error, want one")
	case result == nil && failure == nil:
		return shape("got none of method, result and error")
	case params != nil:
		return shape("got params in an answer")
	}
	if id != nil {
		if failure != nil && id.Kind() == strictjson.KindNull {
			m.NullID = true
		} else {
			parsed, err := ParseID(id)
			if err != nil {
				return err
			}
			m.ID = parsed
		}
	}
	if failure != nil {
		m.Kind = Failure
		var err error
		m.Err, err = parseError(failure)
		return err
	}
	if id == nil {
		return shape("result without id")
	}
	if result.Kind() != strictjson.KindObject {
		return shape("member result is %s, want an object", result.Kind())
	}
	m.Kind, m.Result = Result, result
	return nil
}

func parseError(v strictjson.Value) (*Error, error) {
	if v.Kind() != strictjson.KindObject {
		return nil, shape("member error is %s, want an object", v.Kind())
	}
	code, ok := v.Get("code")
	if !ok {
		return nil, shape("error.code is missing")
	}
	e := &Error{}
	if e.Code, ok = code.Int(); !ok {
		return nil, shape("error.code is not a whole number of 64 bits")
	}
	message, ok := v.Get("message")
	if !ok {
		return nil, shape("error.message is missing")
	}
	if e.Message, ok = message.Text(); !ok {
		return nil, shape("error.message is %s, want a string", message.Kind())
	}
	e.Data, _ = v.Get("data")
	return e, nil
}
