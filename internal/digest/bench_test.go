package digest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpcat-dev/mcpcat/internal/strictjson"
)

// toolsResult is a tools/list result of n tools as servers send it: compact, members in the order of the SDKs' structs.
func toolsResult(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"resultType":"complete","tools":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"berth_reserve_%d","title":"Reserve a berth","description":"Reserves berth number %d `+
			`for a vessel between two tides. The harbour master confirms \"within the hour\"; until then the berth is held.`+
			`\nFees follow the tariff of the day.","inputSchema":{"type":"object","properties":{"vessel":{"type":"string",`+
			`"description":"Name or IMO number of the vessel","minLength":1,"maxLength":128},"length_m":{"type":"number",`+
			`"minimum":0.5,"maximum":399.9,"description":"Length over all in metres"},"from":{"type":"string","format":`+
			`"date-time"},"to":{"type":"string","format":"date-time"},"services":{"type":"array","items":{"type":"string",`+
			`"enum":["water","power","pilot","waste"]},"maxItems":%d,"uniqueItems":true}},"required":["vessel","from","to"],`+
			`"additionalProperties":false},"annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":`+
			`false,"openWorldHint":true}}`, i, i, 4+i%3)
	}
	b.WriteString(`],"ttlMs":60000,"cacheScope":"public"}`)
	return b.Bytes()
}

func toolsOfSize(bytes int) []byte {
	n := 1
	for len(toolsResult(n)) < bytes {
		n += n/8 + 1
	}
	return toolsResult(n)
}

// hostile returns documents of about size bytes, each bad for one part of a canonicalizer.
func hostile(size int) map[string][]byte {
	docs := map[string][]byte{}
	fill := func(open, shut string, item func(i int) string) []byte {
		var b bytes.Buffer
		b.WriteString(open)
		for i := 0; b.Len() < size; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(item(i))
		}
		b.WriteString(shut)
		return b.Bytes()
	}
	list := func(item func(i int) string) []byte { return fill("[", "]", item) }
	object := func(item func(i int) string) []byte { return fill("{", "}", item) }
	scatter := func(i int) uint32 { return uint32(i) * 2654435761 }

	docs["many short names"] = object(func(i int) string {
		return `"` + strconv.FormatUint(uint64(scatter(i)), 36) + `":0`
	})
	docs["falling names"] = object(func(i int) string { return fmt.Sprintf(`"%06d":0`, 999999-i) })
	docs["names with one long prefix"] = object(func(i int) string {
		return fmt.Sprintf(`"%s%08x":0`, strings.Repeat("a", 40), scatter(i))
	})
	docs["escaped names"] = object(func(i int) string { return fmt.Sprintf(`"\u0061%x":0`, scatter(i)) })
	docs["names with long common prefixes of 1 KiB"] = object(func(i int) string {
		return fmt.Sprintf(`"%s%08x":0`, strings.Repeat("a", 1024), scatter(i))
	})
	docs["names in groups"] = object(func(i int) string {
		return fmt.Sprintf(`"%08x%08x%08x":0`, scatter(i/900), scatter(i/30), scatter(i))
	})
	docs["names in large groups"] = object(func(i int) string { return fmt.Sprintf(`"%08x%08x":0`, scatter(i/260), scatter(i)) })
	docs["small objects"] = list(func(int) string { return `{"b":0,"a":0}` })
	docs["objects of twelve"] = list(func(int) string {
		return `{"l":0,"k":0,"j":0,"i":0,"h":0,"g":0,"f":0,"e":0,"d":0,"c":0,"b":0,"a":0}`
	})
	docs["deep objects"] = list(func(int) string {
		return strings.Repeat(`{"b":0,"a":`, 100) + "0" + strings.Repeat("}", 100)
	})
	docs["deep arrays"] = list(func(int) string { return strings.Repeat("[", 100) + strings.Repeat("]", 100) })
	docs["white space"] = list(func(int) string { return " 1 " })
	docs["escapes apart"] = list(func(int) string { return `"\/a\/a\/a\/a"` })
	docs["zero bytes in names"] = object(func(i int) string {
		return fmt.Sprintf(`"%x%s":0`, scatter(i/8), strings.Repeat(`\u0000`, i%8))
	})
	docs["escapes"] = list(func(int) string { return `"` + strings.Repeat(`\u00e9`, 64) + `"` })
	docs["escaped controls"] = list(func(int) string { return `"` + strings.Repeat(`\u0001`, 64) + `"` })
	docs["surrogate pairs"] = list(func(int) string { return `"` + strings.Repeat(`\ud83d\ude00`, 64) + `"` })
	docs["two-byte text"] = list(func(int) string { return `"` + strings.Repeat("é", 64) + `"` })
	docs["mixed text"] = list(func(int) string { return `"` + strings.Repeat("aé", 64) + `"` })
	docs["three-byte text"] = list(func(int) string { return `"` + strings.Repeat("潮汐", 64) + `"` })
	docs["seventeen digits"] = list(func(i int) string { return fmt.Sprintf("0.%017d", 10000000000000001+uint64(scatter(i))*9973) })
	docs["sixteen digits"] = list(func(i int) string { return fmt.Sprintf("9%015d", uint64(scatter(i))*9973+1) })
	docs["fractions"] = list(func(int) string { return "1.5" })
	docs["growing numbers"] = list(func(int) string { return "1e20" })
	docs["long numbers"] = list(func(int) string { return "0." + strings.Repeat("7", 399) })
	docs["one endless zero"] = []byte("0." + strings.Repeat("0", size) + "e" + "9")
	docs["short strings"] = list(func(int) string { return `""` })
	docs["empty objects"] = list(func(int) string { return `{}` })
	return docs
}

