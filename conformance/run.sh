#!/usr/bin/env bash
# Runs the official MCP conformance suite for revision 2026-07-28.
#   conformance/run.sh client CMD...   CMD is a client program; the suite appends the server's URL
#   conformance/run.sh serve MCPCAT    pins conformance/catalog with MCPCAT and tests its serve in front of the Go SDK's everything-server
#   conformance/run.sh server URL      tests a server that is already listening on this machine
# The last line is "conformance-client: N passed, M failed" (or conformance-server); exit 0 only if M is 0: every required
# scenario is free of failures and warnings beyond expected-failures.yml and passes at least the checks of floors.json.
# CMD is split at blanks and given to a shell. The traces of the last run stay in conformance/results.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
leg=${1:?client, serve or server}; shift
node=$("$here/install.sh")
suite=$here/node_modules/@modelcontextprotocol/conformance/dist/index.js
kind=$leg; [ "$leg" = serve ] && kind=server
out=$here/results/$kind
rm -rf "$out"; mkdir -p "$out"
export NO_COLOR=1 NO_PROXY=localhost,127.0.0.1 no_proxy=localhost,127.0.0.1

# Runs the suite; its verdict is an exit status, kept in rc for score.mjs.
rc=0
suite() {
  "$node" "$suite" "$kind" "$@" --timeout 20000 -o "$out" --requirements 2026-07-28 \
    --expected-failures "$here/expected-failures.yml" >"$out/log.txt" 2>&1 || rc=$?
}

case $leg in
client)
  suite --command "${*:?the client program}" ;;
server)
  suite --url "${1:?the URL of a server}" ;;
serve)
  mcpcat=$(realpath "${1:?the mcpcat program}")
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir "$work/bin" "$work/catalog" "$work/home"
  go -C "$here/../testdata/peers" build -o "$work/bin/" github.com/modelcontextprotocol/go-sdk/conformance/everything-server
  cp "$here/catalog/catalog.hcl" "$work/catalog/"
  export PATH="$work/bin:$PATH" HOME="$work/home"
  cd "$work/catalog"
  "$mcpcat" plan -contact=all -out=suite.mcpplan >"$out/plan.txt" 2>&1 || { cat "$out/plan.txt"; exit 1; }
  "$mcpcat" apply suite.mcpplan >"$out/apply.txt" 2>&1 || { cat "$out/apply.txt"; exit 1; }
  port=$("$node" -e 'const s=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')
  "$mcpcat" serve -agent=suite "-listen=127.0.0.1:$port" >"$out/serve.txt" 2>&1 & pid=$!
  trap 'kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT
  for _ in $(seq 200); do
    kill -0 "$pid" 2>/dev/null || { cat "$out/serve.txt"; echo "mcpcat serve ended before it listened" >&2; exit 1; }
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
    sleep 0.1
  done
  suite --url "http://127.0.0.1:$port/mcp" ;;
*)
  echo "unknown leg $leg" >&2; exit 2 ;;
esac
"$node" "$here/score.mjs" "$kind" "$out" "$rc"
