//go:build race

package catalog

// slowdown is how much longer the race detector makes a load.
const slowdown = 6
