// Package observe asks declared servers what they offer and hands back one surface each.
//
// It asks several servers at a time, walks every list twice, and gives a complete answer or a classified failure, never
// a part. It compares nothing with a lock and writes nothing: that is the work of plan. In the drawing it is a flow: it
// imports catalog, surface, upstream and mcp.
package observe

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/digest"
	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
	"github.com/mcpcat-dev/mcpcat/internal/upstream"
	"github.com/mcpcat-dev/mcpcat/mcp"
)

// DefaultParallelism is how many servers are asked at a time where the caller does not say.
const DefaultParallelism = 8

// Progress is told when a server begins and ends. It is called from several goroutines.
type Progress interface {
	Start(name string)
	Done(name, outcome string)
}

// Options say how servers are asked. Dialer is required.
type Options struct {
	Dialer upstream.Dialer
	// Parallelism is the number of servers asked at a time; 0 means DefaultParallelism.
	Parallelism int
	// Timeout bounds everything asked of one server; 0 leaves only the limits of its own block.
	Timeout time.Duration
	// Approve says whether a server may be contacted, keyed by its address; a server without an entry may be. The error
	// becomes the reason why it was not checked.
	Approve map[string]error
	// Progress may be nil.
	Progress Progress
}

// Servers observes the servers and returns one surface each, in the order given. A server that could not be asked, or
// whose answers are not to be used, has a Failure; the others are not affected.
//
// The error is ctx's error: after an interrupt there is no result.
func Servers(ctx context.Context, servers []*catalog.Server, o Options) ([]surface.Server, error) {
	out := make([]surface.Server, len(servers))
	var group errgroup.Group
	group.SetLimit(cmp.Or(max(o.Parallelism, 0), DefaultParallelism))
	for i, s := range servers {
		group.Go(func() error {
			name := s.Addr.String()
			if o.Progress != nil {
				o.Progress.Start(name)
			}
			out[i] = one(ctx, s, o)
			if o.Progress != nil {
				o.Progress.Done(name, outcome(&out[i]))
			}
			return nil
		})
	}
	// The functions above return no error: each outcome is in out.
	_ = group.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

func outcome(s *surface.Server) string {
	if s.Failure != nil {
		return fmt.Sprintf("%s (%s)", notChecked(s.Status), s.Failure.Code)
	}
	if len(s.Tools) == 1 {
		return "1 tool listed"
	}
	return fmt.Sprintf("%d tools listed", len(s.Tools))
}

func notChecked(s surface.Status) string {
	if s == surface.Refused {
		return "refused"
	}
	return "not checked"
}

// one observes a single server.
func one(ctx context.Context, s *catalog.Server, o Options) surface.Server {
	failed := func(f failure) surface.Server {
		return surface.Server{
			Addr: s.Addr, Endpoint: s.Endpoint(), EndpointDigest: s.EndpointDigest(),
			Status: f.status, Failure: &f.Failure,
		}
	}
	if err := ctx.Err(); err != nil {
		return failed(interrupted())
	}
	if err := o.Approve[s.Addr.String()]; err != nil {
		return failed(notApproved(err, s.Addr.String()))
	}
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	client, err := o.Dialer.Connect(ctx, s)
	if err != nil {
		return failed(classify(err, s))
	}
	got, err := twice(ctx, client, s)
	if closeErr := client.Close(); err == nil && closeErr != nil {
		err = closeErr
	}
	if err != nil {
		return failed(classify(err, s))
	}
	return got
}

// twice walks the server two times and returns the first walk if both agree.
func twice(ctx context.Context, c *mcp.Client, s *catalog.Server) (surface.Server, error) {
	first, err := walk(ctx, c, c.Discovery(), s)
	if err != nil {
		return surface.Server{}, err
	}
	again, err := c.Discover(ctx)
	if err != nil {
		return surface.Server{}, err
	}
	second, err := walk(ctx, c, again, s)
	if err != nil {
		return surface.Server{}, err
	}
	byItself, err := surface.SameWalk(first, second)
	if err != nil {
		return surface.Server{}, err
	}
	// The first walk is kept: what changes by itself between two walks of one plan then does not depend on how many
	// walks a plan makes.
	first.ByItself = byItself
	return first, nil
}

// walk reads every list of the server once. A server that does not declare tools has none: it is not asked, since it
// would have to answer "method not found".
func walk(ctx context.Context, c *mcp.Client, d *mcp.Discovery, s *catalog.Server) (surface.Server, error) {
	w := surface.Walk{
		Addr: s.Addr, Endpoint: s.Endpoint(), EndpointDigest: s.EndpointDigest(),
		Discovery: d.Raw(),
		Snapshots: map[string]digest.Digest{},
	}
	if err := evidence(w.Snapshots, surface.SnapshotDiscover, d); err != nil {
		return surface.Server{}, err
	}
	if offersTools(d) {
		list, err := c.SnapshotTools(ctx)
		if err != nil {
			return surface.Server{}, err
		}
		if err := evidence(w.Snapshots, surface.SnapshotTools, list); err != nil {
			return surface.Server{}, err
		}
		w.TTLMs, w.CacheScope = list.TTLMs, string(list.CacheScope)
		for _, t := range list.Tools {
			w.Tools = append(w.Tools, t.Raw())
		}
		secrets := upstream.Redactor(s)
		for _, x := range list.Excluded {
			// The reason may quote a part of it.
			if secrets.Holds(x.Definition) {
				return surface.Server{}, errEchoed
			}
			w.Excluded = append(w.Excluded, surface.Excluded{Name: x.Name, Reason: x.Reason})
		}
		if list.ServerInfo != nil {
			w.ListInfo = &surface.Identity{Name: list.ServerInfo.Name, Version: list.ServerInfo.Version}
		}
	}
	return surface.Observe(w)
}

func evidence(into map[string]digest.Digest, name string, s mcp.Snapshot) error {
	d, err := mcp.ComputeSnapshotDigest(s)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	into[name] = digest.Digest(d)
	return nil
}

func offersTools(d *mcp.Discovery) bool {
	capabilities, ok := strictjson.Value(d.Raw()).Get("capabilities")
	if !ok {
		return false
	}
	_, ok = capabilities.Get("tools")
	return ok
}
