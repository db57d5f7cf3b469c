//go:build !linux

package schema

func peakMemory() int64 { return 0 }

func limitMemory(int64) error { return nil }
