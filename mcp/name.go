package mcp

import "errors"

// ServerError names the server that an error is about, for hosts that speak with several. Every error of Connect, and of
// the methods of the Client, its subscriptions and its tool proxies, is one if the Client has a name; errors.As finds in
// it what went wrong.
type ServerError struct {
	Server string // as WithName was given it
	Err    error
}

// Error gives the name and the error, with a colon between.
func (e *ServerError) Error() string { return e.Server + ": " + e.Err.Error() }

// Unwrap returns the error without the name.
func (e *ServerError) Unwrap() error { return e.Err }

// WithName sets what errors call the server: see ServerError. It is the host's own word and is printed as it is; the
// server never sees it. The default is none.
func WithName(name string) Option {
	return func(o *options) { o.name = name }
}

// name puts the server's name to an error that leaves this package. Every exported method does so as its last step, so
// that what happens inside can still be told by the error's own type.
func (c *Client) name(err *error) {
	if *err != nil && c.opts.name != "" {
		*err = named(c.opts.name, *err)
	}
}

func named(name string, err error) error {
	var already *ServerError
	if errors.As(err, &already) {
		return err
	}
	return &ServerError{Server: name, Err: err}
}
