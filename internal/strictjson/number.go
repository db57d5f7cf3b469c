package strictjson

import (
	"fmt"
	"math"
	"math/bits"
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
	point := i // the end of the whole part
	if i >= len(src) || src[i] != '.' && src[i]|0x20 != 'e' {
		if i-whole <= 15 && (whole == start || src[whole] != '0') {
			return i // up to 15 digits every number is its own shortest form
		}
		return p.rewrite(start, whole, i, i, i)
	}
	mark := i // where an exponent begins
	if src[i] == '.' {
		i++
		if i >= len(src) || !isDigit(src[i]) {
			return p.want(i, "a digit")
		}
		for i++; i < len(src) && isDigit(src[i]); i++ {
		}
		mark = i
		if i-whole <= 16 && src[i-1] != '0' && (i >= len(src) || src[i]|0x20 != 'e') &&
			(src[whole] != '0' || i-whole <= 8 || leadingZeros(src[whole+2:i]) < 6) {
			return i // up to 15 digits, none to spare, and not so small that ES6 takes to an exponent
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
	return p.rewrite(start, whole, point, mark, i)
}

// rewrite checks the bounds of the number src[start:end], whose parts begin at whole, point and mark, and lists its
// canonical spelling if that is another one.
func (p *parser) rewrite(start, whole, point, mark, end int) int {
	lit := p.src[start:end]
	d := &p.decimal
	class := d.normalise(p.digits[:0], whole > start, p.src[whole:point], p.src[min(point+1, mark):mark], p.src[mark:end])
	switch class {
	case ClassDigits:
		return p.fail(start, class, fmt.Sprintf("number with more than %d significant digits", MaxDigits))
	case ClassExponent:
		return p.fail(start, class, fmt.Sprintf("number with an exponent beyond ±%d", MaxExponent))
	}
	if p.emit {
		mark := len(p.text)
		joined := p.lead(start)
		from := len(p.text)
		p.text = d.append(p.text)
		if string(p.text[from:]) == string(lit) {
			p.text = p.text[:mark]
		} else {
			p.patch(start, end, from, joined)
		}
	}
	return end
}

// leadingZeros counts them.
func leadingZeros(digits []byte) int {
	n := 0
	for n < len(digits) && digits[n] == '0' {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// decimal is the number ±d.ddd × 10^x, digits being d, d, d, d without leading and trailing zeros. Zero has no digits.
type decimal struct {
	digits []byte
	x      int
	neg    bool
}

// normalise sets d to the number with these parts: the digits before and after the point, and the exponent with its e,
// the last two possibly empty. The digits of d are part of one of them or in buf, which has room for MaxDigits. The class
// is "" if all is well. It takes linear time in the length of the number, and no exponent is ever expanded.
func (d *decimal) normalise(buf []byte, neg bool, whole, frac, exp []byte) Class {
	d.neg = neg
	frac = trimZeros(frac)
	switch {
	case len(whole) == 1 && whole[0] == '0':
		lead := leadingZeros(frac)
		d.digits, d.x = frac[lead:], -1-lead
	case len(frac) == 0:
		d.digits, d.x = trimZeros(whole), len(whole)-1
	case len(whole)+len(frac) <= MaxDigits:
		d.digits, d.x = append(append(buf[:0], whole...), frac...), len(whole)-1
	default:
		return ClassDigits
	}
	if len(d.digits) == 0 {
		d.x, d.neg = 0, false
		return ""
	}
	if len(d.digits) > MaxDigits {
		return ClassDigits
	}
	if len(exp) > 0 {
		exp = exp[1:]
		down := exp[0] == '-'
		if down || exp[0] == '+' {
			exp = exp[1:]
		}
		const far = 1 << 40 // farther than the digits of any text can move the point
		e := 0
		for _, c := range exp {
			if e < far {
				e = e*10 + int(c-'0')
			}
		}
		if down {
			e = -e
		}
		d.x += e
	}
	if d.x > MaxExponent || d.x < -MaxExponent {
		return ClassExponent
	}
	return ""
}

func trimZeros(digits []byte) []byte {
	n := len(digits)
	for n > 0 && digits[n-1] == '0' {
		n--
	}
	return digits[:n]
}

// append appends the canonical spelling.
func (d *decimal) append(dst []byte) []byte {
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
func (d *decimal) shortest() bool {
	n := len(d.digits)
	if n <= 15 {
		return true
	}
	if n > 17 {
		return false
	}
	m := uint64(0)
	for _, c := range d.digits {
		m = m*10 + uint64(c-'0')
	}
	var buf [32]byte
	t := strconv.AppendFloat(buf[:0], nearest(m, d.x-n+1), 'e', -1, 64)
	// t is d.ddde±xx, the exponent possibly one higher than x if the double was rounded up to a power of ten.
	return len(t) > n+1 && t[n+1] == 'e' && t[0] == d.digits[0] && string(t[2:n+1]) == string(d.digits[1:])
}

// nearest returns the double that is nearest to m × 10^k, the even one of two, for 0 < m < 2^57 and -22 <= k <= 5.
//
// It is exact integer arithmetic. strconv does the same for most inputs but falls back to a slow algorithm for those
// that lie half way between two doubles, which a peer could send by the thousand.
func nearest(m uint64, k int) float64 {
	var bits64 uint64 // the leading 64 bits of the value
	var exp int       // the value is bits64 × 2^exp, plus something smaller if rest
	var rest bool
	if k >= 0 {
		hi, lo := bits.Mul64(m, pow10(k))
		if hi == 0 {
			bits64 = lo
		} else {
			z := bits.LeadingZeros64(hi)
			bits64, exp, rest = hi<<z|lo>>(64-z), 64-z, lo<<z != 0
		}
		if hi>>63 == 1 {
			bits64, exp, rest = hi, 64, lo != 0
		}
	} else {
		// m / 10^-k = m / 5^-k × 2^k, and 5^22 < 2^52. With the divisor's high bit set and a smaller dividend the quotient
		// has 63 or 64 bits.
		div := pow5(-k)
		zd, zm := bits.LeadingZeros64(div), bits.LeadingZeros64(m)
		q, r := bits.Div64(m<<zm>>1, 0, div<<zd)
		bits64, exp, rest = q, k+1-zm-64+zd, r != 0
	}
	z := bits.LeadingZeros64(bits64)
	bits64, exp = bits64<<z, exp-z
	const drop = 64 - 53
	mant, tail := bits64>>drop, bits64&(1<<drop-1)
	if half := uint64(1 << (drop - 1)); tail > half || tail == half && (rest || mant&1 == 1) {
		mant++
	}
	return math.Ldexp(float64(mant), exp+drop)
}

func pow5(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 5
	}
	return p
}

func pow10(n int) uint64 { return pow5(n) << n }
