package jsonrpc

import (
	"strconv"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

const head = `{"jsonrpc":"2.0"`

// AppendRequest appends a request as one line of JSON, without a newline. Params is a JSON object, or nil for none; it
// is copied byte for byte. Id must not be zero.
func AppendRequest(dst []byte, id ID, method string, params []byte) []byte {
	dst = appendID(append(dst, head...), id)
	return appendCall(dst, method, params)
}

// AppendNotification appends a notification. Params is a JSON object, or nil for none.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return appendCall(append(dst, head...), method, params)
}

// AppendResult appends a successful answer. Result is a JSON object; it is copied byte for byte.
func AppendResult(dst []byte, id ID, result []byte) []byte {
	dst = appendID(append(dst, head...), id)
	dst = append(dst, `,"result":`...)
	dst = append(dst, result...)
	return append(dst, '}')
}

// AppendError appends a failure. The zero id leaves the member id out, as MCP wants for a request whose id could not be
// read; null is never written.
func AppendError(dst []byte, id ID, e *Error) []byte {
	dst = appendID(append(dst, head...), id)
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, e.Code, 10)
	dst = append(dst, `,"message":`...)
	dst = strictjson.AppendString(dst, e.Message)
	if e.Data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, "}}"...)
}

func appendID(dst []byte, id ID) []byte {
	if id.IsZero() {
		return dst
	}
	dst = append(dst, `,"id":`...)
	return append(dst, id.raw...)
}

func appendCall(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `,"method":`...)
	dst = strictjson.AppendString(dst, method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}
