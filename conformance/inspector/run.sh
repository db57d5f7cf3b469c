#!/usr/bin/env bash
# Runs the official MCP Inspector CLI against mcpcat serve, over stdio and over HTTP.
#   conformance/inspector/run.sh MCPCAT      MCPCAT is the built program
# The last line is "inspector: N passed, M failed"; exit 0 only if M is 0. Needs Go for the upstream server, and npm.
set -euo pipefail
mcpcat=$(realpath "${1:?the mcpcat program}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
node=$("$here/../install.sh")

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
