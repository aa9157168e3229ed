#!/usr/bin/env bash
# `make hostile REQUESTS=100000 SEED=7`: random requests against the lab build on workerd; every answer has to be one that
# the contract declares. Without SEED a fresh one is taken, and printed. ONLY=4711 sends the one request of that number.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

REQUESTS="${REQUESTS:-100000}" SEED="${SEED:-}" ONLY="${ONLY:-}"
[[ "$REQUESTS" =~ ^[0-9]+$ ]] || die "REQUESTS is a whole number, not '$REQUESTS'" "Use: make hostile REQUESTS=100000"
[[ "$SEED$ONLY" =~ ^[0-9]*$ ]] || die "SEED and ONLY are whole numbers" "Use: make hostile SEED=7 ONLY=4711"

"$ROOT/scripts/setup.sh"
"$ROOT/scripts/build.sh" lab
# A server with hundreds of objects has many files open.
ulimit -n "$(ulimit -Hn)" 2>/dev/null || say "could not raise the limit of open files from $(ulimit -n)"
export ONCEWARD_BUILD="$ROOT/build-lab" ONCEWARD_HOSTILE_REQUESTS="$REQUESTS"
if [ -n "$SEED" ]; then export ONCEWARD_SEED="$SEED"; fi
if [ -n "$ONLY" ]; then export ONCEWARD_HOSTILE_ONLY="$ONLY"; fi
exec cargo test --locked --features lab,e2e --test hostile -- --include-ignored --nocapture
