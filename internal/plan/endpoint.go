package plan

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/lock"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// endpointLeaves shows what of the endpoint changed, query values hidden.
func endpointLeaves(pinned *lock.Server, endpoint json.RawMessage, d digest.Digest) []Leaf {
	if pinned.EndpointDigest == d {
		return nil
	}
	b, a := strictjson.Value(pinned.Endpoint), strictjson.Value(endpoint)
	before, wasHTTP := b.Get("url")
	after, isHTTP := a.Get("url")
	shownB, shownA := shownEndpoint(pinned.Endpoint), shownEndpoint(endpoint)
	if wasHTTP && isHTTP {
		shownB, shownA = withTLS(shownB, a), withTLS(shownA, b)
	}
	leaves := objectLeaves("/endpoint", EndpointChanged, shownB, shownA)
	if wasHTTP && isHTTP {
		for i := range leaves {
			leaves[i].Note = meaning(&leaves[i])
			if strings.HasPrefix(leaves[i].Path, "/endpoint/tls/") {
				leaves[i].Words = nil // of digests
			}
		}
	}
	if same(before, after) {
		// Nothing of it was hidden that differs.
	} else if i := slices.IndexFunc(leaves, func(l Leaf) bool { return l.Path == "/endpoint/url" }); i >= 0 {
		if strings.Contains(string(leaves[i].Before)+string(leaves[i].After), hidden) {
			leaves[i].Note, leaves[i].Words = hiddenNote, nil
		}
	} else if objects(b, a) { // the difference is in what is hidden
		l := newLeaf("/endpoint/url", EndpointChanged, quoted(postureText(pinned.Endpoint)), quoted(postureText(endpoint)))
		l.Note, l.Words = hiddenNote, nil
		leaves = append(leaves, l)
	}
	if len(leaves) == 0 { // another digest of an equal text: an entry that was not made here
		leaves = append(leaves, newLeaf("/endpoint", EndpointChanged, quoted(pinned.EndpointDigest.String()), quoted(d.String())))
	}
	return leaves
}

// withTLS is a shown endpoint with an empty tls block if the other one alone has such a block, so that each of its
// arguments becomes a difference of its own.
func withTLS(shown json.RawMessage, other strictjson.Value) json.RawMessage {
	_, has := strictjson.Value(shown).Get("tls")
	_, otherHas := other.Get("tls")
	if has || !otherHas {
		return shown
	}
	return append(bytes.Clone(shown[:len(shown)-1]), `,"tls":{}}`...)
}

// meanings say in words what it means that an attribute of an endpoint is new, another one, or gone, where its value says
// nothing to a reader.
var meanings = map[string]struct{ add, replace, remove string }{
	"/endpoint/egress/allow_hosts": {
		"connections may be made to these hosts", "connections may be made to other hosts", "connections may be made to the url's host alone",
	},
	"/endpoint/egress/redirects": {
		"redirects on the same origin are followed", "another number of redirects is followed", "redirects are not followed any more",
	},
	"/endpoint/egress/proxy": {
		"connections are made by a proxy", "connections are made by another proxy", "connections are made without a proxy",
	},
	"/endpoint/workdir": {
		"it starts in this directory instead of the catalog's", "it starts in another directory", "it starts in the catalog directory again",
	},
	"/endpoint/sha256": {
		"only a program with one of these digests is started", "a program with other digests is started", "the program may be any",
	},
	"/endpoint/tls/ca_file": {
		"the certificates of this file are trusted instead of the system's", "other certificates are trusted", "the system's certificates are trusted again",
	},
	"/endpoint/tls/server_name": {
		"the server's certificate must be for this name instead of the url's host", "the server's certificate must be for another name", "the server's certificate must be for the url's host again",
	},
	"/endpoint/tls/pin_sha256": {
		"only servers with one of these keys are accepted", "servers with other keys are accepted", "any key of a trusted certificate is accepted",
	},
	"/endpoint/tls/client_cert_file": {
		"the server is shown a client certificate", "the server is shown another client certificate", "the server is shown no client certificate any more",
	},
}

func meaning(l *Leaf) string {
	m := meanings[l.Path]
	if l.Path == "/endpoint/egress/proxy" && string(l.After) == `"environment"` {
		return "the environment says by which proxy connections are made"
	}
	switch l.Op {
	case "add":
		return m.add
	case "remove":
		return m.remove
	}
	return m.replace
}

const hiddenNote = "query values are hidden"

// shownEndpoint is an endpoint with its url, and that of its proxy, as one text each, secrets by reference and query values
// hidden.
func shownEndpoint(endpoint json.RawMessage) json.RawMessage {
	v := strictjson.Value(endpoint)
	if _, ok := v.Get("url"); !ok {
		return endpoint
	}
	return replaceMembers(v, func(name string, m strictjson.Value) strictjson.Value {
		switch {
		case name == "url":
			return quoted(postureText(endpoint))
		case name == "egress" && m.Kind() == strictjson.KindObject:
			return strictjson.Value(replaceMembers(m, func(name string, m strictjson.Value) strictjson.Value {
				if name == "proxy" {
					return quoted(urlText(m))
				}
				return m
			}))
		}
		return m
	})
}

// replaceMembers is an object with other values for its members.
func replaceMembers(v strictjson.Value, by func(name string, m strictjson.Value) strictjson.Value) json.RawMessage {
	out := []byte{'{'}
	for name, m := range v.Members() {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(strictjson.AppendString(out, name), ':'), by(name, m)...)
	}
	return append(out, '}')
}

// hidden stands for a value that is not shown.
const hidden = "…"

// reference reports whether a text is the reference of one secret, ${var.NAME}, which may be shown.
func reference(s string) bool {
	name, ok := strings.CutPrefix(s, "${")
	name, end := strings.CutSuffix(name, "}")
	return ok && end && name != "" && !strings.ContainsAny(name, "${}")
}

// hideQuery replaces the values in the query of a URL, but for references of secrets. Other text stays as it is.
func hideQuery(text string) string {
	if !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") {
		return text
	}
	head, query, ok := strings.Cut(text, "?")
	if !ok {
		return text
	}
	parts := strings.Split(query, "&")
	for i, p := range parts {
		if name, value, ok := strings.Cut(p, "="); ok && !reference(value) {
			parts[i] = name + "=" + hidden
		}
	}
	return head + "?" + strings.Join(parts, "&")
}

// postureText is the URL or the command of a pinned endpoint, query values hidden.
func postureText(endpoint json.RawMessage) string {
	v := strictjson.Value(endpoint)
	if url, ok := v.Get("url"); ok {
		return hideQuery(urlText(url))
	}
	command, _ := v.Get("command")
	words := []string{partText(command)}
	args, _ := v.Get("args")
	for e := range args.Elements() {
		words = append(words, partText(e))
	}
	return strings.Join(words, " ")
}

// urlText is a url as an endpoint holds it, a text or an array of its parts, with references in place of secrets.
func urlText(v strictjson.Value) string {
	if v.Kind() != strictjson.KindArray {
		return partText(v)
	}
	var b strings.Builder
	for e := range v.Elements() {
		b.WriteString(partText(e))
	}
	return b.String()
}

func partText(v strictjson.Value) string {
	if s, ok := v.Text(); ok {
		return s
	}
	ref, _ := v.Get("secret")
	s, _ := ref.Text()
	return "${" + s + "}"
}

func postureTransport(endpoint json.RawMessage) string {
	t, _ := strictjson.Value(endpoint).Get("transport")
	s, _ := t.Text()
	return s
}
