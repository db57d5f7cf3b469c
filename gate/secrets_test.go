package gate

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
)

// TestSecretsStayHere lets a server repeat the secrets of its own block in many spellings.
func TestSecretsStayHere(t *testing.T) {
	const short = "1234567"
	o := newOffice(t, berthStatus)
	text := `
variable "token" {
  type      = string
  sensitive = true
}
variable "short" {
  type      = string
  sensitive = true
}
` + o.catalogText(`
    headers = { "X-Short" = var.short }
    auth { bearer = var.token }`, "berth_status")
	dir := write(t, text)
	vars := map[string]string{"MCPCAT_VAR_token": "tok-en/+4711~abc==", "MCPCAT_VAR_short": short}
	lookup := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	cat, diags := catalog.Load(catalog.Options{Dir: dir, Lookup: lookup})
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	writeLock(t, dir, pin(t, cat, berthStatus))
	var logged strings.Builder
	g := opened(t, Options{Dir: dir, Agent: "clerk", Lookup: lookup, Logger: testLogger(&logged)})
	secret := vars["MCPCAT_VAR_token"]
	escaped := strings.ReplaceAll(secret, "t", `\u0074`)
	forms := map[string]string{
		"raw": secret, "slash escaped": strings.ReplaceAll(secret, "/", `\/`), "unicode escapes": escaped,
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "base64 inside": base64.StdEncoding.EncodeToString([]byte("x:" + secret + "!")),
		"url": url.QueryEscape(secret),
	}
	for name, form := range forms {
		for kind, body := range map[string]string{
			"result": `"result":{"resultType":"complete","content":[{"type":"text","text":"your token is ` + form + ` !"}]}`,
			"member": `"result":{"resultType":"complete","content":[],"` + form + `":1}`,
			"error":  `"error":{"code":77,"message":"` + form + `"}`,
			"data":   `"error":{"code":77,"message":"m","data":["` + form + `"]}`,
		} {
			o.set(func() {
				o.answer = func(w http.ResponseWriter, r *http.Request, id, _ string, _ []byte) bool {
					if r.Header.Get("Authorization") != "Bearer "+secret {
						t.Errorf("the server got Authorization %q", r.Header.Get("Authorization"))
					}
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, body)
					return true
				}
			})
			r, err := g.Call(t.Context(), Request{Name: "berth_status"})
			var got *Refusal
			if !errors.As(err, &got) || got.Reason != Secret || strings.Contains(err.Error(), form) {
				t.Errorf("%s in %s: %v, %v", name, kind, r, err)
			}
		}
	}
	// The control: what is no secret, or too short to be one, passes.
	o.set(func() {
		o.answer = func(w http.ResponseWriter, _ *http.Request, id, _ string, _ []byte) bool {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[{"type":"text","text":"tok-en %s \u0041"}]}}`, id, short)
			return true
		}
	})
	passed(t, g, "berth_status", "")
	// A server that is down and repeats the secret in what it says.
	o.set(func() {
		o.answer = func(w http.ResponseWriter, _ *http.Request, id, _ string, _ []byte) bool {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"%s"}}`, id, secret)
			return true
		}
	})
	_, err := g.Call(t.Context(), Request{Name: "berth_status"})
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("error %v", err)
	}
	if strings.Contains(logged.String(), secret) || !strings.Contains(logged.String(), "reason=secret") {
		t.Errorf("log: %s", logged.String())
	}
}
