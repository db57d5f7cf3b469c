package transport

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"slices"
	"sync/atomic"
	"time"
)

// tlsConfig returns the configuration of all TLS connections, from the caller's and the pins.
func tlsConfig(given *tls.Config, pins [][sha256.Size]byte, host string) (*tls.Config, error) {
	config := given.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	switch {
	case config.InsecureSkipVerify:
		return nil, errors.New("TLS.InsecureSkipVerify is set: certificates are always verified; name a private authority in RootCAs")
	case config.MinVersion != 0 && config.MinVersion < tls.VersionTLS12:
		return nil, errors.New("TLS.MinVersion is below TLS 1.2, the least that is spoken")
	case config.MaxVersion != 0 && config.MaxVersion < tls.VersionTLS12:
		return nil, errors.New("TLS.MaxVersion is below TLS 1.2, the least that is spoken")
	}
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	if len(config.NextProtos) == 0 {
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	if len(pins) == 0 {
		return config, nil
	}
	pins = slices.Clone(pins)
	// Unlike VerifyPeerCertificate this is called for resumed sessions too.
	also := config.VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if !pinned(state, pins) {
			return &TLSError{Reason: TLSPin, Host: host}
		}
		if also != nil {
			return also(state)
		}
		return nil
	}
	return config, nil
}

// pinned reports whether one certificate of a chain that was verified has one of the keys. What else the server sends with
// its certificate does not count: anybody may send anything.
func pinned(state tls.ConnectionState, pins [][sha256.Size]byte) bool {
	for _, chain := range state.VerifiedChains {
		for _, certificate := range chain {
			if slices.Contains(pins, sha256.Sum256(certificate.RawSubjectPublicKeyInfo)) {
				return true
			}
		}
	}
	return false
}

// clientAuth is what a handshake says of the client's certificate.
type clientAuth struct{ asked, given atomic.Bool }

// noteClientAuth makes config note whether the server asks for a certificate, and is given one.
func noteClientAuth(config *tls.Config) *clientAuth {
	note := &clientAuth{}
	choose := config.GetClientCertificate
	if choose == nil {
		certificates := config.Certificates
		choose = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) { // as crypto/tls does without a function
			for i := range certificates {
				if info.SupportsCertificate(&certificates[i]) == nil {
					return &certificates[i], nil
				}
			}
			return &tls.Certificate{}, nil
		}
	}
	config.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		c, err := choose(info)
		note.asked.Store(true)
		note.given.Store(c != nil && len(c.Certificate) > 0)
		return c, err
	}
	return note
}

// lastWord is what ended a connection of HTTP/2 that is known to be dead: net/http keeps to itself an alert that it finds
// there before the first request.
func lastWord(c *tls.Conn) error {
	if c == nil || c.SetReadDeadline(time.Unix(1, 0)) != nil {
		return nil
	}
	_, err := c.Read(make([]byte, 1))
	return err
}
