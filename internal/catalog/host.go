package catalog

// PrivateHost reports whether a host, as written in a url, is this machine or lies in a private network, so that a
// catalog has to say allow_private. A name that only resolves to such an address is not recognised here; the transport
// refuses it when it dials.
func PrivateHost(host string) bool {
	class, ok := classify(host)
	return ok && (class == hostLoopback || class == hostPrivate)
}

// ValidEnvName reports whether a catalog may name an environment variable so, in env = { … } and in env("NAME").
func ValidEnvName(s string) bool { return validEnvName(s) }
