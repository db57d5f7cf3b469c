//go:build race

package upstream

import "time"

// faultTime is within which every fault has to end: peers that run under the race detector as well are as slow as it is.
const faultTime = 20 * time.Second
