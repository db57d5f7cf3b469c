package strictjson

import (
	"fmt"
	"strconv"
)

// number reads the number at i.
func (p *parser) number(i int) int {
	src, start := p.src, i
	if src[i] == '-' {
		i++
	}
	whole := i
	switch {
	case i < len(src) && src[i] == '0':
		i++
		if i < len(src) && isDigit(src[i]) {
			return p.fail(i, ClassSyntax, "number with a leading zero")
		}
	case i < len(src) && isDigit(src[i]):
		for i++; i < len(src) && isDigit(src[i]); i++ {
		}
	default:
		return p.want(i, "a digit")
	}
	if i >= len(src) || src[i] != '.' && src[i]|0x20 != 'e' {
		if i-whole <= 15 && (whole == start || src[whole] != '0') {
			return i // up to 15 digits every number is its own shortest form
		}
		return p.rewrite(start, i)
	}
	if src[i] == '.' {
		i++
		if i >= len(src) || !isDigit(src[i]) {
			return p.want(i, "a digit")
		}
		for i++; i < len(src) && isDigit(src[i]); i++ {
		}
	}
	if i < len(src) && src[i]|0x20 == 'e' {
		i++
		if i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		if i >= len(src) || !isDigit(src[i]) {
			return p.want(i, "a digit")
		}
		for i++; i < len(src) && isDigit(src[i]); i++ {
		}
	}
	return p.rewrite(start, i)
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// rewrite checks the bounds of the number src[start:end] and lists its canonical spelling if that is another one.
func (p *parser) rewrite(start, end int) int {
	lit := p.src[start:end]
	d, class := normalise(p.digits[:0], lit)
	switch class {
	case ClassDigits:
		return p.fail(start, class, fmt.Sprintf("number with more than %d significant digits", MaxDigits))
	case ClassExponent:
		return p.fail(start, class, fmt.Sprintf("number with an exponent beyond ±%d", MaxExponent))
	}
	if p.emit {
		from := len(p.text)
		p.text = d.append(p.text)
		if string(p.text[from:]) == string(lit) {
			p.text = p.text[:from]
		} else {
			p.patch(start, end, from)
		}
	}
	return end
}

// decimal is the number ±d.ddd × 10^x, digits being d, d, d, d without leading and trailing zeros. Zero has no digits.
type decimal struct {
	digits []byte
	x      int
	neg    bool
}

// normalise reads a number that follows the grammar. The digits are appended to buf, which has room for MaxDigits. The
// class is "" if all is well. It takes linear time in the length of the literal and no exponent is ever expanded.
func normalise(buf, lit []byte) (decimal, Class) {
	d := decimal{digits: buf[:0]}
	i := 0
	if i < len(lit) && lit[i] == '-' {
		d.neg = true
		i++
	}
	const far = 1 << 40 // farther than the digits of any text can move the point
	zeros := 0          // zeros read since the last other digit
	point := -1         // position of the point among the digits from the first that is not zero
	count := 0          // digits from the first that is not zero
	lead := 0           // zeros between the point and the first other digit
	for ; i < len(lit); i++ {
		c := lit[i]
		switch {
		case c == '.':
			point = count
		case !isDigit(c):
			goto exponent
		case c == '0' && count == 0:
			if point >= 0 {
				lead++
			}
		case c == '0':
			count++
			zeros++
		default:
			if len(d.digits)+zeros+1 > MaxDigits {
				return decimal{}, ClassDigits
			}
			for ; zeros > 0; zeros-- {
				d.digits = append(d.digits, '0')
			}
			d.digits = append(d.digits, c)
			count++
		}
	}
exponent:
	if len(d.digits) == 0 {
		return decimal{}, ""
	}
	if point < 0 {
		point = count
	}
	e, neg := 0, false
	if i < len(lit) {
		i++
		if i < len(lit) && (lit[i] == '+' || lit[i] == '-') {
			neg = lit[i] == '-'
			i++
		}
		for ; i < len(lit); i++ {
			if e < far {
				e = e*10 + int(lit[i]-'0')
			}
		}
	}
	if neg {
		e = -e
	}
	d.x = e + point - 1 - lead
	if d.x > MaxExponent || d.x < -MaxExponent {
		return decimal{}, ClassExponent
	}
	return d, ""
}

// append appends the canonical spelling.
func (d decimal) append(dst []byte) []byte {
	n := len(d.digits)
	if n == 0 {
		return append(dst, '0')
	}
	if d.neg {
		dst = append(dst, '-')
	}
	if d.x < -6 || d.x > 20 || !d.shortest() {
		dst = append(dst, d.digits[0])
		if n > 1 {
			dst = append(append(dst, '.'), d.digits[1:]...)
		}
		dst = append(dst, 'e')
		if d.x >= 0 {
			dst = append(dst, '+')
		}
		return strconv.AppendInt(dst, int64(d.x), 10)
	}
	switch {
	case d.x < 0:
		dst = append(dst, "0.000000"[:1-d.x]...)
		return append(dst, d.digits...)
	case d.x+1 < n:
		dst = append(dst, d.digits[:d.x+1]...)
		dst = append(dst, '.')
		return append(dst, d.digits[d.x+1:]...)
	}
	dst = append(dst, d.digits...)
	return append(dst, "00000000000000000000"[:d.x+1-n]...)
}

// shortest reports whether the digits are those of the shortest spelling of the nearest double, for -6 <= x <= 20, where
// ES6 spells without an exponent. Elsewhere ES6 spells a double exactly as append spells a decimal, so that the question
// does not arise.
//
// Decimals of up to 15 digits have different doubles, so each is the shortest of its own. None has more than 17.
func (d decimal) shortest() bool {
	n := len(d.digits)
	if n <= 15 {
		return true
	}
	if n > 17 {
		return false
	}
	var in, out [32]byte
	s := append(in[:0], d.digits[0], '.')
	s = append(append(s, d.digits[1:]...), 'e')
	s = strconv.AppendInt(s, int64(d.x), 10)
	f, err := strconv.ParseFloat(string(s), 64)
	if err != nil {
		return false
	}
	t := strconv.AppendFloat(out[:0], f, 'e', n-1, 64)
	if string(t[:n+1]) != string(s[:n+1]) {
		return false
	}
	t = strconv.AppendFloat(out[:0], f, 'e', -1, 64)
	return len(t) > n+1 && t[n+1] == 'e' && string(t[:n+1]) == string(s[:n+1])
}
