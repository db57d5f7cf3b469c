package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
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

// String is the expression as the schema spells it.
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
	translated := translate(expr)
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
	_, err := syntax.Parse(translate(expr), syntax.Perl)
	return nil, err
}

// translate rewrites the one ECMA-262 escape that occurs in real schemas and that RE2 spells otherwise: \uXXXX.
func translate(expr string) string {
	if !strings.Contains(expr, `\u`) {
		return expr
	}
	var b strings.Builder
	for i := 0; i < len(expr); i++ {
		if expr[i] != '\\' || i+1 == len(expr) {
			b.WriteByte(expr[i])
			continue
		}
		if expr[i+1] == 'u' && i+6 <= len(expr) && strings.Trim(expr[i+2:i+6], "0123456789abcdefABCDEF") == "" {
			b.WriteString(`\x{` + expr[i+2:i+6] + `}`)
			i += 5
			continue
		}
		b.WriteString(expr[i : i+2])
		i++
	}
	return b.String()
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
