package mcp

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

func decodeDiscovery(result strictjson.Value) (*Discovery, *fault) {
	if f := onlyComplete(methodDiscover, result); f != nil {
		return nil, f
	}
	d := &Discovery{Wire: Wire{result}}
	var capabilities, ttl bool
	for key, m := range result.Members() {
		var f *fault
		switch key {
		case "supportedVersions":
			d.SupportedVersions, f = asStrings(key, m)
		case "capabilities":
			capabilities = true
			d.Capabilities, f = decodeCapabilities(m)
			f = f.under(key)
		case "instructions":
			d.Instructions, f = asOptional(key, m)
		case "ttlMs":
			ttl = true
			d.TTLMs, f = asTTL(m)
			d.TTL = duration(d.TTLMs)
		case "cacheScope":
			d.CacheScope, f = asScope(m)
		case "_meta":
			d.ServerInfo, f = decodeResultMeta(m)
		}
		if f != nil {
			return nil, f
		}
	}
	switch {
	case d.SupportedVersions == nil:
		return nil, missing("supportedVersions", "an array of strings")
	case !capabilities:
		return nil, missing("capabilities", "an object")
	case !ttl:
		return nil, missing("ttlMs", "a whole number >= 0")
	case d.CacheScope == "":
		return nil, missing("cacheScope", `"public" or "private"`)
	}
	return d, nil
}

func decodeCapabilities(v strictjson.Value) (Capabilities, *fault) {
	c := Capabilities{Wire: Wire{v}}
	if v.Kind() != strictjson.KindObject {
		return c, faultf("is %s, want an object", kindName(v))
	}
	for key, m := range v.Members() {
		var f *fault
		switch key {
		case "tools":
			c.Tools = &ToolsCapability{Wire: Wire{m}}
			f = decodeFlags(key, m, map[string]*bool{"listChanged": &c.Tools.ListChanged})
		case "prompts":
			c.Prompts = &PromptsCapability{Wire: Wire{m}}
			f = decodeFlags(key, m, map[string]*bool{"listChanged": &c.Prompts.ListChanged})
		case "resources":
			c.Resources = &ResourcesCapability{Wire: Wire{m}}
			f = decodeFlags(key, m, map[string]*bool{
				"listChanged": &c.Resources.ListChanged, "subscribe": &c.Resources.Subscribe,
			})
		case "logging":
			c.Logging = jsontext.Value(m)
			f = asObject(key, m)
		case "completions":
			c.Completions = jsontext.Value(m)
			f = asObject(key, m)
		case "experimental":
			c.Experimental, f = decodeObjects(key, m)
		case "extensions":
			c.Extensions, f = decodeObjects(key, m)
			for id := range c.Extensions {
				if reason := checkMetaKey(id); reason != "" || !strings.Contains(id, "/") {
					f = faultf("is no extension identifier, want a prefix, a slash and a name").under(id).under(key)
				}
			}
		}
		if f != nil {
			return c, f
		}
	}
	return c, nil
}

func decodeFlags(key string, v strictjson.Value, flags map[string]*bool) *fault {
	if f := asObject(key, v); f != nil {
		return f
	}
	for name, m := range v.Members() {
		flag, ok := flags[name]
		if !ok {
			continue
		}
		var f *fault
		if *flag, f = asBool(name, m); f != nil {
			return f.under(key)
		}
	}
	return nil
}

// decodeObjects reads a map whose values are objects; it is never nil.
func decodeObjects(key string, v strictjson.Value) (map[string]jsontext.Value, *fault) {
	if f := asObject(key, v); f != nil {
		return nil, f
	}
	objects := map[string]jsontext.Value{}
	for name, m := range v.Members() {
		if f := asObject(name, m); f != nil {
			return nil, f.under(key)
		}
		objects[name] = jsontext.Value(m)
	}
	return objects, nil
}
