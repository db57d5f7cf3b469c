//go:build race

package mcp

// raceEnabled says that the race detector allocates too, so that counting allocations means nothing.
const raceEnabled = true
