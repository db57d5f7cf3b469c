package mcp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpcat-dev/mcpcat/internal/mcptest"
)

// removedName matches identifiers of what revision 2026-07-28 has removed: the initialize lifecycle, sessions, levels set for
// good, ping, registration of roots, subscribe and unsubscribe, resuming, and dispatch of requests from servers.
var removedName = regexp.MustCompile(`Initiali[sz]|Session|Set(Log(ging)?)?Level|Ping|Roots|[Ss]ubscribe|Resum|LastEvent|(Request|Sampling|Elicitation)Handler|` +
	`Handle(Request|Sampling|Elicit)|Redeliver|Reconnect|Deprecated`)

// keptNames are names of this revision that the pattern would take.
var keptNames = []string{
	"ClientCapabilities.Roots",      // the declaration, in whose place a round asks
	"ResourcesCapability.Subscribe", // a member of the server's declaration
}

// exportedNames lists the exported identifiers of the package: types, functions, values, and the fields and methods of
// types, these with the type's name in front.
func exportedNames(t *testing.T) []string {
	t.Helper()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	add := func(of, name string) {
		if of != "" {
			name = of + "." + name
		}
		if ast.IsExported(name[strings.LastIndexByte(name, '.')+1:]) {
			names = append(names, name)
		}
	}
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				add(receiver(d), d.Name.Name)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.ValueSpec:
						for _, n := range s.Names {
							add("", n.Name)
						}
					case *ast.TypeSpec:
						add("", s.Name.Name)
						ast.Inspect(s.Type, func(n ast.Node) bool {
							if f, ok := n.(*ast.Field); ok {
								for _, n := range f.Names {
									add(s.Name.Name, n.Name)
								}
							}
							return true
						})
					}
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	name := ""
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return true
	})
	return name
}

func TestNoRemovedIdentifiers(t *testing.T) {
	names := exportedNames(t)
	for _, sure := range []string{"Connect", "Client.CallTool", "CallToolParams.Tool", "ErrClosed", "ProtocolVersion", "Executable.Execute"} {
		if !slices.Contains(names, sure) {
			t.Errorf("%s is not among the names found: the list is not whole", sure)
		}
	}
	for _, name := range names {
		if removedName.MatchString(name) && !slices.Contains(keptNames, name) {
			t.Errorf("%s names what the protocol has removed", name)
		}
	}
	for _, kept := range keptNames {
		if !slices.Contains(names, kept) {
			t.Errorf("%s is kept but does not exist", kept)
		}
	}
	for _, removed := range []string{
		"InitializeRequest", "Client.Initialize", "InitializedNotification", "WithClientRoots", "WithRoots", "RootsHandler", "Client.AddRoots",
		"Client.SetLevel", "Client.SetLoggingLevel", "Client.Ping", "PingInterval", "ErrSessionExpired", "Client.SessionID", "ClientSession",
		"Client.Subscribe", "Client.Unsubscribe", "UnsubscribeParams", "Client.Resume", "ResumptionToken", "HTTPTransport.LastEventID", "RequestHandler",
	} {
		if !removedName.MatchString(removed) {
			t.Errorf("the pattern would let %s pass", removed)
		}
	}
}

// localMethods of Client send nothing.
var localMethods = []string{"Close", "Discovery", "Done", "Dropped", "Err", "Proxy"}

