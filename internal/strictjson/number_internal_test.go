package strictjson

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestNearest compares with strconv, which is right but slow where it matters.
func TestNearest(t *testing.T) {
	check := func(m uint64, k int) {
		t.Helper()
		want, err := strconv.ParseFloat(fmt.Sprintf("%de%d", m, k), 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := nearest(m, k); got != want {
			t.Errorf("nearest(%d, %d) = %b, want %b", m, k, got, want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for k := -22; k <= 5; k++ {
		for range 2_000 {
			check(1+rng.Uint64N(1<<57-1), k)
		}
		for _, m := range []uint64{1, 2, 3, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<53 + 2, 1<<53 + 3, 1<<57 - 1, 1e16, 99999999999999999, 5, 10} {
			check(m, k)
		}
		// Half way between two doubles: an odd number of 54 bits, times a power of two that cancels the tens.
		for range 2_000 {
			if m := (1<<53 | rng.Uint64N(1<<53) | 1) * 5; k < 0 && m < 1<<57 {
				check(m, k)
			}
			check((1<<53|rng.Uint64N(1<<53)|1)<<uint(rng.IntN(3)), k)
		}
	}
	for i := range 50 { // 2^52 + n + 1/2 and its like
		check((1<<52+uint64(i))*10+5, -1)
		check((1<<51+uint64(i))*100+25, -2)
		check((1<<51+uint64(i))*100+75, -2)
	}
}
