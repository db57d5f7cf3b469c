package catalog

import (
	"testing"
)

// TestFunctions calls every function of the language once; each does what it does in the libraries that it is from.
func TestFunctions(t *testing.T) {
	calls := map[string]string{
		`upper("ab")`: `"AB"`, `lower("AB")`: `"ab"`, `trim("xabx", "x")`: `"ab"`, `trimprefix("xab", "x")`: `"ab"`, `trimsuffix("abx", "x")`: `"ab"`,
		`trimspace(" a ")`: `"a"`, `replace("a-b", "-", "+")`: `"a+b"`, `regex("[0-9]+", "ab12")`: `"12"`, `regex("(?P<n>[0-9]+)", "ab12")`: `{"n":"12"}`,
		`regexall("[a-z]", "a1b")`: `["a","b"]`, `split(",", "a,b")`: `["a","b"]`, `join("-", ["a", "b"])`: `"a-b"`, `format("%s=%03d", "a", 7)`: `"a=007"`,
		`formatlist("%s!", ["a", "b"])`: `["a!","b!"]`, `substr("abc", 1, 1)`: `"b"`, `strlen("añb")`: `3`, `concat(["a"], ["b"])`: `["a","b"]`,
		`flatten([["a"], [["b"]]])`: `["a","b"]`, `distinct(["a", "a", "b"])`: `["a","b"]`, `contains(["a"], "a")`: `true`, `keys({ b = 1, a = 2 })`: `["a","b"]`,
		`values({ b = 1, a = 2 })`: `[2,1]`, `lookup({ a = "x" }, "b", "y")`: `"y"`, `merge({ a = 1 }, { b = 2 })`: `{"a":1,"b":2}`, `element(["a", "b"], 3)`: `"b"`,
		`slice(["a", "b", "c"], 1, 3)`: `["b","c"]`, `sort(["b", "a"])`: `["a","b"]`, `reverse(["a", "b"])`: `["b","a"]`, `setunion(["a"], ["b"])`: `["a","b"]`,
		`setintersection(["a", "b"], ["b"])`: `["b"]`, `setsubtract(["a", "b"], ["b"])`: `["a"]`, `zipmap(["a"], [1])`: `{"a":1}`, `range(1, 7, 3)`: `[1,4]`,
		`length(["a"])`: `1`, `min(2, 1)`: `1`, `max(2, 1)`: `2`, `abs(-3)`: `3`, `ceil(1.2)`: `2`, `floor(1.8)`: `1`, `jsondecode("{\"a\":[1]}")`: `{"a":[1]}`,
		`jsonencode({ a = [1] })`: `"{\"a\":[1]}"`, `coalesce(null, "a")`: `"a"`, `try(tonumber("x"), 5)`: `5`, `can(tonumber("x"))`: `false`,
		`tostring(5)`: `"5"`, `tonumber("5.5")`: `5.5`, `tobool("true")`: `true`, `toset(["b", "a", "b"])`: `["a","b"]`, `tolist(toset(["b", "a"]))`: `["a","b"]`,
		`tomap({ a = "x" })`: `{"a":"x"}`, `alltrue([true, false])`: `false`, `alltrue([])`: `true`, `anytrue([true, false])`: `true`, `anytrue([])`: `false`,
		`startswith("abc", "ab")`: `true`, `endswith("abc", "ab")`: `false`, `urlencode("a b&c/é")`: `"a%20b%26c%2F%C3%A9"`,
		`sha256("abc")`: `"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`, `file("note.txt")`: `"note\n"`,
		// Secrets cannot stand here; their functions have tests of their own.
		`can(env)`: "", `can(secret_file)`: "", `can(sensitive)`: "",
	}
	called := map[string]bool{}
	l := newLoader(Options{})
	for expr, want := range calls {
		for name := range l.funcs {
			if len(expr) > len(name) && expr[:len(name)+1] == name+"(" || expr == "can("+name+")" {
				called[name] = true
			}
		}
		if want == "" {
			continue
		}
		text := "locals {\n  v = " + expr + "\n  same = jsonencode(local.v) == jsonencode(jsondecode(" + quoteText(want) + "))\n}\n" +
			"server \"a\" {\n  description = local.same ? \"same\" : jsonencode(local.v)\n  stdio {\n    command = \"x\"\n  }\n}\n"
		c, list := Load(Options{Dir: writeFiles(t, with(one(text), "note.txt", "note\n"))})
		if c == nil {
			t.Errorf("%s: %v", expr, list)
		} else if got := c.Servers[0].Description; got != "same" {
			t.Errorf("%s is %s, want %s", expr, got, want)
		}
	}
	for name := range l.funcs {
		if !called[name] {
			t.Errorf("%s is not called", name)
		}
	}
}
