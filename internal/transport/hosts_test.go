package transport

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
)

func TestAllowedHosts(t *testing.T) {
	for hosts, ok := range map[string]bool{
		"harbour.example": true, "HARBOUR.example": true, "harbour.example:443": true, "Harbour.Example:443": true,
		"harbour.example:8443": false, "sub.harbour.example": false, "example": false, "": false, "harbour.example.": false,
	} {
		_, err := NewHTTP(HTTPConfig{URL: "https://harbour.EXAMPLE/mcp", AllowHosts: []string{"other.example", hosts}})
		var address *AddressError
		if ok != (err == nil) || !ok && (!errors.As(err, &address) || address.Reason != ReasonHost) {
			t.Errorf("%q: %v, want it allowed: %v", hosts, err, ok)
		}
	}
	for hosts, ok := range map[string]bool{"::1": true, "[::1]:8443": true, "0:0:0:0:0:0:0:1": true, "[::1]:443": false, "::2": false} {
		if _, err := NewHTTP(HTTPConfig{URL: "https://[::1]:8443/mcp", AllowPrivate: true, AllowHosts: []string{hosts}}); ok != (err == nil) {
			t.Errorf("%q: %v, want it allowed: %v", hosts, err, ok)
		}
	}
	if _, err := NewHTTP(HTTPConfig{URL: "https://harbour.example/mcp", AllowHosts: []string{}}); err == nil {
		t.Error("an empty list allows something")
	}
}

// TestHostsAreCheckedAtTheDial: whatever names the address, no connection to another host is made, and the proxy is not asked
// for one either.
func TestHostsAreCheckedAtTheDial(t *testing.T) {
	var got atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got.Add(1) }))
	defer srv.Close()
	own, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]HTTPConfig{
		"plain":      {URL: srv.URL, AllowPrivate: true},
		"with proxy": {URL: "https://harbour.example/mcp", Proxy: func(*url.URL) (*url.URL, error) { return own, nil }},
	} {
		h := newClient(t, c)
		h.allowed = []string{"elsewhere.example"}
		_, err := h.Do(t.Context(), call(1, "tools/list"))
		var address *AddressError
		if !errors.As(err, &address) || address.Reason != ReasonHost || got.Load() != 0 {
			t.Errorf("%s: %v after %d requests", name, err, got.Load())
		}
	}
}
