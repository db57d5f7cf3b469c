package plan

import (
	"cmp"
	"strconv"
	"strings"
)

// compareNumbers compares two JSON numbers by their exact decimal values. Floats cannot tell 2^53 from its successor, and
// the arithmetic of big numbers would spend its time on exponents.
func compareNumbers(a, b string) int {
	negA, digitsA, expA := decimal(a)
	negB, digitsB, expB := decimal(b)
	switch {
	case digitsA == "" && digitsB == "":
		return 0
	case digitsA == "":
		return sign(!negB)
	case digitsB == "":
		return -sign(!negA)
	case negA != negB:
		return sign(negA)
	}
	c := cmp.Or(cmp.Compare(expA, expB), strings.Compare(digitsA, digitsB))
	if negA {
		return -c
	}
	return c
}

// sign is -1 when smaller is true and 1 otherwise.
func sign(smaller bool) int {
	if smaller {
		return -1
	}
	return 1
}

// decimal splits a JSON number: the value is 0.digits × 10^exp, with digits free of zeros at both ends; zero has none.
func decimal(s string) (neg bool, digits string, exp int) {
	s, neg = strings.CutPrefix(s, "-")
	mantissa, e := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa = s[:i]
		e, _ = strconv.Atoi(strings.TrimPrefix(s[i+1:], "+"))
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	digits = whole + frac
	exp = len(whole) + e
	trimmed := strings.TrimLeft(digits, "0")
	exp -= len(digits) - len(trimmed)
	digits = strings.TrimRight(trimmed, "0")
	if digits == "" {
		return false, "", 0
	}
	return neg, digits, exp
}
