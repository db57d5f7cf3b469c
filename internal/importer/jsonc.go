package importer

import "bytes"

// IsJSON reports whether a text begins like a client config, a JSON object perhaps behind comments, and not like a catalog file.
func IsJSON(src []byte) bool {
	text, _ := plainJSON(src)
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
}

// plainJSON returns src with comments, trailing commas and a byte order mark as blanks, so that offsets and lines stay what they
// are. bad is the offset of a comment that does not end, or -1. Nothing else is checked.
func plainJSON(src []byte) (out []byte, bad int) {
	out = bytes.Clone(src)
	if bytes.HasPrefix(out, []byte("\xef\xbb\xbf")) {
		blank(out[:3])
	}
	comma := -1       // a comma with nothing but blanks behind it
	var last byte     // the last byte that is neither blank nor comment
	beforeComma := -1 // what stood before comma
	for i := 0; i < len(out); {
		switch c := out[i]; {
		case c == '"':
			end := i + 1
			for end < len(out) && out[end] != '"' {
				if out[end] == '\\' {
					end++
				}
				end++
			}
			i, last, comma = min(end+1, len(out)), '"', -1
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			end := bytes.IndexByte(out[i:], '\n')
			if end < 0 {
				end = len(out) - i
			}
			blank(out[i : i+end])
			i += end
		case c == '/' && i+1 < len(out) && out[i+1] == '*':
			end := bytes.Index(out[i+2:], []byte("*/"))
			if end < 0 {
				return out, i
			}
			blank(out[i : i+end+4])
			i += end + 4
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == ',':
			comma, beforeComma, last = i, int(last), c
			i++
		default:
			if (c == '}' || c == ']') && comma >= 0 && beforeComma != 0 && !bytes.ContainsRune([]byte("{[,:"), rune(beforeComma)) {
				out[comma] = ' '
			}
			comma, last = -1, c
			i++
		}
	}
	return out, -1
}

// blank writes blanks over everything but line ends.
func blank(b []byte) {
	for i, c := range b {
		if c != '\n' && c != '\r' {
			b[i] = ' '
		}
	}
}
