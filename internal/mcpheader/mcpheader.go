// Package mcpheader holds the rules by which MCP mirrors parts of a request in HTTP headers: how a value is written so
// that it survives (Encode, Decode), which parameters of a tool are mirrored (Scan), and what a call's headers are
// (Values).
//
// Both halves use it, the client to send and the server to compare, so it knows nothing of net/http and does no I/O. It
// stands on strictjson.
//
// Spec: 2026-07-28 basic/transports/streamable-http (header encoding, custom headers from tool parameters).
package mcpheader

import (
	"encoding/base64"
	"errors"
	"strings"
	"unicode/utf8"
)

const (
	openMark  = "=?base64?"
	closeMark = "?="
)

// Encode returns the header value that stands for v: v itself if it consists of bytes 0x20 to 0x7E and tabs, has no
// space or tab at its ends and does not look encoded; otherwise "=?base64?", the padded standard Base64 of v's bytes, and
// "?=".
func Encode(v string) string {
	if plain(v) {
		return v
	}
	return openMark + base64.StdEncoding.EncodeToString([]byte(v)) + closeMark
}

func plain(v string) bool {
	if v == "" {
		return true
	}
	if strings.HasPrefix(v, openMark) && strings.HasSuffix(v, closeMark) {
		return false
	}
	if blank(v[0]) || blank(v[len(v)-1]) {
		return false
	}
	for i := range len(v) {
		if c := v[i]; (c < 0x20 && c != '\t') || c > 0x7E {
			return false
		}
	}
	return true
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

// Decode returns what a header value stands for. A value without both exact markers, or too short to hold both, is
// literal. The error says why the value cannot be: it has bytes that no header value may have, or what stands between
// the markers is not padded standard Base64 of UTF-8.
//
// White space around a header value is not part of it and is expected to be gone.
func Decode(v string) (string, error) {
	for i := range len(v) {
		if c := v[i]; (c < 0x20 && c != '\t') || c > 0x7E {
			return "", errors.New("header value has characters outside of printable ASCII")
		}
	}
	// The markers share no byte: "=?base64?=" has both but is too short, and is literal.
	if len(v) < len(openMark)+len(closeMark) || !strings.HasPrefix(v, openMark) || !strings.HasSuffix(v, closeMark) {
		return v, nil
	}
	b, err := base64.StdEncoding.Strict().DecodeString(v[len(openMark) : len(v)-len(closeMark)])
	if err != nil {
		return "", errors.New("header value has broken Base64 between =?base64? and ?=")
	}
	if !utf8.Valid(b) {
		return "", errors.New("header value stands for bytes that are not UTF-8")
	}
	return string(b), nil
}
