#!/usr/bin/env bash
# Builds the Worker: `build.sh release` into build/ (what is deployed), `build.sh lab` into build-lab/ (development and
# tests: feature `lab`, less optimised). Does nothing when no input has changed.
# wrangler runs it too ([build] in wrangler.toml): ONCEWARD_VARIANT says which, default release.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

VARIANT="${1:-${ONCEWARD_VARIANT:-release}}"
case "$VARIANT" in
  release)
    OUT=build
    PROFILE=release
    FEATURES=()
    ;;
  lab)
    OUT=build-lab
    PROFILE=lab
    FEATURES=(--features lab)
    # Half the compile time, for some more bytes.
    export CARGO_PROFILE_LAB_OPT_LEVEL=1
    ;;
  *) die "unknown build '$VARIANT'" "Use: scripts/build.sh release|lab" ;;
esac
STAMP="$TOOLS/$OUT.stamp"

# cargo lists every file that a build has read, files of include_str! among them.
input_files() {
  local deps="$CARGO_TARGET_DIR/$WASM_TARGET/$PROFILE/libonceward.d"
  [ -e "$deps" ] || return 1
  printf '%s\n' Cargo.toml Cargo.lock scripts/build.sh .tools/shims/cargo
  sed 's/^[^:]*: //' "$deps" | xargs printf '%s\n'
}

inputs() {
  echo "$VARIANT $WORKER_BUILD_VERSION"
  input_files | tr '\n' '\0' | xargs -0 cksum 2>/dev/null
}

is_fresh() {
  [ -e "$OUT/index.js" ] && [ -e "$OUT/index_bg.wasm" ] && [ -e "$STAMP" ] && [ "$(inputs)" = "$(cat "$STAMP")" ]
}

build() {
  is_fresh && return
  local started="$STAMP.started" changed
  touch "$started"
  local mode=(--release)
  say "building the Worker ($VARIANT); the first time compiles std and all crates: 2 to 4 minutes"
  if [ "$VARIANT" = lab ]; then mode=(--profile "$PROFILE" --no-opt); fi
  RUST_BACKTRACE=0 "$TOOLS/bin/worker-build" "${mode[@]}" --panic-unwind --out-dir "$OUT" \
    ${FEATURES[@]+-- "${FEATURES[@]}"} 2>&1 | progress >&2 ||
    die "the Worker does not compile ($VARIANT)." "The compiler's message is above. make doctor looks at the toolchain."
  # Edited while it was being compiled: this build is good for now, the next run builds again.
  changed="$(input_files | tr '\n' '\0' | xargs -0 -I{} find {} -newer "$started" 2>/dev/null)"
  if [ -z "$changed" ]; then inputs >"$STAMP"; fi
}

"$ROOT/scripts/setup.sh"
use_tools
is_fresh || with_lock build build
if [ -t 1 ]; then say "built: $OUT/ ($(wc -c <"$OUT/index_bg.wasm" | tr -d ' ') bytes of wasm)"; fi
