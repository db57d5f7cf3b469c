package catalog

import (
	"slices"
	"strings"
)

// Need is a secret that a catalog refers to and that is not there: whoever contacts the servers has to give it.
type Need struct {
	// Ref is where the secret comes from: var.NAME, env("NAME"), secret_file("PATH"), or client_key_file of a server.
	Ref string `json:"ref"`
	// Environment is the variable that would give it; "" for a file.
	Environment string `json:"environment,omitempty"`
}

// Needs returns what is missing of a catalog that was loaded with AllowMissingSecrets, each once, sorted.
func (c *Catalog) Needs() []Need { return slices.Clone(c.needs) }

// need records a secret that is missing.
func (l *loader) need(ref, environment string) {
	n := Need{Ref: ref, Environment: environment}
	i, known := slices.BinarySearchFunc(l.cat.needs, n, func(a, b Need) int { return strings.Compare(a.Ref, b.Ref) })
	if !known {
		l.cat.needs = slices.Insert(l.cat.needs, i, n)
	}
}
