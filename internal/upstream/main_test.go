package upstream

import (
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

func TestMain(m *testing.M) {
	if code, ok := mcptest.Child(os.Args, os.Stdin, os.Stdout, os.Stderr); ok {
		os.Exit(code)
	}
	os.Exit(run(m))
}

// logged is what libraries have said through package log, where whoever runs them sees it: each line once.
var logged lines

type lines struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	if len(l.seen) < 100 {
		l.seen[string(p)] = true
	}
	return len(p), nil
}

// authority is the file with the certificate of the authority that signs those of the peers.
var authority string

// run gives the peers of the tests names and a certificate authority.
func run(m *testing.M) int {
	resolver, stop, err := mcptest.Resolver()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer stop()
	log.SetFlags(0)
	log.SetOutput(&logged)
	net.DefaultResolver = resolver
	dir, err := os.MkdirTemp("", "upstream")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// The rows of faults wait, most of them, and do not work: more of them fit than there are processors.
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		err = parallel.Value.Set("24")
	}
	authority = filepath.Join(dir, "ca.pem")
	if err == nil {
		err = os.WriteFile(authority, mcptest.CertificateAuthority(), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
