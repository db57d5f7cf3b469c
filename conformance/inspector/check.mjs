// Compares what the Inspector CLI gets through mcpcat serve with what it gets from the upstream server itself.
// Run by run.sh, in a directory with an applied catalog and with the upstream server on PATH.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";

const mcpcat = process.argv[2];
const inspector = fileURLToPath(new URL("../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url));
const server = "everything-server";
const patience = 60_000;

const calls = [
  ["test_simple_text"],
  ["test_image_content"],
  ["test_audio_content"],
  ["test_embedded_resource"],
  ["test_multiple_content_types"],
  ["test_error_handling"],
  ["json_schema_2020_12_tool", "name=Marjatta", "contactMethod=email", "email=m@example.com"],
  ["test_x_mcp_header", "region=eu", "level=3"],
];

let passed = 0;
let failed = 0;
function verdict(name, ok, detail) {
  if (ok) {
    passed++;
    return;
  }
  failed++;
  console.log(`FAIL ${name}: ${detail}`);
}

// Runs the Inspector once. target is [command, ...args] or [url].
async function inspect(target, ...options) {
  const args = [inspector, "--cli", "--protocol-era", "modern", "--format", "json", "-q", ...options];
  if (target[0].startsWith("http://")) args.push("--transport", "http", "--server-url", target[0]);
  else args.push("--transport", "stdio", target[0], "--", ...target.slice(1));
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], timeout: patience });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (b) => (stdout += b));
  child.stderr.on("data", (b) => (stderr += b));
  const [exit] = await once(child, "close");
  let result;
  try {
    result = JSON.parse(stdout).result;
  } catch {
    // not a result: the caller looks at exit and stderr
  }
  return { exit, stdout, stderr, result };
}

// The metadata names the server that answered: upstream it is the server, through the gate it is mcpcat.
function withoutMeta(result) {
  if (result === undefined) return undefined;
  const { _meta, ...rest } = result;
  return rest;
}

function toolOptions([tool, ...args]) {
  const options = ["--method", "tools/call", "--tool-name", tool];
  for (const arg of args) options.push("--tool-arg", arg);
  return options;
}

async function compare(transport, target, wanted) {
  const list = await inspect(target, "--method", "tools/list");
  const names = calls.map(([tool]) => tool).sort();
  const mine = (list.result?.tools ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  verdict(`${transport} tools/list`, list.exit === 0 && isDeepStrictEqual(mine, wanted.tools.filter((t) => names.includes(t.name))), JSON.stringify(list));
  for (const call of calls) {
    const got = await inspect(target, ...toolOptions(call));
    const want = wanted.results.get(call[0]);
    verdict(
      `${transport} tools/call ${call[0]}`,
      got.exit === want.exit && got.result !== undefined && isDeepStrictEqual(withoutMeta(got.result), withoutMeta(want.result)),
      `got ${JSON.stringify(got)}, the server itself gives ${JSON.stringify(want)}`,
    );
  }
  const unknown = await inspect(target, ...toolOptions(["test_sampling", "prompt=x"]));
  verdict(`${transport} tool that the agent does not have`, unknown.exit !== 0 && unknown.result === undefined, JSON.stringify(unknown));
}

async function freePort() {
  const s = createServer().listen(0, "127.0.0.1");
  await once(s, "listening");
  const { port } = s.address();
  s.close();
  await once(s, "close");
  return port;
}

async function listening(port, child) {
  for (const end = Date.now() + patience; Date.now() < end; await new Promise((r) => setTimeout(r, 20))) {
    if (child.exitCode !== null) return false;
    const s = connect(port, "127.0.0.1");
    const up = await new Promise((r) => s.once("connect", () => r(true)).once("error", () => r(false)));
    s.destroy();
    if (up) return true;
  }
  return false;
}

const wanted = { tools: [], results: new Map() };
const list = await inspect([server], "--method", "tools/list");
wanted.tools = (list.result?.tools ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1));
for (const call of calls) wanted.results.set(call[0], await inspect([server], ...toolOptions(call)));
const sound = wanted.tools.length > calls.length && [...wanted.results.values()].every((r) => r.result?.content?.length > 0);
verdict("the server itself answers", sound, JSON.stringify([list, ...wanted.results]));

const port = await freePort();
const serve = spawn(mcpcat, ["serve", "-agent=suite", `-listen=127.0.0.1:${port}`], { stdio: ["ignore", "ignore", "pipe"] });
let log = "";
serve.stderr.on("data", (b) => (log += b));
try {
  await Promise.all([
    compare("stdio", [mcpcat, "serve", "-agent=suite", "-stdio"], wanted),
    listening(port, serve).then((up) => (up ? compare("http", [`http://127.0.0.1:${port}/mcp`], wanted) : verdict("http", false, "mcpcat serve does not listen"))),
  ]);
} finally {
  if (serve.exitCode === null) {
    serve.kill("SIGINT");
    await once(serve, "exit");
  }
}
verdict("serve ends with 0 after SIGINT", serve.exitCode === 0, `exit status ${serve.exitCode}`);
if (failed > 0) console.log(`standard error of mcpcat serve -listen:\n${log}`);

console.log(`inspector: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
