package cli

import "strings"

// bashLine is a line up to the cursor as bash reads it.
type bashLine struct {
	words   []string // whole, without their quotes
	current string   // the word at the cursor
	done    string   // the beginning of it that bash does not replace
	quote   byte     // the quote that is open at the cursor, or 0
	breaks  string
}

// parseBash splits a line into words. breaks is COMP_WORDBREAKS: bash replaces the word at the cursor from the last of those
// characters that is not quoted, or from the quote that is open.
func parseBash(line, breaks string) bashLine {
	l := bashLine{breaks: breaks}
	var word strings.Builder
	begun := false
	take := func(c byte) { word.WriteByte(c); begun = true }
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case l.quote == '\'' && c != '\'', l.quote == '"' && c != '"' && c != '\\':
			take(c)
		case l.quote != 0 && c == l.quote:
			l.quote = 0
			if strings.IndexByte(breaks, c) >= 0 {
				l.done = word.String()
			}
		case l.quote == '"': // a backslash
			if i+1 == len(line) {
				continue
			}
			if strings.IndexByte("\"\\$`", line[i+1]) < 0 {
				take(c)
			}
			i++
			take(line[i])
		case c == '\\':
			begun = true
			if i++; i < len(line) {
				take(line[i])
			}
		case c == '\'', c == '"':
			l.quote, begun = c, true
			l.done = word.String()
		case c == ' ', c == '\t', c == '\n':
			if begun {
				l.words = append(l.words, word.String())
			}
			word.Reset()
			l.done, begun = "", false
		default:
			before := word.String()
			take(c)
			switch {
			case strings.IndexByte(breaks, c) < 0:
			case c == '@': // begins the name of a host, so bash replaces it too
				l.done = before
			default:
				l.done = word.String()
			}
		}
	}
	l.current = word.String()
	return l
}

// insert is the text that bash puts in the place of what it replaces, so that the word becomes value. It ends with a blank if
// the word is complete, except within quotes, which bash closes.
func (l bashLine) insert(value string) string {
	rest := value[len(l.done):]
	switch l.quote {
	case '\'':
		return strings.ReplaceAll(rest, `'`, `'\''`)
	case '"':
		return strings.NewReplacer(`"`, `\"`, `\`, `\\`, "$", `\$`, "`", "\\`").Replace(rest)
	}
	var b strings.Builder
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		if c < 0x80 && !plainInShell(c) || strings.IndexByte(l.breaks, c) >= 0 {
			// The equals sign behind a flag is where bash breaks the word, and it does so only if it is bare.
			if flag := i == strings.IndexByte(rest, '=') && strings.HasPrefix(value, "-") && c == '='; !flag {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(c)
	}
	if !goesOn(value) {
		b.WriteByte(' ')
	}
	return b.String()
}

func plainInShell(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-./+,:=@%^", c) >= 0
}

// quotePowerShell writes a value as an argument of a command.
func quotePowerShell(value string) string {
	for i := range len(value) {
		if c := value[i]; !plainInShell(c) || c == ',' || c == '@' || c >= 0x80 {
			return "'" + strings.ReplaceAll(value, "'", "''") + "'"
		}
	}
	return value
}
