package strictjson_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// writer writes one random document twice: as its canonical form, and spelled at random.
type writer struct {
	rng    *rand.Rand
	spaces int // one in so many places has white space; 0 for none
}

func (w *writer) space() string {
	if w.spaces == 0 || w.rng.IntN(w.spaces) > 0 {
		return ""
	}
	return strings.Repeat(string(" \n\t\r"[w.rng.IntN(4)]), 1+w.rng.IntN(20))
}

func (w *writer) text() string {
	var b strings.Builder
	for range w.rng.IntN(12) {
		b.WriteRune([]rune("abcdefgh/\"\\\n\x01é€😀\uee00")[w.rng.IntN(17)])
	}
	return b.String()
}

var numbers = [][]string{ // the canonical spelling first
	{"0", "-0", "0.0", "0e7"},
	{"1", "1.0", "10e-1", "1e0"},
	{"-1.5", "-15e-1", "-1.50"},
	{"100", "1e2", "100.00"},
	{"9.007199254740993e+15", "9007199254740993"},
	{"1e+21", "1E21", "1000000000000000000000"},
	{"1e-7", "0.0000001"},
	{"0.1", "1e-1", "0.10"},
	{"123456", "123456"},
}

func (w *writer) value(depth int) (form, spelled string) {
	kind := w.rng.IntN(9)
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		n := numbers[w.rng.IntN(len(numbers))]
		return n[0], n[w.rng.IntN(len(n))]
	case 1, 2:
		s := w.text()
		return string(strictjson.AppendString(nil, s)), spell(w.rng, s)
	case 3:
		s := []string{"null", "true", "false"}[w.rng.IntN(3)]
		return s, s
	case 4, 5:
		form, spelled = "[", "["+w.space()
		for i := range w.rng.IntN(6) {
			f, s := w.value(depth - 1)
			if i > 0 {
				form, spelled = form+",", spelled+","+w.space()
			}
			form, spelled = form+f, spelled+s+w.space()
		}
		return form + "]", spelled + "]"
	}
	type pair struct{ name, form, spelled string }
	var pairs []pair
	for range w.rng.IntN(6) {
		name := w.text()
		if w.rng.IntN(3) > 0 {
			name = strconv.Itoa(w.rng.IntN(50))
		}
		if !slices.ContainsFunc(pairs, func(p pair) bool { return p.name == name }) {
			f, s := w.value(depth - 1)
			pairs = append(pairs, pair{name, f, s})
		}
	}
	inOrder := w.rng.IntN(2) == 0
	write := func() {
		spelled = "{" + w.space()
		for i, p := range pairs {
			if i > 0 {
				spelled += "," + w.space()
			}
			spelled += spell(w.rng, p.name) + w.space() + ":" + w.space() + p.spelled + w.space()
		}
		spelled += "}"
	}
	if !inOrder {
		write()
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return slices.Compare(utf16.Encode([]rune(a.name)), utf16.Encode([]rune(b.name)))
	})
	if inOrder {
		write()
	}
	form = "{"
	for i, p := range pairs {
		if i > 0 {
			form += ","
		}
		form += string(strictjson.AppendString(nil, p.name)) + ":" + p.form
	}
	return form + "}", spelled
}

// TestRandomDocuments compares the canonical form with that of a writer which knows the value.
func TestRandomDocuments(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds = 2_000
	}
	for seed := range rounds {
		w := &writer{rng: rand.New(rand.NewPCG(uint64(seed), 7)), spaces: seed % 5}
		form, spelled := w.value(5)
		spelled = w.space() + spelled + w.space()
		got, err := strictjson.AppendCanonical(nil, []byte(spelled), strictjson.Limits{})
		if err != nil || string(got) != form {
			t.Fatalf("seed %d: AppendCanonical(%q)\n got %q, %v\nwant %q", seed, spelled, got, err, form)
		}
	}
}
