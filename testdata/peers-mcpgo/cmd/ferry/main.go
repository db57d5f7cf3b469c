// Command ferry is the ferry office written with mcp-go, for the interop tests of package mcp. It offers what the ferry office
// in conformance/typescript offers.
//
//	ferry                     serves one client over stdio
//	ferry -http=127.0.0.1:0   serves HTTP, and writes "listening at ADDR" to standard error
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	pixel     = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	hoot      = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
	noticeURI = "ferry://notice"
	warning   = "Ice on the fairway: sailings may be late. Älä astu jäälle."
)

var quays = []string{"Aura", "Korppoo", "Kustavi"}

func main() {
	addr := flag.String("http", "", "serve HTTP at this address, not stdio")
	flag.Parse()
	if err := serve(*addr); err != nil {
		log.Fatal(err)
	}
}

func serve(addr string) error {
	office := newOffice()
	if addr == "" {
		return server.ServeStdio(office)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "listening at", l.Addr())
	return http.Serve(l, server.NewStreamableHTTPServer(office))
}

func newOffice() *server.MCPServer {
	s := server.NewMCPServer("ferry-office", "7.1.0",
		server.WithTitle("Ferry office"),
		server.WithInstructions("Ask for the timetable before you book."),
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true),
		server.WithLogging(),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(completer{}),
		server.WithResourceCompletionProvider(completer{}),
		server.WithElicitation(),
		server.WithPaginationLimit(4),
		server.WithMethodCacheHints(mcp.MethodResourcesRead, 60_000, mcp.CacheScopePublic),
	)
	addTools(s)
	addPrompts(s)
	addResources(s)
	return s
}

func notice() mcp.TextResourceContents {
	return mcp.TextResourceContents{URI: noticeURI, MIMEType: "text/plain", Text: warning}
}

func content(blocks ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: blocks} }

func addTools(s *server.MCPServer) {
	s.AddTool(mcp.NewTool("timetable",
		mcp.WithToolTitle("Timetable"),
		mcp.WithDescription("Departures from a quay."),
		mcp.WithString("quay", mcp.Required(), mcp.MinLength(1), mcp.Description("name of the quay")),
		mcp.WithReadOnlyHintAnnotation(true), mcp.WithOpenWorldHintAnnotation(false),
		mcp.WithRawOutputSchema([]byte(`{"type":"object","properties":{"departures":{"type":"array","items":{"type":"object","properties":{"time":{"type":"string"},"cars":{"type":"integer"}},"required":["time","cars"]}}},"required":["departures"]}`)),
	), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		type departure struct {
			Time string `json:"time"`
			Cars int    `json:"cars"`
		}
		return mcp.NewToolResultJSON(map[string]any{"departures": []departure{{"07:15", 24}, {"09:40", len(r.GetString("quay", ""))}}})
	})
	s.AddTool(mcp.NewTool("photo", mcp.WithDescription("A picture of the ferry.")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			image := mcp.NewImageContent(pixel, "image/png")
			half := 0.5
			image.Annotations = &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}, Priority: &half}
			return content(image), nil
		})
	s.AddTool(mcp.NewTool("horn", mcp.WithDescription("The ferry's horn.")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return content(mcp.NewAudioContent(hoot, "audio/wav")), nil
		})
	s.AddTool(mcp.NewTool("leaflet", mcp.WithDescription("Text, a link and two resources.")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return content(
				mcp.NewTextContent("See also:"),
				mcp.NewResourceLink("ferry://berth/3", "berth 3", "", "text/plain"),
				mcp.NewEmbeddedResource(notice()),
				mcp.NewEmbeddedResource(mcp.BlobResourceContents{URI: "ferry://photo", MIMEType: "image/png", Blob: pixel}),
			), nil
		})
	s.AddTool(mcp.NewTool("board", mcp.WithDescription("Boards a car; the deck is always full."), mcp.WithString("plate", mcp.Required())),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultError("no room for " + r.GetString("plate", "")), nil
		})
	s.AddTool(mcp.NewTool("book", mcp.WithDescription("Books seats after asking the caller."), mcp.WithInteger("seats", mcp.Required())), book)
	s.AddTool(mcp.NewTool("load", mcp.WithDescription("Loads three cars and tells of each.")), load)

	var abandoned atomic.Int64
	s.AddTool(mcp.NewTool("wait", mcp.WithDescription("Waits until the caller gives up, and says first that it does.")),
		func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if err := progress(ctx, r, 1, nil); err != nil {
				return nil, err
			}
			<-ctx.Done()
			abandoned.Add(1)
			return nil, ctx.Err()
		})
	s.AddTool(mcp.NewTool("abandoned", mcp.WithDescription("How many callers have given up waiting.")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(strconv.FormatInt(abandoned.Load(), 10)), nil
		})
	s.AddTool(mcp.NewTool("rename", mcp.WithDescription("Announces a change of the tools.")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.SendNotificationToAllClients(mcp.MethodNotificationToolsListChanged, nil)
			s.SendNotificationToAllClients(mcp.MethodNotificationResourceUpdated, map[string]any{"uri": noticeURI})
			return mcp.NewToolResultText("announced"), nil
		})
}

