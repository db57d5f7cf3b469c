package plan

// classDecisions holds what each class asks for as long as a catalog says nothing else. A class that is missing here
// would be denied.
var classDecisions = map[Class]Decision{
	ToolAdded: Ask, ToolRemoved: Ask,
	TitleChanged: Ask, DescriptionChanged: Ask, SchemaTextChanged: Ask,
	InputWidened: Ask, InputNarrowed: Ask, InputUnclear: Ask, OutputChanged: Ask,
	HeaderMappingChanged: Ask,
	HintsWeakened:        Ask, HintsRelaxed: Ask, HintsChanged: Ask,
	IconsChanged: Ask, MetaChanged: Ask, UnknownChanged: Ask,
	ConcealedText: Deny,

	ServerAdded: Ask, ServerRemoved: Ask, EndpointChanged: Ask, IdentityChanged: Ask,
	CapabilitiesChanged: Ask, InstructionsChanged: Ask, GuardChanged: Ask,
	CacheChanged: Auto, OrderChanged: Auto, ListingChanged: Auto, MetadataChanged: Auto,

	AgentAdded: Ask, AgentRemoved: Auto, AgentGains: Ask, AgentLoses: Auto, ExposedNameChanged: Ask,
}

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
