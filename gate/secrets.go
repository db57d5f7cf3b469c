package gate

import (
	"errors"

	"github.com/mcpcat-dev/mcpcat/internal/secret"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// secrets finds the secrets of one server's block in what the server sends, see secret.Redactor.
type secrets struct {
	answers *secret.Redactor // of secret.MinWithheld and more, whose answers are withheld
	errors  *secret.Redactor
}

func newSecrets(values []secret.String) secrets {
	s := secrets{answers: &secret.Redactor{}, errors: &secret.Redactor{}}
	s.set(values)
	return s
}

// set makes s look for these values from now on.
func (s secrets) set(values []secret.String) {
	s.answers.Set(secret.AtLeast(secret.MinWithheld, values...)...)
	s.errors.Set(values...)
}

// in says whether a JSON text holds a secret, also one that is spelled with other escapes than ours.
func (s secrets) in(text []byte) bool { return s.answers.Holds(text) }

// cleanError is err for logs, statuses and refusals: an error may quote what a server sent, and a server may repeat a
// secret. The name of the server is taken off: what the error goes into has the address already.
func (s secrets) cleanError(err error) error {
	if named, ok := err.(*mcp.ServerError); ok {
		err = named.Err
	}
	if err == nil || s.errors == nil {
		return err
	}
	text := err.Error()
	if clean := s.errors.RedactString(text); clean != text {
		return errors.New(clean)
	}
	return err
}
