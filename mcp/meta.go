package mcp

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// Bounds of RequestMeta.Extra.
const (
	maxExtraKeys  = 64
	maxExtraBytes = 64 << 10
)

// checkMetaKey returns why key is not a well-formed _meta key, "" if it is. A key is an optional prefix, dot-separated
// labels and a slash, and a name.
//
// Spec: 2026-07-28 basic#_meta.
func checkMetaKey(key string) string {
	prefix, name, ok := strings.Cut(key, "/")
	if !ok {
		prefix, name = "", key
		if name == "" {
			return "is empty"
		}
	}
	if ok {
		for label := range strings.SplitSeq(prefix, ".") {
			if !isLabel(label) {
				return "has a prefix that is no dot-separated list of labels"
			}
		}
	}
	if name == "" {
		return ""
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case isLetter(c) || isDigit(c):
		case (c == '-' || c == '_' || c == '.') && i > 0 && i < len(name)-1:
		default:
			return "has a name with a character that is not allowed there"
		}
	}
	return ""
}

func isLabel(s string) bool {
	if s == "" || !isLetter(s[0]) || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && !isDigit(c) && c != '-' {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// isReservedKey reports whether the key's prefix belongs to the protocol: its second label is mcp or
// modelcontextprotocol, in any case.
func isReservedKey(key string) bool {
	prefix, _, ok := strings.Cut(key, "/")
	if !ok {
		return false
	}
	labels := strings.Split(prefix, ".")
	return len(labels) > 1 && (strings.EqualFold(labels[1], "mcp") || strings.EqualFold(labels[1], "modelcontextprotocol"))
}

// checkExtra refuses caller metadata that the protocol does not leave to callers.
func checkExtra(extra map[string]jsontext.Value) string {
	if len(extra) > maxExtraKeys {
		return "Extra has " + strconv.Itoa(len(extra)) + " keys, want at most " + strconv.Itoa(maxExtraKeys)
	}
	total := 0
	for key, value := range extra {
		if reason := checkMetaKey(key); reason != "" {
			return "Extra key " + quote(key) + " " + reason
		}
		if key == keyProgress || isReservedKey(key) {
			return "Extra key " + quote(key) + " belongs to the protocol"
		}
		if err := strictjson.Check(value, strictjson.Limits{Bytes: maxExtraBytes, Depth: defaultSchemaDepth}); err != nil {
			return "value of Extra key " + quote(key) + ": " + err.Error()
		}
		if reason := checkTrace(key, strictjson.Value(value)); reason != "" {
			return "value of Extra key " + quote(key) + " " + reason
		}
		if total += len(key) + len(value); total > maxExtraBytes {
			return "Extra has more than " + strconv.Itoa(maxExtraBytes) + " bytes"
		}
	}
	return ""
}

// checkTrace checks the values of the W3C Trace Context and Baggage keys.
func checkTrace(key string, value strictjson.Value) string {
	var valid func(string) bool
	switch key {
	case "traceparent":
		valid = isTraceparent
	case "tracestate":
		valid = isTracestate
	case "baggage":
		valid = isBaggage
	default:
		return ""
	}
	parsed, err := strictjson.Parse(value, strictjson.Limits{})
	if err != nil {
		return err.Error()
	}
	if s, ok := parsed.Text(); !ok || !valid(s) {
		return "is no valid W3C " + key
	}
	return ""
}

func isTraceparent(s string) bool {
	parts := strings.Split(s, "-")
	if len(parts) < 4 || (parts[0] == "00" && len(parts) != 4) {
		return false
	}
	for i, n := range []int{2, 32, 16, 2} {
		if len(parts[i]) != n || strings.Trim(parts[i], "0123456789abcdef") != "" {
			return false
		}
	}
	return parts[0] != "ff" && strings.Trim(parts[1], "0") != "" && strings.Trim(parts[2], "0") != ""
}

func isTracestate(s string) bool {
	list := strings.Split(s, ",")
	if len(list) > 32 || len(s) > 512 {
		return false
	}
	seen := map[string]bool{}
	for _, entry := range list {
		entry = strings.Trim(entry, " \t")
		if entry == "" {
			continue
		}
		key, value, ok := strings.Cut(entry, "=")
		if !ok || !isStateKey(key) || seen[key] || value == "" || len(value) > 256 || !isPrintable(value, ",=") {
			return false
		}
		seen[key] = true
	}
	return true
}

// isStateKey reports whether s is the key of a tracestate entry: of one vendor, or of a tenant and a system.
func isStateKey(s string) bool {
	tenant, system, multi := strings.Cut(s, "@")
	if multi && (len(tenant) > 241 || len(system) > 14 || system == "" || !isLower(system[0])) {
		return false
	}
	return tenant != "" && len(tenant) <= 256 && (isLower(tenant[0]) || isDigit(tenant[0])) &&
		strings.Trim(tenant+system, "abcdefghijklmnopqrstuvwxyz0123456789_-*/") == ""
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

func isBaggage(s string) bool {
	if s == "" || len(s) > 8192 {
		return false
	}
	for entry := range strings.SplitSeq(s, ",") {
		member, _, _ := strings.Cut(entry, ";")
		key, value, ok := strings.Cut(strings.Trim(member, " \t"), "=")
		key, value = strings.TrimRight(key, " \t"), strings.TrimLeft(value, " \t")
		if !ok || key == "" || !isPrintable(key, ` "(),/:;<=>?@[\]{}`) || !isPrintable(value, ` ",;\`) ||
			!isPrintable(entry, `",\`) {
			return false
		}
	}
	return true
}

// isPrintable reports whether s is printable ASCII without any of the characters in not.
func isPrintable(s, not string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e || strings.IndexByte(not, s[i]) >= 0 {
			return false
		}
	}
	return true
}

var logLevels = []LogLevel{
	LogDebug, LogInfo, LogNotice, LogWarning, LogError, LogCritical, LogAlert, LogEmergency,
}

// rank is the severity of a level, -1 if there is no such level.
func (l LogLevel) rank() int { return slices.Index(logLevels, l) }

// append appends c as the specification writes it.
func (c ClientCapabilities) append(dst []byte) []byte {
	dst = append(dst, '{')
	start := len(dst)
	next := func(s string) {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, s...)
	}
	if c.ElicitationForm || c.ElicitationURL {
		switch {
		case !c.ElicitationURL:
			next(`"elicitation":{"form":{}}`)
		case !c.ElicitationForm:
			next(`"elicitation":{"url":{}}`)
		default:
			next(`"elicitation":{"form":{},"url":{}}`)
		}
	}
	if c.Roots {
		next(`"roots":{}`)
	}
	if c.Sampling {
		switch {
		case c.SamplingContext && c.SamplingTools:
			next(`"sampling":{"context":{},"tools":{}}`)
		case c.SamplingContext:
			next(`"sampling":{"context":{}}`)
		case c.SamplingTools:
			next(`"sampling":{"tools":{}}`)
		default:
			next(`"sampling":{}`)
		}
	}
	if len(c.Extensions) > 0 {
		next(`"extensions":{`)
		for i, id := range slices.Sorted(maps.Keys(c.Extensions)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(strictjson.AppendString(dst, id), ':')
			dst = append(dst, c.Extensions[id]...)
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// check refuses what could not be said.
func (c ClientCapabilities) check() string {
	if (c.SamplingTools || c.SamplingContext) && !c.Sampling {
		return "capabilities widen Sampling without declaring it"
	}
	return checkExtensions(c.Extensions)
}