// exercises make Client's methods send what they send.
func exercises() map[string]func(*testing.T, *Client) error {
	type T = *testing.T
	return map[string]func(T, *Client) error{
		"Discover":  func(t T, c *Client) error { _, err := c.Discover(short(t)); return err },
		"ListTools": func(t T, c *Client) error { _, err := c.ListTools(short(t), nil); return err },
		"Tools": func(t T, c *Client) (err error) {
			for _, err = range c.Tools(short(t)) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"GetTools": func(t T, c *Client) (err error) {
			for p, err := range c.GetTools(short(t)) {
				if err != nil {
					return err
				}
				if _, err := p.Execute(short(t), nil); err != nil {
					return err
				}
			}
			return nil
		},
		"SnapshotTools": func(t T, c *Client) error { _, err := c.SnapshotTools(short(t)); return err },
		"WalkTools":     func(t T, c *Client) error { _, err := c.WalkTools(short(t), nil); return err },
		"CallTool": func(t T, c *Client) error {
			_, err := c.CallTool(short(t), &CallToolParams{Tool: mustTool(t, tide), Meta: RequestMeta{
				LogLevel: LogDebug, OnLog: func(LogMessage) {}, OnProgress: func(Progress) {},
			}})
			return err
		},
		"Call": func(t T, c *Client) error {
			_, err := c.Call(short(t), "com.example/tides", jsontext.Value(`{"a":1}`), RequestMeta{})
			return err
		},
		"ListResources": func(t T, c *Client) error { _, err := c.ListResources(short(t), nil); return err },
		"Resources": func(t T, c *Client) (err error) {
			for _, err = range c.Resources(short(t)) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"SnapshotResources":     func(t T, c *Client) error { _, err := c.SnapshotResources(short(t)); return err },
		"WalkResources":         func(t T, c *Client) error { _, err := c.WalkResources(short(t), nil); return err },
		"ListResourceTemplates": func(t T, c *Client) error { _, err := c.ListResourceTemplates(short(t), nil); return err },
		"ResourceTemplates": func(t T, c *Client) (err error) {
			for _, err = range c.ResourceTemplates(short(t)) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"SnapshotResourceTemplates": func(t T, c *Client) error { _, err := c.SnapshotResourceTemplates(short(t)); return err },
		"WalkResourceTemplates":     func(t T, c *Client) error { _, err := c.WalkResourceTemplates(short(t), nil); return err },
		"ReadResourceRound": func(t T, c *Client) error {
			_, err := c.ReadResourceRound(short(t), &ReadResourceParams{URI: "note://a"})
			return err
		},
		"ReadResource": func(t T, c *Client) error {
			_, err := c.ReadResource(short(t), &ReadResourceParams{URI: "note://a"})
			return err
		},
		"ListPrompts": func(t T, c *Client) error { _, err := c.ListPrompts(short(t), nil); return err },
		"Prompts": func(t T, c *Client) (err error) {
			for _, err = range c.Prompts(short(t)) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"SnapshotPrompts": func(t T, c *Client) error { _, err := c.SnapshotPrompts(short(t)); return err },
		"WalkPrompts":     func(t T, c *Client) error { _, err := c.WalkPrompts(short(t), nil); return err },
		"GetPromptRound": func(t T, c *Client) error {
			_, err := c.GetPromptRound(short(t), &GetPromptParams{Name: "p", Arguments: map[string]string{"a": "b"}})
			return err
		},
		"GetPrompt": func(t T, c *Client) error {
			_, err := c.GetPrompt(short(t), &GetPromptParams{Name: "p"})
			return err
		},
		"Complete": func(t T, c *Client) error {
			_, err := c.Complete(short(t), &CompleteParams{Ref: PromptRef{Name: "p"}, Argument: CompletionArgument{Name: "a", Value: "b"}})
			return err
		},
		"Listen": func(t T, c *Client) error {
			s, err := c.Listen(short(t), SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"note://a"}})
			if err != nil {
				return err
			}
			return s.Close()
		},
	}
}

// plainAnswers is a good result for each method.
var plainAnswers = map[string]string{
	methodDiscover:              fullDiscover,
	methodToolsList:             `{"resultType":"complete","tools":[` + tide + `],"ttlMs":0,"cacheScope":"public"}`,
	methodToolsCall:             `{"resultType":"complete","content":[]}`,
	methodResourcesList:         `{"resultType":"complete","resources":[{"uri":"note://a","name":"a"}],"ttlMs":0,"cacheScope":"public"}`,
	methodResourceTemplatesList: `{"resultType":"complete","resourceTemplates":[{"uriTemplate":"note://{a}","name":"a"}],"ttlMs":0,"cacheScope":"public"}`,
	methodResourcesRead:         `{"resultType":"complete","contents":[{"uri":"note://a","text":"t"}],"ttlMs":0,"cacheScope":"public"}`,
	methodPromptsList:           `{"resultType":"complete","prompts":[{"name":"p"}],"ttlMs":0,"cacheScope":"public"}`,
	methodPromptsGet:            `{"resultType":"complete","messages":[{"role":"user","content":{"type":"text","text":"t"}}]}`,
	methodComplete:              `{"resultType":"complete","completion":{"values":["b"]}}`,
	"com.example/tides":         `{"resultType":"complete"}`,
}

// answerPlainly answers every method.
func answerPlainly(c *mcptest.Conn, r mcptest.Request) {
	switch result, ok := plainAnswers[r.Method]; {
	case ok:
		c.Result(r, result)
	case r.Method == methodListen:
		c.Stream()
		c.Event(ackOf(r.ID, `{"toolsListChanged":true,"resourceSubscriptions":["note://a"]}`))
		c.Wait()
	}
}

// TestNothingRemovedOnTheWire makes every method of Client send what it sends, over both transports, and looks for what the
// protocol has removed. A method that is neither exercised nor local fails the test.
func TestNothingRemovedOnTheWire(t *testing.T) {
	typ := reflect.TypeFor[*Client]()
	run := exercises()
	for i := range typ.NumMethod() {
		name := typ.Method(i).Name
		if run[name] == nil && !slices.Contains(localMethods, name) {
			t.Errorf("Client.%s is not exercised", name)
		}
	}
	for name := range run {
		if _, ok := typ.MethodByName(name); !ok {
			t.Errorf("Client.%s is exercised but does not exist", name)
		}
	}
	if t.Failed() {
		return
	}
	overBoth(t, func(t *testing.T, connect connector) {
		c, p := connect(t, answerPlainly)
		for name, exercise := range run {
			before := len(p.Requests())
			if err := exercise(t, c); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if len(p.Requests()) == before {
				t.Errorf("%s sent nothing", name)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		seen := map[string]bool{}
		for _, r := range p.Requests() {
			seen[r.Method] = true
			if _, known := plainAnswers[r.Method]; !known && r.Method != methodListen && (r.Method != "notifications/cancelled" || r.Header != nil) {
				t.Errorf("sent method %q", r.Method)
			}
			if found := removedOnWire(r); found != "" {
				t.Errorf("%s: sent %q: %s", r.Method, found, r.Raw)
			}
		}
		for method := range plainAnswers {
			if !seen[method] {
				t.Errorf("%s was never sent", method)
			}
		}
		if !seen[methodListen] {
			t.Error("nothing was listened for")
		}
	})
	for _, removed := range []mcptest.Request{
		{Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)},
		{Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)},
		{Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)},
		{Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel"}`)},
		{Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe"}`)},
		{Raw: []byte(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)},
		{Raw: []byte(`{}`), Header: map[string][]string{"Mcp-Session-Id": {"1"}}},
		{Raw: []byte(`{}`), Header: map[string][]string{"Last-Event-Id": {"1"}}},
		{}, // a GET or DELETE has no body
	} {
		if removedOnWire(removed) == "" {
			t.Errorf("%s, %v would not be found", removed.Raw, removed.Header)
		}
	}
}

var removedText = regexp.MustCompile(`(?i)"initialize|/initialized|session|setLevel|"ping"|roots|resources/(un)?subscribe|resum|tasks/|batch`)

// removedOnWire returns what of a request the protocol has removed, "" if nothing.
func removedOnWire(r mcptest.Request) string {
	for name := range r.Header {
		if lower := strings.ToLower(name); strings.Contains(lower, "session") || strings.HasPrefix(lower, "last-event") {
			return name
		}
	}
	if len(r.Raw) == 0 || r.Raw[0] != '{' {
		return "no message"
	}
	return string(removedText.Find(r.Raw))
}
