package mcp

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// TestErrorsNameTheServer calls everything that a client, a subscription and a tool proxy can do on a connection that has
// been closed: with a name every error has it in front, once.
func TestErrorsNameTheServer(t *testing.T) {
	p := mcptest.Pipe(t, mcptest.Serve(func(c *mcptest.Conn, r mcptest.Request) {
		if r.Method == methodListen {
			c.Line(`{"jsonrpc":"2.0","method":"` + noteAcknowledged + `","params":{"_meta":{"` + keySubscription + `":` + r.ID + `},"notifications":{}}}`)
		}
	}))
	c, err := Connect(short(t), NewIOTransport(p.R, p.W), WithName("harbour"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Listen(short(t), SubscriptionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	closed(t, c)

	looked := 0
	look := func(from string, err error) {
		looked++
		var named *ServerError
		switch {
		case !errors.As(err, &named):
			t.Errorf("%s: %T %v, want a *ServerError", from, err, err)
		case named.Server != "harbour" || !strings.HasPrefix(err.Error(), "harbour: ") || strings.Count(err.Error(), "harbour") != 1:
			t.Errorf("%s: %q, want the name in front, once", from, err)
		case errors.As(named.Err, new(*ServerError)) || !errors.Is(err, named.Err):
			t.Errorf("%s: %#v inside", from, named.Err)
		}
	}
	errorType := reflect.TypeFor[error]()
	for _, value := range []any{c, s, c.Proxy(mustTool(t, tide))} {
		v := reflect.ValueOf(value)
		for i := range v.NumMethod() {
			m, from := v.Method(i), reflect.TypeOf(value).String()+"."+v.Type().Method(i).Name
			args := make([]reflect.Value, m.Type().NumIn())
			for j := range args {
				args[j] = reflect.Zero(m.Type().In(j))
				if m.Type().In(j) == reflect.TypeFor[context.Context]() {
					args[j] = reflect.ValueOf(short(t))
				}
			}
			switch {
			case strings.HasSuffix(from, ".CheckArguments"): // of the definition, not of a server
			case strings.HasSuffix(from, ".Close"), strings.HasSuffix(from, ".Proxy"), m.Type().NumOut() == 0:
			case m.Type().Out(m.Type().NumOut()-1) == errorType:
				err, _ := m.Call(args)[m.Type().NumOut()-1].Interface().(error)
				look(from, err)
			case m.Type().Out(0).Kind() == reflect.Func:
				for _, err := range m.Call(args)[0].Seq2() {
					look(from, err.Interface().(error))
				}
			}
		}
	}
	if looked < 25 {
		t.Errorf("%d errors were looked at, want at least 25", looked)
	}

	_, err = Connect(short(t), nil, WithName("harbour"))
	look("Connect", err)
	// What Connect makes of an error of server/discover has the name as well, in front.
	for _, object := range []string{`{"code":-32601,"message":"x"}`, `{"code":-32603,"message":"x"}`} {
		old := mcptest.Pipe(t, func(c *mcptest.Conn, r mcptest.Request) { c.Error(r, object) })
		_, err = Connect(short(t), NewIOTransport(old.R, old.W), WithName("harbour"))
		look(object, err)
	}
	_, err = Connect(short(t), nil)
	if errors.As(err, new(*ServerError)) {
		t.Errorf("without a name: %v", err)
	}
}
