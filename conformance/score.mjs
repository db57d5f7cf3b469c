// score.mjs client|server RESULTS EXIT [--write-floors]
// The verdict over one run of the suite: RESULTS is its output directory, EXIT its exit status. Prints one line for each
// scenario and at last "conformance-LEG: N passed, M failed"; exits 0 only if M is 0.
//
// The suite's own exit status is not enough: a scenario whose checks are all skipped counts as passed there, so that a client
// that does nothing "passes" http-standard-headers. Here a scenario must also reach its floor of passed checks, and a client
// must have nothing to complain of on standard error. A scenario that is not scored but has a floor must reach it too.
// --write-floors sets the floors to what this run reached; it never lowers one.
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseDocument } from "yaml";

const here = dirname(fileURLToPath(import.meta.url));
const [leg, results, exit, flag] = process.argv.slice(2);
const read = (name) => readFileSync(join(here, name), "utf8");
const required = parseDocument(read("node_modules/@modelcontextprotocol/conformance/requirements/2026-07-28.yaml")).toJS();
const floors = JSON.parse(read("floors.json"));
floors[leg] ??= {};

// Whoever excuses a scenario says why, in a comment on the same line.
const excused = new Map();
let unexplained = 0;
for (const entry of parseDocument(read("expected-failures.yml")).get(leg)?.items ?? []) {
  const reason = entry.comment?.trim();
  excused.set(String(entry.value).split(":")[0], reason ?? "");
  if (!reason) {
    console.log(`expected-failures.yml gives no reason for ${entry.value}`);
    unexplained++;
  }
}

const reached = new Map();
for (const file of globSync("**/checks.json", { cwd: results })) {
  const name = dirname(file)
    .replaceAll("\\", "/")
    .replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "")
    .replace(leg === "server" ? /^server-/ : /^(?!)/, "");
  const n = { SUCCESS: 0, FAILURE: 0, WARNING: 0, SKIPPED: 0, INFO: 0 };
  const bad = [];
  for (const check of JSON.parse(readFileSync(join(results, file), "utf8"))) {
    n[check.status]++;
    if (check.status === "FAILURE" || check.status === "WARNING") {
      bad.push(`${check.status} ${check.id}: ${(check.errorMessage ?? check.description ?? "").split("\n")[0].slice(0, 200)}`);
    }
  }
  const said = join(results, dirname(file), "stderr.txt");
  if (leg === "client" && existsSync(said)) {
    for (const line of readFileSync(said, "utf8").trim().split("\n").filter(Boolean).slice(0, 5)) bad.push(`stderr: ${line.slice(0, 300)}`);
  }
  reached.set(name, { n, bad });
}

let passed = 0;
let failed = unexplained;
let expected = 0;
function judge(name, scored, why) {
  const got = reached.get(name);
  const floor = floors[leg][name] ?? (scored ? 1 : 0);
  const good = got !== undefined && got.bad.length === 0 && got.n.SUCCESS >= floor;
  const counts = got ? `${got.n.SUCCESS} passed, ${got.n.FAILURE} failed, ${got.n.WARNING} warnings, ${got.n.SKIPPED} skipped` : "no result";
  let verdict = "ok  ";
  if (good) {
    if (scored) passed++;
    else if (got.n.SUCCESS === 0) verdict = "note";
  } else if (excused.has(name)) {
    verdict = "xfail";
    why = excused.get(name);
    expected++;
  } else if (scored || floor > 0) {
    verdict = "FAIL";
    failed++;
  } else {
    verdict = "note";
  }
  const low = verdict === "FAIL" && got?.n.SUCCESS < floor ? `, below its floor of ${floor}` : "";
  console.log(`${verdict} ${name}: ${counts}${low}${why ? ` (${why})` : ""}`);
  if (verdict === "FAIL") for (const line of got?.bad ?? []) console.log(`       ${line}`);
}

if (flag === "--write-floors") {
  for (const [name, { n, bad }] of [...reached].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (bad.length === 0 && n.SUCCESS > 0 && !excused.has(name)) floors[leg][name] = Math.max(n.SUCCESS, floors[leg][name] ?? 0);
  }
  writeFileSync(join(here, "floors.json"), JSON.stringify(floors, null, 2) + "\n");
}
for (const name of required[leg]) judge(name, true);
for (const { scenario, reason } of required.not_scored.filter((e) => e.leg === leg)) judge(scenario, false, `not scored: ${reason}`);

if (exit !== "0" && failed === 0) {
  console.log(`the suite itself ended with ${exit}: see ${join(results, "log.txt")}`);
  failed++;
}
if (expected > 0) console.log(`${expected} expected failures`);
console.log(`conformance-${leg}: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
