package transport

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"slices"
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
