//go:build race

package cli_test

// raceDetector says that the tests were built with -race.
const raceDetector = true
