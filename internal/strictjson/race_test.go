//go:build race

package strictjson_test

// raceEnabled says that sync.Pool forgets at random, so that counting allocations means nothing.
const raceEnabled = true
