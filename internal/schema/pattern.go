package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Bounds of the patterns of one schema. A pattern is compiled only after its program has been estimated.
const (
	maxPatternBytes = 4 << 10  // one pattern
	maxPatternTotal = 16 << 10 // all patterns of a schema
	maxProgram      = 10_000   // instructions and character ranges, all patterns of a schema
)

// patterns compiles the regular expressions of one schema within the bounds above. RE2 has no look-around and no
// back-references, so a pattern that needs them is refused and never ignored.
type patterns struct {
	bytes, program int
	done           map[string]*pattern
}

// pattern is a compiled expression and what one byte of input may cost with it, in instructions.
type pattern struct {
	*regexp.Regexp
	program int
}

// String is the expression as RE2 spells it.
func (p *pattern) String() string { return p.Regexp.String() }

// compile returns the pattern of expr. The error is a *TooExpensiveError or text that says what RE2 does not accept.
func (ps *patterns) compile(expr string) (*pattern, error) {
	if p, ok := ps.done[expr]; ok {
		return p, nil
	}
	if len(expr) > maxPatternBytes {
		return nil, &TooExpensiveError{What: "bytes in a pattern", Got: int64(len(expr)), Limit: maxPatternBytes}
	}
	if ps.bytes += len(expr); ps.bytes > maxPatternTotal {
		return nil, &TooExpensiveError{What: "bytes of patterns", Limit: maxPatternTotal}
	}
	translated, ok := translate(expr)
	if !ok {
		return nil, errors.New("pattern is not a regular expression that RE2 accepts: ECMA-262 reads it otherwise")
	}
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		reason := err.Error()
		if se, ok := err.(*syntax.Error); ok {
			reason = string(se.Code) // the text of the error repeats the expression
		}
		return nil, fmt.Errorf("pattern is not a regular expression that RE2 accepts: %s", reason)
	}
	size := estimate(tree)
	if ps.program += size; ps.program > maxProgram {
		return nil, &TooExpensiveError{What: "instructions in patterns", Got: int64(ps.program), Limit: maxProgram}
	}
	re, err := regexp.Compile(translated)
	if err != nil {
		return nil, fmt.Errorf("pattern is not a regular expression that RE2 accepts")
	}
	p := &pattern{Regexp: re, program: size}
	if ps.done == nil {
		ps.done = map[string]*pattern{}
	}
	ps.done[expr] = p
	return p, nil
}

// readable says whether a string of an instance is a pattern, for the format regex. It compiles nothing and keeps nothing,
// because it runs during validation.
func readable(expr string) (*pattern, error) {
	if len(expr) > maxPatternBytes {
		return nil, &TooExpensiveError{What: "bytes in a pattern", Got: int64(len(expr)), Limit: maxPatternBytes}
	}
	translated, ok := translate(expr)
	if !ok {
		return nil, errors.New("not a pattern")
	}
	_, err := syntax.Parse(translated, syntax.Perl)
	return nil, err
}

// White space and line ends are other sets in ECMA-262 than in RE2.
const (
	spaces    = `\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	notSpaces = `\x{0}-\x{8}\x{e}-\x{1f}!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
	lineEnds  = `\n\r\x{2028}\x{2029}`
)

// translate rewrites what ECMA-262 spells otherwise than RE2, or means otherwise: \uXXXX, \u{X}, \cX, \s, \S, \b in a
// class, and the dot. It reports false for what both read, but each in its own way: the empty class, [:alpha:], the flag s,
// and the escapes \A \z \Q \E \C \a \x{X}. Other escapes that RE2 does not have are refused when the pattern is parsed.
func translate(expr string) (string, bool) {
	if !strings.ContainsAny(expr, `\.[`) {
		return expr, true
	}
	var b strings.Builder
	inClass := false
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; {
		case c == '\\' && i+1 < len(expr):
			if strings.IndexByte("AzQECa", expr[i+1]) >= 0 || strings.HasPrefix(expr[i:], `\x{`) {
				return "", false
			}
			text, n := escape(expr[i:], inClass)
			b.WriteString(text)
			i += n - 1
			continue
		case c == '[' && !inClass:
			inClass = true
			if strings.HasPrefix(expr[i:], "[]") || strings.HasPrefix(expr[i:], "[^]") {
				return "", false
			}
		case c == '[' && strings.HasPrefix(expr[i:], "[:"):
			return "", false
		case c == ']':
			inClass = false
		case c == '.' && !inClass:
			b.WriteString("[^" + lineEnds + "]")
			continue
		case c == '(' && !inClass && strings.HasPrefix(expr[i:], "(?"):
			flags := expr[i+2:]
			if end := strings.IndexFunc(flags, func(r rune) bool { return r != '-' && (r|0x20 < 'a' || r|0x20 > 'z') }); end > 0 && strings.Contains(flags[:end], "s") && (flags[end] == ':' || flags[end] == ')') {
				return "", false
			}
		}
		b.WriteByte(expr[i])
	}
	return b.String(), true
}

// escape translates the escape with which expr begins and returns how many bytes it has.
func escape(expr string, inClass bool) (text string, n int) {
	switch expr[1] {
	case 'u':
		if high, n := codePoint(expr); n > 0 {
			if utf16.IsSurrogate(high) && len(expr) > n+1 && expr[n] == '\\' {
				if low, m := codePoint(expr[n:]); m > 0 {
					if r := utf16.DecodeRune(high, low); r != unicode.ReplacementChar {
						high, n = r, n+m
					}
				}
			}
			return fmt.Sprintf(`\x{%x}`, high), n
		}
	case 'c':
		if len(expr) > 2 && (expr[2]|0x20 >= 'a' && expr[2]|0x20 <= 'z') {
			return fmt.Sprintf(`\x{%x}`, expr[2]&0x1f), 3
		}
	case 's':
		if inClass {
			return spaces, 2
		}
		return "[" + spaces + "]", 2
	case 'S':
		if inClass {
			return notSpaces, 2
		}
		return "[" + notSpaces + "]", 2
	case 'b':
		if inClass {
			return `\x{8}`, 2
		}
	}
	return expr[:2], 2
}

// codePoint reads \uXXXX or \u{X}.
func codePoint(expr string) (r rune, n int) {
	digits := ""
	switch {
	case strings.HasPrefix(expr, `\u{`):
		digits, _, _ = strings.Cut(expr[3:], "}")
		n = len(`\u{}`) + len(digits)
	case strings.HasPrefix(expr, `\u`) && len(expr) >= 6:
		digits, n = expr[2:6], 6
	}
	v, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || n > len(expr) || v > unicode.MaxRune {
		return 0, 0
	}
	return rune(v), n
}

// estimate bounds the number of instructions and character ranges that re compiles to, without compiling it: a
// repetition multiplies what it repeats. It saturates at maxProgram+1.
func estimate(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass:
		n = 1 + len(re.Rune)/8
	default:
		for _, sub := range re.Sub {
			if n += 1 + estimate(sub); n > maxProgram {
				return maxProgram + 1
			}
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Max, re.Min+1, 1)
	}
	return min(n, maxProgram+1)
}
