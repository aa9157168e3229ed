#!/usr/bin/env bash
# `make chaos MINUTES=3 SEED=7`: thousands of deliveries against the lab build while it is killed and its parts fail;
# then everything has to end, and the history checker judges. Without SEED a fresh one is taken, and printed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

MINUTES="${MINUTES:-3}"
[[ "$MINUTES" =~ ^[0-9]+(\.[0-9]+)?$ ]] || die "MINUTES is a number, not '$MINUTES'" "Use: make chaos MINUTES=3"
SEED="${SEED:-}"
[[ "$SEED" =~ ^[0-9]*$ ]] || die "SEED is a whole number, not '$SEED'" "Use: make chaos SEED=7"

"$ROOT/scripts/setup.sh"
"$ROOT/scripts/build.sh" lab
# A server with hundreds of objects has many files open.
ulimit -n "$(ulimit -Hn)" 2>/dev/null || say "could not raise the limit of open files from $(ulimit -n)"
export ONCEWARD_BUILD="$ROOT/build-lab" ONCEWARD_CHAOS_MINUTES="$MINUTES"
if [ -n "$SEED" ]; then export ONCEWARD_SEED="$SEED"; fi
exec cargo test --locked --features lab,e2e --test chaos -- --ignored --nocapture chaos
