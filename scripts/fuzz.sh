#!/usr/bin/env bash
# `make fuzz TARGET=key MINUTES=5`: throws mutated input at what parses the outside, under libFuzzer. Without TARGET the
# minutes are shared by all targets. What it finds new stays in target/fuzz/corpus/, a crash in target/fuzz/found/.
#
# A stable compiler does: RUSTC_BOOTSTRAP=1 lets it instrument, and no sanitizer is asked for (the crate has no unsafe
# code). The flags are those of `cargo fuzz --sanitizer none`, which works in fuzz/ as well but need not be installed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/toolchain.sh"
cd "$ROOT"

MINUTES="${MINUTES:-8}"
[[ "$MINUTES" =~ ^[0-9]+(\.[0-9]+)?$ ]] || die "MINUTES is a number, not '$MINUTES'" "Use: make fuzz MINUTES=8"
SEED="${SEED:-0}"
[[ "$SEED" =~ ^[0-9]+$ ]] || die "SEED is a whole number, not '$SEED'" "Use: make fuzz SEED=7"
ALL="$(sed -n 's/^name = "\([a-z]*\)"$/\1/p' fuzz/Cargo.toml | tr '\n' ' ')"
TARGETS="${TARGET:-$ALL}"
for target in $TARGETS; do
  [[ " $ALL" = *" $target "* ]] || die "there is no target '$target'" "There are: $ALL"
done

OUT="$ROOT/target/fuzz"
HOST="$(rustc -vV | sed -n 's/^host: //p')"

have cargo || die "cargo is missing." "make setup says how to get it"
have c++ || { can_apt && apt_install g++; } || die "a C++ compiler (c++) is missing; libFuzzer is compiled with it." \
  "Debian or Ubuntu: sudo apt-get install g++     Fedora: sudo dnf install gcc-c++     macOS: xcode-select --install"

build() {
  local flags="--cfg fuzzing -Cdebug-assertions -Ccodegen-units=1 -Cpasses=sancov-module"
  for flag in level=4 inline-8bit-counters pc-table trace-compares; do
    flags="$flags -Cllvm-args=-sanitizer-coverage-$flag"
  done
  local bins=()
  for target in $TARGETS; do bins+=(--bin "$target"); done
  say "building the fuzz targets (a minute or two, once)"
  # With a target named, build scripts and macros are not instrumented. Not --locked: a dependency that the main package
  # has got since is added to fuzz/Cargo.lock by this.
  RUSTC_BOOTSTRAP=1 RUSTFLAGS="$flags" CARGO_TARGET_DIR="$OUT" \
    cargo build --manifest-path fuzz/Cargo.toml --target "$HOST" "${bins[@]}" 2>&1 | progress >&2
}

# Seconds for each target: at least one.
share() {
  awk -v minutes="$MINUTES" -v n="$(wc -w <<<"$TARGETS")" 'BEGIN { s = int(minutes * 60 / n); print s < 1 ? 1 : s }'
}

run() {
  local target="$1" seconds="$2" dict=() log="$OUT/$1.log"
  mkdir -p "$OUT/corpus/$target" "$OUT/found"
  if [ -e "fuzz/dict/$target.dict" ]; then dict=(-dict="fuzz/dict/$target.dict"); fi
  # shellcheck disable=SC2086 # none, one or several words
  if ! RUST_BACKTRACE=0 "$OUT/$HOST/debug/$target" -max_total_time="$seconds" -seed="$SEED" -timeout=20 -rss_limit_mb=2048 \
    -max_len=16384 -artifact_prefix="$OUT/found/$target-" -print_final_stats=1 ${dict[@]+"${dict[@]}"} \
    "$OUT/corpus/$target" "fuzz/corpus/$target" >"$log" 2>&1; then
    grep -a -A 12 -m 1 -E "panicked at|ERROR: libFuzzer" "$log" >&2 || tail -n 20 "$log" >&2
    grep -a "Test unit written" "$log" >&2 || true
    die "target $target found a fault." "The input is named above. Again: $OUT/$HOST/debug/$target FILE" \
      "Once it is mended, keep the input: cp FILE fuzz/corpus/$target/"
  fi
  awk -v target="$target" '/cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1) }
    /number_of_executed_units/ { runs = $2 } /new_units_added/ { new = $2 }
    END { printf "onceward:   %-12s %10d runs, %5d edges, %4d new inputs\n", target, runs, cov, new }' "$log" >&2
}

build || die "the fuzz targets do not compile." "The compiler's message is above."
seconds="$(share)"
say "fuzzing $seconds s each: $TARGETS"
for target in $TARGETS; do run "$target" "$seconds"; done
say "no fault found. Longer: make fuzz TARGET=key MINUTES=60"
