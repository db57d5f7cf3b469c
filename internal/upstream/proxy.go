package upstream

import (
	"errors"
	"net/url"

	"golang.org/x/net/http/httpproxy"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
)

// proxyFor returns the proxy by which connections to an https endpoint are made, nil for none.
//
// For the environment it is that of HTTPS_PROXY unless NO_PROXY excepts the endpoint, as Lookup has them. A proxy that
// cannot be used is an error, never a connection without one. The error does not repeat the variable.
func (d Dialer) proxyFor(p *catalog.Proxy, endpoint string) (*url.URL, error) {
	switch {
	case p == nil:
		return nil, nil
	case !p.Environment:
		return catalog.ParseProxy(p.URL.Expose())
	}
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, errors.New("url is no URL") // which may hold secrets
	}
	named, except := catalog.ProxyVariables(d.Lookup)
	if named == "" {
		return nil, nil
	}
	// httpproxy is asked about the exceptions alone: of a value that it cannot read it makes no proxy and no error.
	config := httpproxy.Config{HTTPSProxy: "http://proxy.invalid:1", NoProxy: except}
	if used, err := config.ProxyFunc()(target); used == nil || err != nil {
		return nil, err
	}
	return catalog.ParseProxy(named)
}
