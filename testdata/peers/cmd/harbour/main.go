// Command harbour serves the invented harbour office of package harbour, over stdio or, with -http, over Streamable
// HTTP at any path of the address.
//
// With -http=127.0.0.1:0 the system chooses the port; the line "listening at 127.0.0.1:PORT" on standard error names it.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpcat-dev/mcpcat/testdata/peers/internal/harbour"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "harbour:", err)
		os.Exit(1)
	}
}

func run() error {
	var o harbour.Options
	flag.IntVar(&o.Release, "release", 1, "what the office offers: 1 or 2")
	flag.StringVar(&o.ReleaseFile, "release-file", "", "`file` that holds 1 or 2 and is read before every answer; wins over -release")
	addr := flag.String("http", "", "serve Streamable HTTP at this `address` instead of stdio")
	calls := flag.String("calls", "", "`file` that gets the line \"start\" now and one line per tools/call received")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}

	if *calls != "" {
		f, err := os.OpenFile(*calls, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		// One write a line: processes that share the file do not mix their lines.
		o.Record = func(line string) {
			if _, err := f.WriteString(line + "\n"); err != nil {
				fmt.Fprintln(os.Stderr, "harbour:", err)
				os.Exit(1) // a record with holes would prove nothing
			}
		}
		o.Record("start")
	}
	server, err := harbour.New(o)
	if err != nil {
		return err
	}
	if *addr == "" {
		return server.Run(context.Background(), &mcp.StdioTransport{})
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "listening at", l.Addr())
	return http.Serve(l, mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true}))
}
