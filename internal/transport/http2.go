package transport

import (
	"io"
	"time"
)

// promptBody is the body of an answer over HTTP/2. When a body is given up, net/http tells the server, and waits until that
// is written: Close does, and so does a Read under way when the context of the request ends. A server that reads nothing
// would hold the call by that until pings show the connection to be dead. So Close is called when the context ends, which
// ends a Read at once, and waits no longer than settle.
type promptBody struct{ io.ReadCloser }

func (b promptBody) Close() error {
	closed := make(chan error, 1)
	go func() { closed <- b.ReadCloser.Close() }()
	wait := time.NewTimer(settle)
	defer wait.Stop()
	select {
	case err := <-closed:
		return err
	case <-wait.C:
		return nil // it goes on by itself, and ends with the connection
	}
}
