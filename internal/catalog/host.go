package catalog

import "github.com/hashicorp/hcl/v2"

// PrivateHost reports whether a host, as written in a url, is this machine or lies in a private network, so that a
// catalog has to say allow_private. A name that only resolves to such an address is not recognised here; the transport
// refuses it when it dials.
func PrivateHost(host string) bool {
	class, ok := classify(host)
	return ok && (class == hostLoopback || class == hostPrivate)
}

// ValidEnvName reports whether a catalog may name an environment variable so, in env = { … } and in env("NAME").
func ValidEnvName(s string) bool { return validEnvName(s) }

// URLFault says why a url without secrets cannot be an endpoint, or returns "". It does not repeat the url.
func URLFault(url string, allowPrivate bool) string {
	l := &loader{}
	if l.checkURL(&HTTP{URL: Template{PlainText(url)}, AllowPrivate: allowPrivate}, hcl.Range{}, where{}) != nil {
		return ""
	}
	return l.diags[0].Detail
}

// CommandFault says why a text cannot be the command of a server, or returns "". It does not repeat the command.
func CommandFault(command string) string {
	l := &loader{}
	l.checkCommand(command, hcl.Range{}, where{})
	if l.errors == 0 {
		return ""
	}
	return l.diags[0].Detail
}

// WorkdirFault says why a text cannot be the workdir of a server, in words that follow its name, or returns "".
func WorkdirFault(dir string) string {
	if len(dir) > maxNamedPath {
		return "is too long"
	}
	return localPathFault(dir, true)
}

// CredentialName and CredentialValue report whether a name or a text looks like a credential's, so that Load warns of a
// literal there.
func CredentialName(name string) bool { return secretName.MatchString(name) }

// CredentialValue is described at CredentialName.
func CredentialValue(text string) bool { return secretValue.MatchString(text) || looksIssued(text) }
