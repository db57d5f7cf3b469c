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
	empty := true
	for name, at := range result.Spans() {
		if name == "_meta" {
			out = append(out, result[:at.Value]...)
			out = s.rewrite(out, result[at.Value:at.End])
			return append(out, result[at.End:]...)
		}
		empty = false
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
	for name, at := range meta.Spans() {
		if name != serverInfoKey && name != subscriptionKey {
			out = append(append(out, ','), meta[at.Start:at.End]...)
		}
	}
	return append(out, '}')
}
