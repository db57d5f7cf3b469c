package strictjson

import "testing"

func TestSpans(t *testing.T) {
	const src = `{ "a" : [1 , {"b":2}] ,"\u0062":"x}" , "":null}`
	want := []struct{ name, member, value string }{{"a", `"a" : [1 , {"b":2}]`, `[1 , {"b":2}]`}, {"b", `"\u0062":"x}"`, `"x}"`}, {"", `"":null`, `null`}}
	i := 0
	for name, at := range Value(src).Spans() {
		if i == len(want) {
			t.Fatal("too many members")
		}
		if w := want[i]; name != w.name || src[at.Start:at.End] != w.member || src[at.Value:at.End] != w.value {
			t.Errorf("member %d = %q %q %q, want %+v", i, name, src[at.Start:at.End], src[at.Value:at.End], w)
		}
		i++
	}
	if i != len(want) {
		t.Errorf("%d members, want %d", i, len(want))
	}
	for _, other := range []string{``, `[]`, `"{}"`, `{`, `{"a`, `{"a"`, `{"a":`, `{}`} {
		for name := range Value(other).Spans() {
			t.Errorf("Spans(%s) yields %q", other, name)
		}
	}
}
