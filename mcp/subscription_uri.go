package mcp

import "strings"

// subscribedURI is one URI of an effective filter with the number of updates of it and below it.
type subscribedURI struct {
	uri        string
	generation uint64
	parts      uriParts
}

func newSubscribedURI(uri string) subscribedURI { return subscribedURI{uri: uri, parts: splitURI(uri)} }

// covers reports whether an update of uri concerns the subscribed resource: it is the same URI, the same with a query or
// fragment behind it, or one with the same scheme and authority and a path that goes on at a slash.
//
// Nothing is normalised, since a server's URIs are names. Only what RFC 3986 calls case-insensitive, scheme and host, is
// compared so, and a path that could step back out of the subscribed one (".." and its encodings) is not below it.
//
// Spec: 2026-07-28 schema, ResourceUpdatedNotification: uri might be a sub-resource of the one subscribed to.
func (r *subscribedURI) covers(uri string) bool {
	if rest, ok := strings.CutPrefix(uri, r.uri); ok {
		switch {
		case rest == "":
			return true
		case r.parts.fragment:
		case rest[0] == '#', rest[0] == '?' && !r.parts.query:
			return true
		}
	}
	if r.parts.query || r.parts.fragment || !r.parts.hierarchic {
		return false
	}
	u := splitURI(uri)
	if !u.hierarchic || !strings.EqualFold(u.scheme, r.parts.scheme) || u.hasAuthority != r.parts.hasAuthority ||
		u.user != r.parts.user || !strings.EqualFold(u.host, r.parts.host) {
		return false
	}
	below, ok := strings.CutPrefix(u.path, strings.TrimSuffix(r.parts.path, "/")+"/")
	return ok && !hasDotSegment(below)
}

// uriParts is a URI cut at its delimiters, as RFC 3986 appendix B cuts it.
type uriParts struct {
	hierarchic   bool // it has a scheme: the rest means something
	scheme       string
	hasAuthority bool
	user, host   string // host with port
	path         string
	query        bool
	fragment     bool
}

func splitURI(uri string) uriParts {
	var p uriParts
	uri, _, p.fragment = strings.Cut(uri, "#")
	uri, _, p.query = strings.Cut(uri, "?")
	p.scheme, p.path, p.hierarchic = strings.Cut(uri, ":")
	if rest, ok := strings.CutPrefix(p.path, "//"); ok {
		p.hasAuthority = true
		end := strings.IndexByte(rest, '/')
		if end < 0 {
			end = len(rest)
		}
		p.host, p.path = rest[:end], rest[end:]
		if at := strings.LastIndexByte(p.host, '@'); at >= 0 {
			p.user, p.host = p.host[:at], p.host[at+1:]
		}
	}
	return p
}

// hasDotSegment reports whether a path has a segment "." or "..", also with the dots or the slashes percent-encoded.
func hasDotSegment(path string) bool {
	if strings.Contains(path, "%") {
		path = strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/").Replace(path)
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}
