package mcp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

var updateWire = flag.Bool("update-wire", false, "write testdata/wire/MANIFEST.json anew")

const wireDir = "../testdata/wire"

// A fixture is one file of testdata/wire: a sentence, the page of the specification that it is from, what the schema
// and the client make of it, and the messages that either side sends, byte for byte. testdata/wire/README.md has the form.
type fixture struct {
	name     string
	sentence string
	keys     map[string]string
	tool     string // the definition that tools/call is made by
	steps    []step
}

// step is one message of the client, and what the server sends once it has it.
type step struct {
	client string
	server []string
}

// readFixtures returns all fixtures, sorted by name.
func readFixtures(t testing.TB) []*fixture {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(wireDir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures in %s: %v", wireDir, err)
	}
	var all []*fixture
	for _, path := range paths {
		f, err := readFixture(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, f)
	}
	return all
}

func readFixture(path string) (*fixture, error) {
	a, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	f := &fixture{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), keys: map[string]string{}}
	sentence, rest, _ := strings.Cut(string(a.Comment), "\n\n")
	f.sentence = strings.TrimSpace(sentence)
	for line := range strings.Lines(rest) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || f.keys[key] != "" {
			return nil, fmt.Errorf("line %q is no key of its own with a value", line)
		}
		f.keys[key] = value
	}
	for _, file := range a.Files {
		text := strings.TrimSuffix(string(file.Data), "\n")
		switch file.Name {
		case "tool":
			f.tool = text
		case "client":
			f.steps = append(f.steps, step{client: text})
		case "server":
			if len(f.steps) == 0 {
				return nil, fmt.Errorf("the server sends before the client")
			}
			last := &f.steps[len(f.steps)-1]
			last.server = append(last.server, strings.Split(text, "\n")...)
		default:
			return nil, fmt.Errorf("has a section %q", file.Name)
		}
	}
	for _, key := range []string{"spec", "schema", "client"} {
		if f.keys[key] == "" {
			return nil, fmt.Errorf("has no line %s", key)
		}
	}
	if !strings.HasSuffix(f.sentence, ".") || len(f.steps) == 0 {
		return nil, fmt.Errorf("has no sentence, or no messages")
	}
	return f, nil
}

// manifest is testdata/wire/MANIFEST.json.
type manifest struct {
	Schema struct {
		Repository string `json:"repository"`
		Commit     string `json:"commit"`
		Path       string `json:"path"`
		SHA256     string `json:"sha256"`
	} `json:"schema"`
	Fixtures map[string]string `json:"fixtures"` // file name to SHA-256
}

