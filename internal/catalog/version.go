package catalog

import (
	"errors"
	"fmt"

	goversion "github.com/hashicorp/go-version"
)

// versionAllowed reports whether version meets a constraint such as ">= 0.1.0, < 2.0.0": clauses with =, !=, >, >=, <,
// <= or ~> (the last given part may grow), all of which must hold. A pre-release of the running version counts as that
// version. An empty version only checks the constraint.
func versionAllowed(constraint, version string) (bool, error) {
	c, err := goversion.NewConstraint(constraint)
	if err != nil {
		return false, errors.New("got no list of clauses, each an operator (= != > >= < <= ~>) and a version")
	}
	if version == "" {
		return true, nil
	}
	v, err := goversion.NewVersion(version)
	if err != nil {
		return false, fmt.Errorf("the running version is no version: %w", err)
	}
	return c.Check(v.Core()), nil
}