func discard[T any](_ T, err error) error { return err }

// fastest is the shortest time of one run. Ratios are taken of these and not of averages, so that they say the same on a
// busy machine.
type fastest time.Duration

func (f *fastest) run(b *testing.B, run func() error) {
	start := time.Now()
	if err := run(); err != nil {
		b.Fatal(err)
	}
	if d := fastest(time.Since(start)); *f == 0 || d < *f {
		*f = d
	}
}

// benchmark runs SHA-256 alone over src, which is the floor, and then run, whose time it reports in units of the floor.
func benchmark(b *testing.B, src []byte, run func() error) {
	var floor, top fastest
	b.Run("sha256", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			floor.run(b, func() error { sha256.Sum256(src); return nil })
		}
	})
	b.Run("digest", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			top.run(b, run)
		}
		if floor > 0 {
			b.ReportMetric(float64(top)/float64(floor), "x-sha256")
		}
	})
}

// BenchmarkD1 is the digest of a list of 100 tools from wire bytes. Its allocations are D3.
func BenchmarkD1(b *testing.B) {
	src := toolsResult(100)
	benchmark(b, src, func() error { return discard(OfJSON(KindTools, src, strictjson.Limits{})) })
}

// BenchmarkD2 is the digest of 4 MiB.
func BenchmarkD2(b *testing.B) {
	src := toolsOfSize(4 << 20)
	benchmark(b, src, func() error { return discard(OfJSON(KindTools, src, strictjson.Limits{})) })
}

// BenchmarkD4 is the digest of hostile documents of 1 MiB against that of an ordinary one.
func BenchmarkD4(b *testing.B) {
	run := func(src []byte) error { return discard(OfJSON(KindTools, src, strictjson.Limits{})) }
	normal := toolsOfSize(1 << 20)
	var base fastest
	b.Run("normal", func(b *testing.B) {
		b.SetBytes(int64(len(normal)))
		for b.Loop() {
			base.run(b, func() error { return run(normal) })
		}
	})
	docs := hostile(1 << 20)
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		src := docs[name]
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			var top fastest
			for b.Loop() {
				top.run(b, func() error { return run(src) })
			}
			if base > 0 { // by size: no document is exactly as long as another
				b.ReportMetric(float64(top)/float64(len(src))/(float64(base)/float64(len(normal))), "x-normal")
			}
		})
	}
}

// BenchmarkD5 is the digest of a page that is identical to the last one seen.
func BenchmarkD5(b *testing.B) {
	src := toolsResult(100)
	var m Memo
	benchmark(b, src, func() error { return discard(m.OfJSON(KindTools, src, strictjson.Limits{})) })
}
