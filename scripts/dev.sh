#!/usr/bin/env bash
# `make dev`: sets up, builds the lab bundle and hands over to dev.mjs, which stays in the foreground.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"
"$ROOT/scripts/build.sh" lab
use_tools
ulimit -n "$(ulimit -Hn)" 2>/dev/null || say "could not raise the limit of open files from $(ulimit -n)"
exec "$NODE" scripts/dev.mjs
