package schema

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// status reads a line of /proc/self/status in bytes, 0 if it is not there.
func status(name string) int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut("\n"+string(b), "\n"+name+":")
	line, _, _ := strings.Cut(rest, "\n")
	kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(line), " kB"), 10, 64)
	return kib << 10
}

func cpuTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func peakMemory() int64 { return status("VmHWM") }

// limitMemory lets the process reserve n bytes beyond what it has: what runs away ends, and does not take the machine
// along. The runtime reserves in blocks of 64 MiB, so what the process holds is looked at apart.
func limitMemory(n int64) error {
	if raceDetector {
		return nil
	}
	size := uint64(status("VmSize") + 2*n)
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: size, Max: size})
}
