package boltfile

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// children are what the test binary does when it is started again by a test, by the value of MCPCAT_TEST_CHILD.
var children = map[string]func(){}

func TestMain(m *testing.M) {
	if name := os.Getenv("MCPCAT_TEST_CHILD"); name != "" {
		children[name]()
		return
	}
	goleak.VerifyTestMain(m)
}
