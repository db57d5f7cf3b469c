package upstream

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
)

// tlsConfig is what crypto/tls is told for a tls block, nil for its defaults. Everything in the block was checked when the
// catalog was loaded, but for a private key that was allowed to be missing then.
func tlsConfig(t *catalog.TLS) (*tls.Config, error) {
	if t == nil || t.CA == nil && t.ServerName == "" && t.Certificate == nil {
		return nil, nil
	}
	config := &tls.Config{ServerName: t.ServerName}
	if t.CA != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(t.CA.Text) {
			return nil, errors.New("ca_file has no certificate")
		}
	}
	if t.Certificate == nil {
		return config, nil
	}
	if t.Key.IsZero() {
		return nil, errors.New("the private key that client_key_file names was not there when the catalog was loaded")
	}
	pair, err := tls.X509KeyPair(t.Certificate.Text, []byte(t.Key.Expose()))
	if err != nil {
		return nil, fmt.Errorf("client certificate: %w", err)
	}
	// In place of Certificates, of which crypto/tls keeps back those that no authority named by the server has signed. A
	// server that names too few would then say that there is no certificate, and not which one it does not take.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	return config, nil
}

// pins are those of a tls block, nil for none.
func pins(t *catalog.TLS) [][sha256.Size]byte {
	if t == nil {
		return nil
	}
	var out [][sha256.Size]byte
	for _, p := range t.Pins {
		out = append(out, p)
	}
	return out
}
