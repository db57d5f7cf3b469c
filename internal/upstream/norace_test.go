//go:build !race

package upstream

import "time"

// faultTime is within which every fault has to end.
const faultTime = 5 * time.Second
