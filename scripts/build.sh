#!/usr/bin/env bash
# Builds the Worker: `build.sh release` into build/ (what is deployed), `build.sh lab` into build-lab/ (development and
# tests: feature `lab`, less optimised). Does nothing when no input has changed.
# wrangler runs it too ([build] in wrangler.toml): ONCEWARD_VARIANT says which, default release.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

VARIANT="${1:-${ONCEWARD_VARIANT:-release}}"
# Both are the release profile, so that they share what runs at compile time; `lab` then trades speed for build time.
MODE=(--release --panic-unwind)
case "$VARIANT" in
  release) OUT=build ;;
  lab)
    OUT=build-lab
    MODE=("${MODE[@]}" --no-opt -- --features lab)
    export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off
    export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_INCREMENTAL=true
    ;;
  *) die "unknown build '$VARIANT'" "Use: scripts/build.sh release|lab" ;;
esac
STAMP="$TOOLS/$OUT.stamp"
DEPS="$TOOLS/$OUT.d"

# cargo lists every file that a build has read, files of include_str! among them.
input_files() {
  [ -e "$DEPS" ] || return 1
  printf '%s\n' Cargo.toml Cargo.lock scripts/build.sh .tools/shims/cargo
  find flows -type f | sort
  sed 's/^[^:]*: //' "$DEPS" | xargs printf '%s\n'
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
  say "building the Worker ($VARIANT); the first time compiles std and all crates: 2 to 4 minutes"
  RUST_BACKTRACE=0 "$TOOLS/bin/worker-build" --out-dir "$OUT" "${MODE[@]}" 2>&1 | progress >&2 ||
    die "the Worker does not compile ($VARIANT)." "The compiler's message is above. make doctor looks at the toolchain."
  cp "$CARGO_TARGET_DIR/$WASM_TARGET/release/libonceward.d" "$DEPS"
  # Edited while it was being compiled: this build is good for now, the next run builds again.
  changed="$(input_files | tr '\n' '\0' | xargs -0 -I{} find {} -newer "$started" 2>/dev/null)"
  if [ -z "$changed" ]; then inputs >"$STAMP"; fi
}

"$ROOT/scripts/setup.sh"
use_tools
is_fresh || with_lock build build
if [ -t 1 ]; then say "built: $OUT/ ($(wc -c <"$OUT/index_bg.wasm" | tr -d ' ') bytes of wasm)"; fi
