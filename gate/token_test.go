//go:build unix

package gate

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTokenIsASecret: a token that a command prints is asked for once, however many calls there are, and a server that repeats
// it is withheld.
func TestTokenIsASecret(t *testing.T) {
	o := newOffice(t, berthStatus)
	dir := write(t, o.catalogText("    auth {\n      command = [\"./token\"]\n    }", "berth_status"))
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("#!/bin/sh\necho run >> runs\necho printed-token\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeLock(t, dir, pin(t, load(t, dir), berthStatus))
	g := opened(t, Options{Dir: dir, Agent: "clerk"})
	answer := func(text string) {
		o.set(func() {
			o.answer = func(w http.ResponseWriter, r *http.Request, id, _ string, _ []byte) bool {
				if got := r.Header.Get("Authorization"); got != "Bearer printed-token" {
					t.Errorf("the server got Authorization %q", got)
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[{"type":"text","text":%q}]}}`, id, text)
				return true
			}
		})
	}
	done := make(chan error)
	answer("printed-tokens are not shown")
	for range 4 {
		go func() {
			_, err := g.Call(t.Context(), Request{Name: "berth_status"})
			var r *Refusal
			if !errors.As(err, &r) || r.Reason != Secret {
				done <- fmt.Errorf("the answer with the token: %v", err)
				return
			}
			done <- nil
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	answer("printed tokens are shown")
	passed(t, g, "berth_status", "")
	if b, err := os.ReadFile(filepath.Join(dir, "runs")); err != nil || string(b) != "run\n" {
		t.Errorf("the command ran %q, %v, want once", b, err)
	}
}

// TestTokenThatExpires: the call that is not authorised fails, and the next one is made with a new token.
func TestTokenThatExpires(t *testing.T) {
	o := newOffice(t, berthStatus)
	dir := write(t, o.catalogText("    auth {\n      command = [\"./token\"]\n    }", "berth_status"))
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("#!/bin/sh\necho run >> runs\necho token-$(wc -l < runs | tr -d ' ')\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeLock(t, dir, pin(t, load(t, dir), berthStatus))
	g := opened(t, Options{Dir: dir, Agent: "clerk"})
	good := "Bearer token-1"
	o.set(func() {
		o.answer = func(w http.ResponseWriter, r *http.Request, _, _ string, _ []byte) bool {
			if r.Header.Get("Authorization") == good {
				return false
			}
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
	})
	passed(t, g, "berth_status", "")
	passed(t, g, "berth_status", "")
	g.servers[0].renew = 0
	o.set(func() { good = "Bearer token-2" })
	if _, err := g.Call(t.Context(), Request{Name: "berth_status"}); err == nil {
		t.Error("a call with the old token passes")
	}
	passed(t, g, "berth_status", "")
	g.servers[0].renew = lastWait
	o.set(func() { good = "Bearer never" })
	for range 20 { // the connection is young
		if _, err := g.Call(t.Context(), Request{Name: "berth_status"}); err == nil {
			t.Error("a call without a good token passes")
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "runs"))
	if n := strings.Count(string(b), "run"); err != nil || n != 2 {
		t.Errorf("the command ran %d times, %v, want 2", n, err)
	}
}
