#!/usr/bin/env bash
# `make demo`: sets up, then sends one delivery three times (demo.mjs).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"
"$ROOT/scripts/setup.sh"
exec "$NODE" scripts/demo.mjs