func book(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	seats := r.GetInt("seats", 0)
	answer := server.ElicitationResponse(r.Params.InputResponses, "who")
	if answer == nil || answer.Action != mcp.ElicitationResponseActionAccept {
		return server.NewInputRequestBuilder(fmt.Sprintf(`seats=%d;"ä"`, seats)).Elicit("who", mcp.ElicitationParams{
			Mode:    mcp.ElicitationModeForm,
			Message: fmt.Sprintf("Who books %d seats?", seats),
			RequestedSchema: map[string]any{
				"type":       "object",
				"properties": map[string]any{"name": map[string]any{"type": "string"}},
				"required":   []string{"name"},
			},
		}).ToolResult(), nil
	}
	said, _ := answer.Content.(map[string]any)
	return mcp.NewToolResultText(fmt.Sprintf("%v has %d seats; %s", said["name"], seats, r.Params.RequestState)), nil
}

func load(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s := server.ServerFromContext(ctx)
	for car := 1; car <= 3; car++ {
		err := s.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "deck", map[string]any{"car": car}))
		if err != nil {
			return nil, err
		}
		if err := progress(ctx, r, car, map[string]any{"total": 3, "message": fmt.Sprintf("car %d", car)}); err != nil {
			return nil, err
		}
		time.Sleep(50 * time.Millisecond) // mcp-go drops what is still queued when the result is there
	}
	return mcp.NewToolResultText("loaded"), nil
}

// progress sends a progress note if the caller asked for notes.
func progress(ctx context.Context, r mcp.CallToolRequest, value int, more map[string]any) error {
	if r.Params.Meta == nil || r.Params.Meta.ProgressToken == nil {
		return nil
	}
	params := map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": value}
	for name, v := range more {
		params[name] = v
	}
	return server.ServerFromContext(ctx).SendNotificationToClient(ctx, string(mcp.MethodNotificationProgress), params)
}

func addPrompts(s *server.MCPServer) {
	s.AddPrompt(mcp.NewPrompt("greeting", mcp.WithPromptDescription("A greeting.")),
		func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return mcp.NewGetPromptResult("A greeting.", []mcp.PromptMessage{
				mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("Say hello to the passengers.")),
			}), nil
		})
	s.AddPrompt(mcp.NewPrompt("route", mcp.WithPromptTitle("Route"), mcp.WithPromptDescription("Plans a route."),
		mcp.WithArgument("from", mcp.RequiredArgument()), mcp.WithArgument("to", mcp.RequiredArgument())),
		func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			from, to := r.Params.Arguments["from"], r.Params.Arguments["to"]
			return mcp.NewGetPromptResult("", []mcp.PromptMessage{
				mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(fmt.Sprintf("From %s to %s.", from, to))),
				mcp.NewPromptMessage(mcp.RoleAssistant, mcp.NewEmbeddedResource(notice())),
			}), nil
		})
}

func addResources(s *server.MCPServer) {
	s.AddResource(mcp.NewResource(noticeURI, "notice", mcp.WithResourceTitle("Notice"), mcp.WithMIMEType("text/plain")),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{notice()}, nil
		})
	s.AddResource(mcp.NewResource("ferry://photo", "photo", mcp.WithMIMEType("image/png")),
		func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.BlobResourceContents{URI: r.Params.URI, MIMEType: "image/png", Blob: pixel}}, nil
		})
	s.AddResourceTemplate(mcp.NewResourceTemplate("ferry://berth/{id}", "berth", mcp.WithTemplateDescription("One berth."), mcp.WithTemplateMIMEType("text/plain")),
		func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			id := strings.TrimPrefix(r.Params.URI, "ferry://berth/")
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: "berth " + id + " is free"}}, nil
		})
}

type completer struct{}

func (completer) CompletePromptArgument(_ context.Context, _ string, a mcp.CompleteArgument, known mcp.CompleteContext) (*mcp.Completion, error) {
	return completion(slices.DeleteFunc(slices.Clone(quays), func(q string) bool {
		return !strings.HasPrefix(strings.ToLower(q), strings.ToLower(a.Value)) || a.Name == "to" && q == known.Arguments["from"]
	})), nil
}

func (completer) CompleteResourceArgument(_ context.Context, _ string, a mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return completion(slices.DeleteFunc([]string{"1", "2", "3", "10"}, func(id string) bool { return !strings.HasPrefix(id, a.Value) })), nil
}

func completion(values []string) *mcp.Completion {
	return &mcp.Completion{Values: values, Total: len(values)}
}
