package proxy

import (
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// toolError is a result with isError and one text for the model.
func (s *Server) toolError(text string) []byte {
	out := append([]byte(nil), `{"resultType":"complete","content":[{"type":"text","text":`...)
	out = strictjson.AppendString(out, text)
	return s.appendMeta(append(out, `}],"isError":true,`...))
}

// ownMeta returns a server's result with our identity in its _meta instead of the server's, and without a subscription id,
// which belongs to another connection. All other bytes stay as they are.
//
// Spec: 2026-07-28 basic#_meta, basic#general-fields.
func (s *Server) ownMeta(result strictjson.Value) []byte {
	out := make([]byte, 0, len(result)+len(s.info)+len(serverInfoKey)+16)
	pos, empty := 1, true
	for name, v := range result.Members() {
		start := skipSpace(result, pos)
		at := skipSpace(result, skipSpace(result, skipString(result, start))+1)
		if name == "_meta" {
			out = append(out, result[:at]...)
			out = s.rewrite(out, v)
			return append(out, result[at+len(v):]...)
		}
		pos, empty = skipSpace(result, at+len(v))+1, false
	}
	end := len(result) - 1
	out = append(out, result[:end]...)
	if !empty {
		out = append(out, ',')
	}
	return s.appendMeta(out)
}

// rewrite appends the object meta without the two keys, and with our identity in front. Of anything else nothing is left.
func (s *Server) rewrite(out []byte, meta strictjson.Value) []byte {
	out = append(append(out, `{"`+serverInfoKey+`":`...), s.info...)
	pos := 1
	for name, v := range meta.Members() {
		start := skipSpace(meta, pos)
		at := skipSpace(meta, skipSpace(meta, skipString(meta, start))+1)
		end := at + len(v)
		if name != serverInfoKey && name != subscriptionKey {
			out = append(append(out, ','), meta[start:end]...)
		}
		pos = skipSpace(meta, end) + 1
	}
	return append(out, '}')
}

func skipSpace(src []byte, i int) int {
	for i < len(src) && (src[i] == ' ' || src[i] == '\t' || src[i] == '\n' || src[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the offset behind the string that begins at i.
func skipString(src []byte, i int) int {
	for i++; i < len(src) && src[i] != '"'; i++ {
		if src[i] == '\\' {
			i++
		}
	}
	return i + 1
}
