//go:build !race

package catalog

const slowdown = 1
