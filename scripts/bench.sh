#!/usr/bin/env bash
# `make bench`: builds what is deployed, and measures it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"
"$ROOT/scripts/build.sh" release
use_tools
ulimit -n "$(ulimit -Hn)" 2>/dev/null || true
exec "$NODE" scripts/bench.mjs
