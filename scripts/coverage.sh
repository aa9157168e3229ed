#!/usr/bin/env bash
# `make coverage`: which lines and branches of the deciders (src/protocol, src/webhook) the native tests take. Prints a
# table per file, and fails below 95 % of the branches of either (BRANCHES=). CI runs it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$ROOT/scripts/toolchain.sh"
cd "$ROOT"

BRANCHES="${BRANCHES:-95}"
[[ "$BRANCHES" =~ ^[0-9]+(\.[0-9]+)?$ ]] || die "BRANCHES is a number of percent, not '$BRANCHES'" "Use: make coverage BRANCHES=95"
OUT="$ROOT/target/coverage"

# What reads the counters has to come from the same LLVM as the compiler that put them there.
llvm_tools() {
  local host major sysroot dir
  host="$(rustc -vV | sed -n 's/^host: //p')"
  major="$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')"
  sysroot="$(rustc --print sysroot)"
  for dir in "$sysroot/lib/rustlib/$host/bin" "/usr/lib/llvm-$major/bin" "/opt/homebrew/opt/llvm@$major/bin"; do
    if [ -x "$dir/llvm-profdata" ] && "$dir/llvm-cov" --version 2>/dev/null | grep -q "version $major\."; then
      echo "$dir"
      return
    fi
  done
  if [ "${1:-}" = installed ]; then
    die "there is no llvm-cov and llvm-profdata of LLVM $major here, which rustc is built with." \
      "With rustup:  rustup component add llvm-tools" "On Debian:    sudo apt-get install llvm-$major" "Then: make coverage"
  fi
  say "installing llvm-cov of LLVM $major (some seconds)"
  { can_apt && apt_install "llvm-$major"; } || { have rustup && limited rustup component add llvm-tools >&2; } || true
  llvm_tools installed
}

# Only this package is measured. Counting branches is an unstable option, which a stable compiler takes as well if it is
# told so; `condition` counts the parts of && and || outside of an `if` too.
write_wrapper() {
  mkdir -p "$OUT/profiles"
  cat >"$OUT/rustc.new" <<'WRAPPER'
#!/bin/sh
rustc="$1"
shift
RUSTC_BOOTSTRAP=1 exec "$rustc" "$@" -Cinstrument-coverage -Zcoverage-options=condition
WRAPPER
  chmod +x "$OUT/rustc.new"
  mv "$OUT/rustc.new" "$OUT/rustc"
}

# The same random cases in each run, so that the figures are the same.
export PROPTEST_RNG_SEED=1 INSTA_UPDATE=no

# The names of the test programs come with the messages of cargo.
test_programs() {
  cargo test --locked --features lab --lib --test native --no-run --message-format json-render-diagnostics |
    sed -n 's/.*"reason":"compiler-artifact".*"executable":"\([^"]*\)".*/\1/p'
}

"$ROOT/scripts/setup.sh"
bin="$(llvm_tools)"
write_wrapper
export RUSTC_WORKSPACE_WRAPPER="$OUT/rustc" CARGO_TARGET_DIR="$OUT" CARGO_INCREMENTAL=0
say "── building the native tests with counters"
programs="$(test_programs)" || die "the tests do not compile." "The message of cargo is above."
[ -n "$programs" ] || die "cargo named no test program." "Look at: cargo test --no-run --message-format json"
rm -f "$OUT"/profiles/*
objects=()
for program in $programs; do
  say "── $(basename "$program")"
  objects+=(-object "$program")
  LLVM_PROFILE_FILE="$OUT/profiles/%p-%m.profraw" "$program" --quiet >"$OUT/tests.log" 2>&1 || {
    tail -40 "$OUT/tests.log" >&2
    die "a test failed; what is covered was not measured." "Run them alone with: make unit"
  }
done
"$bin/llvm-profdata" merge -sparse "$OUT"/profiles/*.profraw -o "$OUT/tests.profdata"
"$bin/llvm-cov" export -format=lcov -instr-profile "$OUT/tests.profdata" "${objects[@]:1}" --sources "$ROOT/src" >"$OUT/tests.lcov"
"$NODE" scripts/coverage.mjs "$OUT/tests.lcov" "$BRANCHES" ||
  die "too little of the deciders is tested." "The branches that no test takes are above; write tests for them, or remove what is dead."
say "covered as wanted ($BRANCHES % of branches) in $SECONDS s"