// TestWireManifest holds the manifest against the files: each is in it with its sum, and there is no other in it.
func TestWireManifest(t *testing.T) {
	path := filepath.Join(wireDir, "MANIFEST.json")
	b, err := os.ReadFile(path)
	if err != nil && !*updateWire {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, f := range readFixtures(t) {
		name := f.name + ".txtar"
		content, err := os.ReadFile(filepath.Join(wireDir, name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		sums[name] = hex.EncodeToString(sum[:])
	}
	var m manifest
	if *updateWire {
		m.Schema.Repository, m.Schema.Commit = "modelcontextprotocol/modelcontextprotocol", specCommit
		m.Schema.Path, m.Schema.SHA256 = "schema/2026-07-28/schema.json", specSum
		m.Fixtures = sums
		out, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(out, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	if m.Schema.SHA256 != specSum || m.Schema.Commit != specCommit {
		t.Errorf("manifest has schema %s of %s, want %s of %s", m.Schema.SHA256, m.Schema.Commit, specSum, specCommit)
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{specSum, specCommit, m.Schema.Repository, m.Schema.Path} {
		if !strings.Contains(string(makefile), want) {
			t.Errorf("Makefile does not have %q", want)
		}
	}
	if !maps.Equal(m.Fixtures, sums) {
		for name, sum := range sums {
			if m.Fixtures[name] != sum {
				t.Errorf("%s has SHA-256 %s, the manifest says %q: after a review, go test ./mcp -run WireManifest -update-wire", name, sum, m.Fixtures[name])
			}
		}
		for name := range m.Fixtures {
			if sums[name] == "" {
				t.Errorf("%s is in the manifest and not on disk", name)
			}
		}
	}
}

// TestWireSpec holds every message of every fixture against the official schema, and wants the verdict that the fixture
// says. Where schema and prose are known to differ, the fixture says so: "accepts, although" or "refuses, although".
func TestWireSpec(t *testing.T) {
	s := openSpec(t)
	for _, f := range readFixtures(t) {
		verdict, why, differs := strings.Cut(f.keys["schema"], ", although ")
		ok := verdict == "accepts"
		if (!ok && verdict != "refuses") || (differs && why == "") {
			t.Errorf("%s: schema: %q, want accepts or refuses, and if it is wrong there, why", f.name, f.keys["schema"])
			continue
		}
		// Without a difference the two verdicts are the same; with one they are not.
		if refused := f.refused(); (ok == refused) != differs {
			t.Errorf("%s: schema %q and client %q do not fit together", f.name, f.keys["schema"], f.keys["client"])
		}
		var fault, sent error
		for _, step := range f.steps {
			sent = cmp.Or(sent, sentMatches(t, s, []byte(step.client)))
			for _, message := range step.server {
				fault = cmp.Or(fault, receivedMatches(t, s, method(step.client), []byte(message)))
			}
		}
		// What the client sends is valid, or the fixture says why the schema is wrong there.
		if why := f.keys["sent"]; (sent != nil) != strings.HasPrefix(why, "refuses, although ") {
			t.Errorf("%s: the schema says of what the client sends: %v, sent: %q", f.name, sent, why)
		}
		if (fault == nil) != ok {
			t.Errorf("%s: the schema says %v, want that it %s", f.name, fault, verdict)
		}
	}
}

// refused reports whether the client must not take what the server sends as what it pretends to be.
func (f *fixture) refused() bool {
	word, _, _ := strings.Cut(f.keys["client"], " ")
	return word == "refuses" || word == "drops"
}

// method returns the method of a message, "" if it has none.
func method(message string) string {
	v, _ := strictjson.Value(message).Get("method")
	s, _ := v.Text()
	return s
}

// requestDefs, resultDefs and notificationDefs name the definitions of the schema by method.
var (
	requestDefs = map[string]string{
		"server/discover": "Discover", "tools/list": "ListTools", "tools/call": "CallTool", "resources/list": "ListResources",
		"resources/templates/list": "ListResourceTemplates", "resources/read": "ReadResource", "prompts/list": "ListPrompts",
		"prompts/get": "GetPrompt", "completion/complete": "Complete", "subscriptions/listen": "SubscriptionsListen",
	}
	notificationDefs = map[string]string{
		"notifications/cancelled": "Cancelled", "notifications/progress": "Progress", "notifications/message": "LoggingMessage",
		"notifications/resources/updated": "ResourceUpdated", "notifications/resources/list_changed": "ResourceListChanged",
		"notifications/tools/list_changed": "ToolListChanged", "notifications/prompts/list_changed": "PromptListChanged",
		"notifications/subscriptions/acknowledged": "SubscriptionsAcknowledged",
	}
	errorDefs = map[string]string{
		"-32700": "ParseError", "-32600": "InvalidRequestError", "-32601": "MethodNotFoundError", "-32602": "InvalidParamsError",
		"-32603": "InternalError", "-32020": "HeaderMismatchError", "-32021": "MissingRequiredClientCapabilityError",
		"-32022": "UnsupportedProtocolVersionError",
	}
)

// sentMatches holds a message of the client against its definitions. A method of an extension has none of its own.
func sentMatches(t *testing.T, s *spec, message []byte) error {
	t.Helper()
	v := strictjson.Value(message)
	name := method(string(message))
	if _, isRequest := v.Get("id"); !isRequest {
		return firstFault(t, s, message, "JSONRPCNotification", "ClientNotification", notificationDefs[name]+"Notification")
	}
	if requestDefs[name] == "" {
		return firstFault(t, s, message, "JSONRPCRequest")
	}
	return firstFault(t, s, message, "JSONRPCRequest", "ClientRequest", requestDefs[name]+"Request")
}

// receivedMatches holds a message of the server against its definitions: a notification, or an answer to the method.
// Answers are held against the definition of their kind of result too, because that of the response lets one kind stand
// in for the other.
func receivedMatches(t *testing.T, s *spec, of string, message []byte) error {
	t.Helper()
	v := strictjson.Value(message)
	if name := method(string(message)); name != "" {
		if _, isRequest := v.Get("id"); isRequest {
			return fmt.Errorf("is a request")
		}
		if notificationDefs[name] == "" {
			return firstFault(t, s, message, "JSONRPCNotification")
		}
		return firstFault(t, s, message, "JSONRPCNotification", "ServerNotification", notificationDefs[name]+"Notification")
	}
	if e, isError := v.Get("error"); isError {
		defs := []string{"JSONRPCResponse", "JSONRPCErrorResponse"}
		code, _ := e.Get("code")
		switch def := errorDefs[string(code)]; {
		case def == "":
		case s.response(def):
			defs = append(defs, def)
		default:
			if err := firstFault(t, s, e, def); err != nil {
				return err
			}
		}
		return firstFault(t, s, message, defs...)
	}
	def := requestDefs[of]
	if def == "" {
		return firstFault(t, s, message, "JSONRPCResponse", "JSONRPCResultResponse")
	}
	if err := firstFault(t, s, message, "JSONRPCResponse", "JSONRPCResultResponse", def+"ResultResponse"); err != nil {
		return err
	}
	result, _ := v.Get("result")
	typ, _ := result.Get("resultType")
	if string(typ) == `"input_required"` {
		def = "InputRequired"
	}
	return firstFault(t, s, result, def+"Result")
}

// response reports whether a definition is of a whole message.
func (s *spec) response(def string) bool { return s.defs[def].Properties["jsonrpc"] != nil }

func firstFault(t *testing.T, s *spec, message []byte, defs ...string) error {
	t.Helper()
	for _, def := range defs {
		if err := s.validate(t, def, message); err != nil {
			return fmt.Errorf("%s: %w", def, err)
		}
	}
	return nil
}

// TestWireIsComplete wants a fixture for every shape that the client side knows: each method asked and answered, each
// notification, each kind of result, each error code of the protocol, and for each of them one that is refused.
func TestWireIsComplete(t *testing.T) {
	seen := map[string]int{}
	count := func(what string, refused bool) {
		if refused {
			what += " refused"
		}
		seen[what]++
	}
	for _, f := range readFixtures(t) {
		end := len(f.steps)
		for end > 1 && f.steps[end-1].server == nil {
			end--
		}
		for i, step := range f.steps {
			last := i == end-1
			count("client "+method(step.client), false)
			for _, message := range step.server {
				v := strictjson.Value(message)
				e, isError := v.Get("error")
				switch code, _ := e.Get("code"); {
				case method(message) != "":
					count(method(message), last && f.refused())
				case isError:
					count("error "+string(code), last && f.refused())
				default:
					result, _ := v.Get("result")
					typ, _ := result.Get("resultType")
					if string(typ) == `"input_required"` {
						count("input_required", last && f.refused())
					}
					count("result of "+method(step.client), last && f.refused())
				}
			}
		}
	}
	var want []string
	for name := range requestDefs {
		want = append(want, "client "+name, "result of "+name, "result of "+name+" refused")
	}
	for name := range notificationDefs {
		want = append(want, name, name+" refused")
	}
	for code := range errorDefs {
		want = append(want, "error "+code)
	}
	want = append(want, "client notifications/cancelled", "input_required", "input_required refused")
	slices.Sort(want)
	for _, what := range want {
		if seen[what] == 0 {
			t.Errorf("no fixture has: %s", what)
		}
	}
}
