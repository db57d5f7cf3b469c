package plan

import (
	"fmt"
	"slices"

	"github.com/mcpcat-dev/mcpcat/internal/catalog"
	"github.com/mcpcat-dev/mcpcat/internal/secret"
	"github.com/mcpcat-dev/mcpcat/internal/surface"
)

// leak says which secret of the catalog a server's answers hold, by reference; empty if none. Such an answer is not
// pinned, since lock and plan are read by people who may not know the secret. The forms are those of secret.Redactor.
func leak(cat *catalog.Catalog, s *surface.Server) string {
	values := cat.Secrets()
	all := secret.NewRedactor(values...)
	for _, part := range []struct {
		what  string
		texts [][]byte
	}{{"A tool of its list holds", listed(s)}, {"Its answers hold", said(s)}} {
		i := slices.IndexFunc(part.texts, all.Holds)
		if i < 0 {
			continue
		}
		for _, v := range values {
			if secret.NewRedactor(v).Holds(part.texts[i]) {
				return fmt.Sprintf("%s the value of %s.", part.what, v.Ref())
			}
		}
	}
	return ""
}

// listed is everything of a list that goes into lock, plan or mirror.
func listed(s *surface.Server) [][]byte {
	var texts [][]byte
	for _, it := range s.Tools {
		texts = append(texts, it.Definition, []byte(it.Addr.Name))
	}
	for _, name := range s.ToolOrder {
		texts = append(texts, []byte(name))
	}
	for _, x := range s.Excluded {
		texts = append(texts, []byte(x.Name), []byte(x.Reason))
	}
	return texts
}

// said is everything else that a server says about itself.
func said(s *surface.Server) [][]byte {
	texts := [][]byte{s.Discovery, s.Capabilities, []byte(s.Protocol), []byte(s.ToolsCacheScope)}
	if s.Identity != nil {
		texts = append(texts, []byte(s.Identity.Name), []byte(s.Identity.Version))
	}
	if s.Instructions != nil {
		texts = append(texts, []byte(*s.Instructions))
	}
	return texts
}

// redactFailure takes secrets out of what is said about a server that was not checked. Whoever observed it has done so
// before cutting; this is for texts that came in another way.
func redactFailure(cat *catalog.Catalog, f *Failure) *Failure {
	if f == nil {
		return nil
	}
	r := secret.NewRedactor(secret.AtLeast(secret.MinWithheld, cat.Secrets()...)...)
	clean := *f
	clean.Message = r.RedactString(f.Message)
	clean.Offered = slices.Clone(f.Offered)
	for i, v := range clean.Offered {
		clean.Offered[i] = r.RedactString(v)
	}
	return &clean
}
