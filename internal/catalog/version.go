package catalog

import (
	"fmt"
	"strconv"
	"strings"
)

// versionAllowed reports whether version meets a constraint such as ">= 0.1.0, < 2.0.0": clauses with =, !=, >, >=, <,
// <= or ~> (the last given part may grow), all of which must hold. A version has one to three numbers; a suffix such as
// -dev on the running version is ignored. The error names what is wrong with the constraint. An empty version only
// checks the constraint.
func versionAllowed(constraint, version string) (bool, error) {
	have, _, err := parseVersion(strings.SplitN(strings.TrimPrefix(version, "v"), "-", 2)[0])
	if version != "" && err != nil {
		return false, fmt.Errorf("the running version is no version: %w", err)
	}
	all := true
	for clause := range strings.SplitSeq(constraint, ",") {
		clause = strings.TrimSpace(clause)
		op := clause[:len(clause)-len(strings.TrimLeft(clause, "=!<>~"))]
		want, parts, err := parseVersion(strings.TrimSpace(clause[len(op):]))
		if err != nil {
			return false, err
		}
		c := compareVersions(have, want)
		ok := false
		switch op {
		case "", "=":
			ok = c == 0
		case "!=":
			ok = c != 0
		case ">":
			ok = c > 0
		case ">=":
			ok = c >= 0
		case "<":
			ok = c < 0
		case "<=":
			ok = c <= 0
		case "~>":
			if parts < 2 {
				return false, fmt.Errorf("~> needs at least two numbers")
			}
			next := want
			next[parts-2]++
			clear(next[parts-1:])
			ok = c >= 0 && compareVersions(have, next) < 0
		default:
			return false, fmt.Errorf("unknown operator, want one of = != > >= < <= ~>")
		}
		all = all && ok
	}
	return all || version == "", nil
}

func parseVersion(s string) (v [3]int, parts int, err error) {
	words := strings.Split(s, ".")
	if len(words) > 3 {
		return v, 0, fmt.Errorf("a version has at most three numbers")
	}
	for i, w := range words {
		n, err := strconv.ParseUint(w, 10, 31)
		if err != nil {
			return v, 0, fmt.Errorf("a version is one to three numbers with dots between them")
		}
		v[i] = int(n)
	}
	return v, len(words), nil
}

func compareVersions(a, b [3]int) int {
	for i := range a {
		if a[i] != b[i] {
			if a[i] < b[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}
