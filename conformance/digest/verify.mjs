// Reproduces testdata/digest/vectors.json from the input texts alone, sharing no code with mcpcat.
//   node conformance/digest/verify.mjs [vectors.json]
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const MAX_BYTES = 16 << 20, MAX_DEPTH = 128, MAX_DIGITS = 400, MAX_EXPONENT = 10000n;
const ITEMS = new Set(["tool", "prompt", "resource", "resource_template"]);
const LISTS = new Set(["tools", "prompts", "resources", "resource_templates"]);

class Refused extends Error {
  constructor(reason) { super(reason); this.reason = reason; }
}
class Num {
  constructor(text) { this.text = text; }
}

// parse reads bytes into Map, Array, string, Num, boolean and null.
function parse(bytes) {
  if (bytes.length > MAX_BYTES) throw new Refused("size");
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) throw new Refused("bom");
  let s;
  try {
    s = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refused("utf8");
  }
  let i = 0;
  const space = () => { while (i < s.length && " \t\r\n".includes(s[i])) i++; };
  const fail = () => { throw new Refused("syntax"); };

  function string() {
    let out = "";
    for (i++; ; i++) {
      if (i >= s.length) fail();
      const c = s[i];
      if (c === '"') break;
      if (c < " ") throw new Refused("control");
      if (c !== "\\") { out += c; continue; }
      const plain = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }[s[++i]];
      if (plain !== undefined) { out += plain; continue; }
      if (s[i] !== "u" || !/^[0-9a-fA-F]{4}$/.test(s.slice(i + 1, i + 5))) fail();
      out += String.fromCharCode(parseInt(s.slice(i + 1, i + 5), 16));
      i += 4;
    }
    i++;
    if (!wellFormed(out)) throw new Refused("surrogate");
    return out;
  }

  function value(depth) {
    space();
    switch (s[i]) {
      case "{": {
        if (depth >= MAX_DEPTH) throw new Refused("depth");
        const members = new Map();
        i++; space();
        if (s[i] === "}") { i++; return members; }
        for (;;) {
          space();
          if (s[i] !== '"') fail();
          const name = string();
          if (members.has(name)) throw new Refused("duplicate");
          space();
          if (s[i] !== ":") fail();
          i++;
          members.set(name, value(depth + 1));
          space();
          if (s[i] === ",") { i++; continue; }
          if (s[i] !== "}") fail();
          i++;
          return members;
        }
      }
      case "[": {
        if (depth >= MAX_DEPTH) throw new Refused("depth");
        const elements = [];
        i++; space();
        if (s[i] === "]") { i++; return elements; }
        for (;;) {
          elements.push(value(depth + 1));
          space();
          if (s[i] === ",") { i++; continue; }
          if (s[i] !== "]") fail();
          i++;
          return elements;
        }
      }
      case '"': return string();
    }
    for (const [word, meaning] of [["true", true], ["false", false], ["null", null]]) {
      if (s.startsWith(word, i)) { i += word.length; return meaning; }
    }
    const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
    number.lastIndex = i;
    const m = number.exec(s);
    if (!m) fail();
    i += m[0].length;
    if (/[0-9.eE+-]/.test(s[i] ?? "")) fail();
    return new Num(m[0]);
  }

  const v = value(0);
  space();
  if (i !== s.length) throw new Refused("trailing");
  return v;
}

function wellFormed(text) {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c < 0xd800 || c > 0xdfff) continue;
    const d = text.charCodeAt(i + 1);
    if (c > 0xdbff || !(d >= 0xdc00 && d <= 0xdfff)) return false;
    i++;
  }
  return true;
}

// decimal returns { neg, digits, x }: digits d.ddd without leading and trailing zeros, times ten to the BigInt x.
function decimal(text) {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]\+?(-?[0-9]+))?$/.exec(text);
  const all = whole + fraction;
  const first = all.search(/[1-9]/);
  if (first < 0) return { neg: false, digits: "", x: 0n };
  return {
    neg: sign === "-",
    digits: all.slice(first).replace(/0+$/, ""),
    x: BigInt(exponent) + BigInt(whole.length - 1 - first),
  };
}

function number(text) {
  const d = decimal(text);
  if (d.digits === "") return "0";
  if (d.digits.length > MAX_DIGITS) throw new Refused("digits");
  if (d.x > MAX_EXPONENT || d.x < -MAX_EXPONENT) throw new Refused("exponent");
  const shortest = String(Number(text));
  if (/^-?[0-9.e+-]+$/.test(shortest)) { // not Infinity
    const e = decimal(shortest);
    if (e.neg === d.neg && e.digits === d.digits && e.x === d.x) return shortest;
  }
  const mantissa = d.digits[0] + (d.digits.length > 1 ? "." + d.digits.slice(1) : "");
  return (d.neg ? "-" : "") + mantissa + "e" + (d.x < 0n ? "" : "+") + d.x;
}

function canonical(v) {
  if (v instanceof Num) return number(v.text);
  if (v instanceof Map) {
    const names = [...v.keys()].sort((a, b) => (a < b ? -1 : 1)); // by UTF-16 code units
    return "{" + names.map((n) => JSON.stringify(n) + ":" + canonical(v.get(n))).join(",") + "}";
  }
  if (Array.isArray(v)) return "[" + v.map(canonical).join(",") + "]";
  return JSON.stringify(v);
}

function digest(kind, bytes) {
  const v = parse(bytes);
  let text = canonical(v); // before anything is left out: its numbers are checked too
  if (ITEMS.has(kind) && !(v instanceof Map)) throw new Refused("kind");
  if (kind === "resource") {
    v.delete("size");
    if (v.get("annotations") instanceof Map) v.get("annotations").delete("lastModified");
    text = canonical(v);
  }
  return { text, hash: "sha256:" + createHash("sha256").update(`mcpcat:${kind}:v1\n${text}`, "utf8").digest("hex") };
}

// snapshot returns the digest of the results of one snapshot: of a list all pages, without their cursors.
function snapshot(kind, pages) {
  const results = pages.map((text) => parse(Buffer.from(text, "utf8")));
  if (LISTS.has(kind)) for (const r of results) r.delete("nextCursor");
  const text = canonical(results.length === 1 ? results[0] : new Map([["pages", results]]));
  return { text, hash: "sha256:" + createHash("sha256").update(`mcpcat:${kind}:v1\n${text}`, "utf8").digest("hex") };
}

const file = process.argv[2] ?? new URL("../../testdata/digest/vectors.json", import.meta.url);
const { vectors } = JSON.parse(readFileSync(file, "utf8"));
const wrong = [];
for (const v of vectors) {
  let got;
  try {
    const bytes = () => ("text" in v ? Buffer.from(v.text, "utf8") : Buffer.from(v.base64, "base64"));
    const { text, hash } = v.pages ? snapshot(v.kind, v.pages) : digest(v.kind, bytes());
    got = { canonical: text, digest: hash, refused: undefined };
  } catch (e) {
    if (!(e instanceof Refused)) throw e;
    got = { canonical: null, digest: null, refused: e.reason };
  }
  for (const part of ["canonical", "digest", "refused"]) {
    if (got[part] !== v[part]) wrong.push(`${v.name}: ${part} is ${got[part]}, want ${v[part]}`);
  }
}
for (const line of wrong) console.error(line);
console.log(`${vectors.length} vectors, ${wrong.length} differences`);
process.exitCode = wrong.length === 0 && vectors.length >= 200 ? 0 : 1;
