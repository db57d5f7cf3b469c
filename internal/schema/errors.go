package schema

import (
	"fmt"
	"strconv"
)

// maxPointer bounds the pointers and names inside this package's errors, in bytes.
const maxPointer = 256

// TooExpensiveError says that a schema, or one validation with it, lies beyond a bound of this package. The check was
// not made, so nothing may be concluded about the instance; callers refuse.
type TooExpensiveError struct {
	What  string // what is bounded: "schema bytes", "subschemas", "validation steps"
	Got   int64  // what was found; 0 when counting stopped at the limit
	Limit int64
}

func (e *TooExpensiveError) Error() string {
	if e.Got > 0 {
		return fmt.Sprintf("schema too expensive: %s %d, want at most %d", e.What, e.Got, e.Limit)
	}
	return fmt.Sprintf("schema too expensive: more than %d %s", e.Limit, e.What)
}

// UnsupportedError names a construct that this package does not evaluate: another dialect, a pattern that RE2 cannot
// express, a reference that leaves the document. It is never read as "anything goes".
type UnsupportedError struct {
	Pointer string // JSON Pointer into the schema, "" for the root
	Reason  string
}

func (e *UnsupportedError) Error() string {
	return "schema not supported at " + strconv.Quote(e.Pointer) + ": " + e.Reason
}

// InvalidError says that the schema is not valid in its dialect.
type InvalidError struct {
	Pointer string // JSON Pointer into the schema, "" for the root
	Reason  string
}

func (e *InvalidError) Error() string {
	return "invalid schema at " + strconv.Quote(e.Pointer) + ": " + e.Reason
}

// ValidationError says where an instance breaks the schema. It holds no value of the instance, only member names.
type ValidationError struct {
	InstancePointer string // JSON Pointer into the instance, "" for the root, at most 256 bytes and then "…"
	Keyword         string // the schema keyword that failed, "false" for the schema false
	// Missing is the name of a property that the keyword asks for and that the object does not have, the first one by
	// name, cut like the pointer. It is a name of the schema, not of the instance; "" for other keywords.
	Missing string
}

func (e *ValidationError) Error() string {
	s := "value at " + strconv.Quote(e.InstancePointer) + " does not satisfy " + strconv.Quote(e.Keyword)
	if e.Missing != "" {
		s += ": " + strconv.Quote(e.Missing) + " is missing"
	}
	return s
}

// InstanceError says that an instance is no JSON text that this package reads: the caller let bytes past the strict
// door without a check.
type InstanceError struct {
	Offset int // in bytes
	Reason string
}

func (e *InstanceError) Error() string {
	return fmt.Sprintf("instance is not valid JSON at byte %d: %s", e.Offset, e.Reason)
}

// cut bounds s to maxPointer bytes without splitting a character.
func cut(s string) string {
	if len(s) <= maxPointer {
		return s
	}
	n := maxPointer
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
