package transport

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// proxy is an HTTP proxy through which TLS connections are tunnelled: it sees the host and the port of the server, and
// nothing of a request.
//
// Spec: RFC 9110 section 9.3.6.
type proxy struct {
	address string // host:port
	auth    string // the value of Proxy-Authorization, "" for none
	dialer  dialer
	limit   int64 // bytes of its answer
}

// chooseProxy asks for the proxy of the endpoint. A server on this machine is never reached through one.
func chooseProxy(c *HTTPConfig, u *url.URL, limits Limits, connect time.Duration) (*proxy, error) {
	if c.Proxy == nil || u.Scheme != "https" || local(u.Hostname()) {
		return nil, nil
	}
	target := *u
	to, err := c.Proxy(&target)
	switch {
	case err != nil:
		// Whoever reads proxy settings quotes them in errors, with the password in them.
		return nil, &textError{text: "the function that chooses the proxy found none", err: err}
	case to == nil:
		return nil, nil
	}
	if err := proxyURL(to); err != nil {
		return nil, err
	}
	port := to.Port()
	if port == "" {
		port = "80"
	}
	p := &proxy{address: net.JoinHostPort(to.Hostname(), port), limit: int64(limits.HeaderBytes)}
	p.dialer = dialer{connect: connect, resolver: c.Resolver, check: func(address string) error { return checkAddress(address, true, false) }}
	if to.User != nil {
		password, _ := to.User.Password()
		p.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(to.User.Username()+":"+password))
	}
	return p, nil
}

// proxyURL checks what a Proxy function has returned.
func proxyURL(u *url.URL) error {
	switch {
	case u.Scheme != "http":
		return errors.New("the proxy's URL does not begin with http://, the only kind there is")
	case u.Hostname() == "":
		return errors.New("the proxy's URL has no host")
	case checkHost(u.Hostname()) != nil:
		return checkHost(u.Hostname())
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return errors.New("the proxy's URL has more than a host and a port")
	}
	return nil
}

// failed says that it is the proxy that was not reached.
func (p *proxy) failed(err error) error {
	var (
		address *AddressError
		late    *TimeoutError
	)
	if errors.As(err, &address) || errors.As(err, &late) || errors.Is(err, context.Canceled) {
		return err
	}
	return &ConnectError{Reason: ConnectProxy, Host: p.address, Err: err}
}

// tunnel asks the proxy, to which c is a new connection, to connect to address. Nothing the proxy says but its status is
// used or shown.
func (p *proxy) tunnel(ctx context.Context, c net.Conn, address string) error {
	at(ctx, stageProxy)
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if err := c.SetDeadline(time.Now().Add(p.dialer.connect)); err != nil {
		return p.failed(err)
	}
	status, err := p.ask(c, address)
	var late net.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &late) && late.Timeout():
		return &TimeoutError{Waiting: waitProxy, After: p.dialer.connect}
	case err != nil:
		return p.failed(err)
	case status < 200 || status > 299:
		return &ConnectError{Reason: ConnectProxy, Host: p.address, Status: status}
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		return p.failed(err)
	}
	return nil
}

// ask sends the CONNECT request and returns the status of the answer.
func (p *proxy) ask(c net.Conn, address string) (int, error) {
	request := "CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\nUser-Agent: " + valueAgent[0] + "\r\n"
	if p.auth != "" {
		request += "Proxy-Authorization: " + p.auth + "\r\n"
	}
	if _, err := io.WriteString(c, request+"\r\n"); err != nil {
		return 0, err
	}
	most := &io.LimitedReader{R: c, N: p.limit}
	in := bufio.NewReader(most)
	for {
		answer, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect})
		var network net.Error
		switch {
		case errors.As(err, &network):
			return 0, err
		case err != nil && most.N <= 0:
			return 0, &LimitError{What: "its answer", Limit: p.limit, Unit: "bytes"}
		case hungUp(err):
			return 0, errors.New("it hung up")
		case err != nil:
			return 0, errors.New("what it answers is no HTTP") // net/http would say what
		}
		// The body is left alone: it holds nothing, and closing it would read it to its end.
		switch code := answer.StatusCode; {
		case code < 200:
			continue // informational, and bounded together with the answer
		case code < 300 && in.Buffered() > 0:
			return 0, fmt.Errorf("%d bytes come behind its answer, before anything was asked of the server", in.Buffered())
		default:
			return code, nil
		}
	}
}
