package catalog

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocumentedClasses holds the table of docs/language.md against the classes.
func TestDocumentedClasses(t *testing.T) {
	text, err := os.ReadFile("../../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, c := range Classes() {
		least := ""
		if c.Least != Auto {
			least = ", never `auto`"
		}
		fmt.Fprintf(&want, "| `%s` | %s%s | %s |\n", c.Name, c.Default, least, c.Summary)
	}
	if !strings.Contains(string(text), want.String()) {
		t.Errorf("docs/language.md does not hold\n%s", want.String())
	}
}
