//go:build linux

package upstream

import "github.com/mcpcat-dev/mcpcat/internal/mcptest"

// tlsWants says what becomes of each fault of TLS and of names. Nothing of a request is sent, but where the server
// misbehaves behind the handshake.
func tlsWants() map[string]want {
	refused := func(reason string) want {
		return want{kind: "TLS: " + reason, seen: "TLSError " + reason, undelivered: true}
	}
	late := want{kind: "no handshake", seen: "TimeoutError connect: the TLS handshake", undelivered: true}
	name := func(reason string) want {
		return want{kind: "no connection: " + reason, seen: "ConnectError " + reason, undelivered: true, stuck: true}
	}
	address := func(class string) want {
		return want{kind: "address: " + class, seen: "AddressError " + class, undelivered: true, stuck: true}
	}
	lateCertificate := refused("client certificate")
	lateCertificate.undelivered, lateCertificate.unclear = false, true
	return map[string]want{
		"self-signed":                 refused("untrusted"),
		"unknown-authority":           refused("untrusted"),
		"not-for-servers":             refused("untrusted"),
		"another-key":                 refused("pin"),
		"expired":                     refused("expired"),
		"not-yet-valid":               refused("expired"),
		"wrong-name":                  refused("name"),
		"old-version":                 refused("handshake"),
		"alert":                       refused("handshake"),
		"handshake-endless":           refused("handshake"),
		"handshake-close":             refused("handshake"),
		"handshake-reset":             refused("handshake"),
		"wants-client-certificate":    refused("client certificate"),
		"wants-client-certificate-13": lateCertificate,
		"plain-http":                  refused("not tls"),
		"garbage":                     refused("not tls"),
		"handshake-silence":           late,
		"handshake-half-then-silence": late,
		"answer-not-encrypted":        {kind: "not HTTP", seen: notHTTP},
		"broken-record":               {kind: "lost before the answer", seen: "LostError before the answer"},
		"name-unknown":                name("unknown host"),
		"name-without-address":        name("unknown host"),
		"name-server-fails":           name("other"),
		"name-of-nobody":              name("refused"),
		"name-server-silent":          {kind: "no connection in time", seen: "TimeoutError connect: a connection", undelivered: true, stuck: true},
		"name-of-metadata":            address("link-local"),
		"name-of-anything":            address("unspecified"),
	}
}

// http2Wants says what becomes of each fault of frames.
func http2Wants() map[string]want {
	const events = mcptest.StepEvents
	lost := want{kind: "lost before the answer", seen: "LostError before the answer", at: at(events, lostEvents), kinds: at(events, "lost in the stream")}
	lostBody := want{kind: "lost in the body", seen: "LostError in a JSON body", at: at(events, lostEvents), kinds: at(events, "lost in the stream")}
	silent := want{kind: "no answer", seen: noHeader}
	return map[string]want{
		"goaway":                   lost,
		"goaway-calm":              silent,
		"goaway-within-answer":     lostBody,
		"reset-internal":           lost,
		"reset-protocol":           lost,
		"reset-cancel":             lost,
		"reset-none":               lost,
		"reset-http11-required":    lost,
		"refuses-always":           lost,
		"goes-away-always":         lost,
		"reset-within-answer":      lostBody,
		"connection-reset":         lost,
		"connection-closed":        lost,
		"no-answer":                silent,
		"frozen":                   {kind: "no answer", seen: noHeader},
		"frozen-within-answer":     {kind: "silence in the body", seen: "StallError a JSON body"},
		"header-then-silence":      {kind: "no body", seen: "TimeoutError M: a JSON body"},
		"empty-data-flood":         {kind: "no body", seen: "TimeoutError M: a JSON body"},
		"half-a-body-then-silence": {kind: "silence in the body", seen: "StallError a JSON body", at: at(events, "StallError an event"), kinds: at(events, "silence in an event")},
		"half-a-body-then-end":     {kind: "JSON cut off", seen: "ProtocolError the body is not a JSON-RPC message (at P got the end of the text)", at: at(events, lostEvents), kinds: at(events, "lost in the stream")},
		"header-ends-stream":       {kind: "JSON cut off", seen: "ProtocolError the body is not a JSON-RPC message (at the top: got the end of the text)"},
		"window-never-opened":      {kind: "does not read", seen: "TimeoutError M: the server to read the request", stuck: true},
		"garbage-at-start":         {kind: "not HTTP", seen: notHTTP},
		"ping-flood":               silent,
		"settings-flood":           silent,
		"window-flood":             silent,
		"unknown-flood":            silent,
		"interim-flood":            {kind: "header too long", seen: headerLimit},
		"continuation-flood":       {kind: "not HTTP", seen: notHTTP},
		"endless-body":             {kind: "body too long", seen: bodyLimit},
		"frame-too-large":          {kind: "not HTTP", seen: notHTTP},
		"data-on-stream-0":         {kind: "not HTTP", seen: notHTTP},
		"push":                     {kind: "not HTTP", seen: notHTTP},
		"broken-block":             {kind: "not HTTP", seen: notHTTP},
		"no-status":                {kind: "not HTTP", seen: notHTTP},
		"text-status":              {kind: "not HTTP", seen: notHTTP},
		"window-overflow":          {kind: "not HTTP", seen: notHTTP},
		"garbage":                  {kind: "not HTTP", seen: notHTTP},
	}
}
