#!/usr/bin/env bash
# `make bench`: builds what is deployed, and measures it. `make bench-steps`: the same with the lab build, for long tasks.
# `make bench-flows`: tasks of flows beside steps in Rust.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"
case "${1:-}" in
steps) build=lab script=scripts/bench-steps.mjs ;;
flows) build=lab script=scripts/bench-flows.mjs ;;
*) build=release script=scripts/bench.mjs ;;
esac
"$ROOT/scripts/build.sh" "$build"
use_tools
ulimit -n "$(ulimit -Hn)" 2>/dev/null || true
exec "$NODE" "$script"
