// Package secret holds the values that mcpcat passes on and never shows: tokens, keys and passwords.
//
// A String keeps its value out of every way in which Go prints, encodes or logs values, and carries the reference, such
// as var.github_token, by which people and the lock speak of it. A Redactor takes known values out of bytes that
// somebody else wrote. The package encrypts nothing and does not wipe memory; it uses the standard library only.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// Mask is what stands in place of a secret.
const Mask = "(sensitive)"

// String is a secret text with the reference it came from. The zero String is an absent secret: empty value, empty
// reference. Strings cannot be compared with ==.
type String struct {
	// The value sits in a closure because fmt follows the unexported fields of a struct without calling methods, and
	// for some verbs pointers too, but prints a function as an address.
	f func() (value, ref string)
}

// New returns the secret value that came from ref, for example var.github_token or env("FILES_API_KEY"). The reference
// is not secret.
func New(value, ref string) String {
	return String{func() (string, string) { return value, ref }}
}

// Expose returns the value. It is for the place that sends it, and for nothing that prints or stores.
func (s String) Expose() string {
	if s.f == nil {
		return ""
	}
	value, _ := s.f()
	return value
}

// Ref returns the reference given to New.
func (s String) Ref() string {
	if s.f == nil {
		return ""
	}
	_, ref := s.f()
	return ref
}

// IsZero reports whether s is the zero String.
func (s String) IsZero() bool { return s.f == nil }

// String returns Mask.
func (String) String() string { return Mask }

// GoString returns Mask.
func (String) GoString() string { return Mask }

// Format writes Mask for every verb.
func (String) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, Mask) // fmt.State keeps its own errors
}

// MarshalJSON returns Mask as a JSON string.
func (String) MarshalJSON() ([]byte, error) { return []byte(`"` + Mask + `"`), nil }

// MarshalText returns Mask.
func (String) MarshalText() ([]byte, error) { return []byte(Mask), nil }

// LogValue returns Mask.
func (String) LogValue() slog.Value { return slog.StringValue(Mask) }
