//go:build !unix

package catalog

const nonblock = 0
