package plan

import "github.com/mcpcat-dev/mcpcat/internal/catalog"

// classDecisions holds what each class asks for as long as no policy says anything else. A class that is missing here would
// be denied.
var classDecisions = func() map[Class]Decision {
	out := map[Class]Decision{}
	for _, c := range catalog.Classes() {
		out[Class(c.Name)] = Decision(c.Default)
	}
	return out
}()

func decisionOf(c Class) Decision {
	if d, ok := classDecisions[c]; ok {
		return d
	}
	return Deny
}

// Widening reports whether a change of class c gives a tool or a server more room than before, or claims that less care
// is needed. Such changes are shown before others.
func (c Class) Widening() bool {
	switch c {
	case InputWidened, InputUnclear, HeaderMappingChanged, HintsRelaxed, EndpointChanged:
		return true
	}
	return false
}
