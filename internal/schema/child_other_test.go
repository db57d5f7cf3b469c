//go:build !linux

package schema

import "time"

func cpuTime() time.Duration { return 0 }

func peakMemory() int64 { return 0 }

func limitMemory(int64) error { return nil }
