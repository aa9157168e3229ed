#!/usr/bin/env bash
# `make simulate SEEDS=500`: the whole runtime on a virtual clock, with faults at every effect. A seed that fails is
# made small, and its story is printed.
#   SEEDS=500      the first 500 seeds
#   SEEDS=20..90   those
#   SEEDS=3,17     those
#   SEEDS=81..81   one seed, as a failure names it; SEED=81 is the same
# Without SEEDS: 200 fresh ones.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

SEEDS="${SEEDS:-}"
if [ -z "$SEEDS" ] && [ -n "${SEED:-}" ]; then SEEDS="$SEED..$SEED"; fi
# A list may have spaces or commas.
SEEDS="$(tr -s ' ' ',' <<<"$SEEDS")"
[[ "$SEEDS" =~ ^([0-9]+|[0-9]+\.\.[0-9]+|[0-9]+(,[0-9]+)+)?$ ]] ||
  die "SEEDS is a number, a range or a list, not '$SEEDS'" "Use: make simulate SEEDS=500, SEEDS=20..90 or SEEDS=3,17"
"$ROOT/scripts/setup.sh"
if [ -z "$SEEDS" ]; then
  # Fresh seeds lie above a million.
  from=$((1000000 + $(date +%s) * 1000))
  SEEDS="$from..$((from + 199))"
fi
say "simulating seeds $SEEDS"
ONCEWARD_SEEDS="$SEEDS" cargo test --locked --features lab --profile model --test simulation -- --nocapture wanted_seeds
say "no seed failed. Next: make chaos, the same on workerd"
