package upstream

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// TestAllowedHosts: what the catalog allows reaches the connection, and another host is not connected to.
func TestAllowedHosts(t *testing.T) {
	p := mcptest.HTTP(t, mcptest.Serve(nil))
	u, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	block := fmt.Sprintf("http {\n url = %q\n egress {\n allow_private = true\n allow_hosts = [HOSTS]\n }\n}", p.URL)
	for _, hosts := range []string{`"127.0.0.1"`, fmt.Sprintf(`"other.example", %q`, u.Host)} {
		s, d := server(t, strings.Replace(block, "HOSTS", hosts, 1))
		c, err := d.Connect(t.Context(), s)
		if err != nil {
			t.Errorf("%s: %v", hosts, err)
			continue
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	s, d := server(t, strings.Replace(block, "HOSTS", `"127.0.0.1"`, 1))
	before := len(p.Requests())
	s.HTTP.AllowHosts = []string{"127.0.0.1:1", "other.example"} // which no catalog says
	var address *mcp.AddressError
	if _, err := d.Connect(t.Context(), s); !errors.As(err, &address) || address.Reason != "host" || len(p.Requests()) != before {
		t.Errorf("another host: %v", err)
	}
}
