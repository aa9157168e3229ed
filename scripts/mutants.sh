#!/usr/bin/env bash
# Mutation testing of the machine, src/protocol: every condition, number and value in it is broken in turn, and a test has
# to notice. What no test notices has to be explained in docs/proof-survivors.md, or this fails.
#
#   make mutants             all of them (half an hour on two idle cores)
#   make mutants-changed     CI's part: of the lines changed since BASE= (else since before the last merge), at most MOST=40
#
# A package with the machine and its tests alone is built in target/mutants, so that a mutant costs seconds.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

VERSION=27.1.0
WORK="$ROOT/target/mutants"
PACKAGE="$WORK/package"
MOST="${MOST:-40}"
# Each of these takes seconds and is left to the second look.
SLOW=(histories_reach_every_state large_records_are_read_a_few_at_a_time a_full_mailbox_takes_no_more)

install_tool() {
  [ "$("$TOOLS/bin/cargo-mutants" mutants --version 2>/dev/null | awk '{ print $NF }')" = "$VERSION" ] && return
  say "compiling cargo-mutants $VERSION into .tools/ (1 to 2 minutes, once)"
  env -u RUSTFLAGS -u CARGO_BUILD_TARGET CARGO_TARGET_DIR="$TOOLS/target" CARGO_PROFILE_RELEASE_OPT_LEVEL=0 \
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_DEBUG=false \
    cargo install cargo-mutants --version "$VERSION" --root "$TOOLS" --force --locked 2>&1 | awk '/^error|Installed/' >&2 ||
    die "cargo could not install cargo-mutants $VERSION." "The message of cargo is above; fix it and run the same command again."
  rm -rf "$TOOLS/target"
}

# The machine, what it needs, and the tests that count.
make_package() {
  local file tests="$PACKAGE/tests"
  rm -rf "$PACKAGE/src" "$tests" "$PACKAGE/.cargo"
  mkdir -p "$PACKAGE/src/http" "$PACKAGE/src/flow" "$tests/native" "$PACKAGE/.cargo"
  cp -R scripts/mutants/Cargo.toml Cargo.lock "$PACKAGE/"
  cp .cargo/mutants.toml "$PACKAGE/.cargo/"
  cp scripts/mutants/lib.rs "$PACKAGE/src/lib.rs"
  cp -R src/protocol src/store src/types src/limits.rs "$PACKAGE/src/"
  cp src/http/{document,frame,object_call,object_call_tests,object_reply,waiting,words}.rs "$PACKAGE/src/http/"
  # Messages to keys and locks are among those to objects.
  cp src/flow/{kv,lock}.rs "$PACKAGE/src/flow/"
  # What speaks to D1 is no part of the machine.
  rm -rf "$PACKAGE/src/store/d1" "$PACKAGE/src/store/rows.rs"
  sed -i.bak '/^pub mod d1;$/d; /^pub mod rows;$/d' "$PACKAGE/src/store/mod.rs"
  rm "$PACKAGE/src/store/mod.rs.bak"
  cp -R tests/model "$tests/"
  mkdir -p "$PACKAGE/docs"
  cp docs/proof-mutants.md "$PACKAGE/docs/"
  cp -R tests/native/{protocol_*.rs,previous.rs,previous,store.rs,snapshots} "$tests/native/"
  for file in "$tests"/native/*.rs; do echo "mod $(basename "$file" .rs);"; done >"$WORK/main.rs"
  mv "$WORK/main.rs" "$tests/native/main.rs"
}

# mutants NAME [OPTION...] -- [ARGUMENT OF CARGO TEST...]: the outcomes are in target/mutants/NAME.
mutants() {
  local name="$1" status=0 how=(-j "$JOBS")
  shift
  # One at a time needs no copies, each of which would build the dependencies again.
  [ "$JOBS" != 1 ] || how=(--in-place)
  rm -rf "${WORK:?}/$name"
  (cd "$PACKAGE" && "$TOOLS/bin/cargo-mutants" mutants "${how[@]}" -o "$WORK/$name" "$@") >&2 || status=$?
  # 2: some were missed, 3: some never ended. That is judged below.
  case "$status" in
    0 | 2 | 3) ;;
    *) die "cargo-mutants could not go on ($name)." "Its message is above. If the tests fail without any mutant: make unit" ;;
  esac
}

# The same random cases in each run: what is noticed once is noticed always.
export INSTA_UPDATE=no PROPTEST_RNG_SEED=1 PROPTEST_MAX_SHRINK_ITERS=0 PROPTEST_DISABLE_FAILURE_PERSISTENCE=true
# The first failure is enough, and nobody reads where it came from. (A stable test runner takes unstable options if told so.)
export RUST_BACKTRACE=0 RUSTC_BOOTSTRAP=1
fast=(-Zunstable-options --fail-fast)

# Those that are left are looked at with all there is: more random histories, then the model.
look_again() {
  local left=()
  while IFS= read -r option; do left+=("$option"); done < <("$NODE" scripts/mutants.mjs left "$WORK")
  [ "${#left[@]}" -gt 0 ] || return 0
  say "── $((${#left[@]} / 2)) that nobody has noticed or explained: all native tests"
  PROPTEST_CASES=256 mutants thorough "${left[@]}" -- --test native -- "${fast[@]}"
  left=()
  while IFS= read -r option; do left+=("$option"); done < <("$NODE" scripts/mutants.mjs left "$WORK")
  [ "${#left[@]}" -gt 0 ] || return 0
  say "── $((${#left[@]} / 2)) that nobody has noticed or explained: the model"
  mutants model --profile model --features model "${left[@]}" -- --test model -- "${fast[@]}"
}

# Which ones: all, or CI's part.
choose() {
  which=()
  [ "$1" = changed ] || return 0
  local base count shards
  base="${BASE:-$(git rev-list --first-parent --merges -n 1 HEAD 2>/dev/null)^1}"
  git diff "$base" -- src/protocol >"$WORK/changed.diff" 2>/dev/null || : >"$WORK/changed.diff"
  count=0
  if [ -s "$WORK/changed.diff" ]; then
    which=(--in-diff "$WORK/changed.diff")
    count="$(cd "$PACKAGE" && "$TOOLS/bin/cargo-mutants" mutants --list "${which[@]}" 2>/dev/null | grep -c . || true)"
  fi
  if [ "$count" = 0 ]; then
    say "src/protocol has not changed since ${base:0:12}: a part of all mutants instead"
    which=()
    count="$(cd "$PACKAGE" && "$TOOLS/bin/cargo-mutants" mutants --list 2>/dev/null | grep -c .)"
  fi
  shards=$(((count + MOST - 1) / MOST))
  # Another part with each commit, the same one for the same commit.
  which+=(--shard "$((0x$(git rev-parse --short=6 HEAD 2>/dev/null || echo 0) % shards))/$shards")
}

what="${1:-all}"
[ "$what" = all ] || [ "$what" = changed ] || die "unknown part '$what'" "Use: scripts/mutants.sh all|changed"
if [ "$what" = changed ]; then JOBS="${JOBS:-1}"; fi
JOBS="${JOBS:-2}"
"$ROOT/scripts/setup.sh"
mkdir -p "$WORK"
with_lock mutants install_tool
make_package
rm -rf "$WORK"/{quick,thorough,model}
choose "$what"
skips=()
for slow in "${SLOW[@]}"; do skips+=(--skip "$slow"); done
say "── mutants of src/protocol ($what), $JOBS at a time; only those that are missed are listed"
PROPTEST_CASES=4 mutants quick ${which[@]+"${which[@]}"} -- --test native -- "${fast[@]}" "${skips[@]}"
look_again
"$NODE" scripts/mutants.mjs judge "$WORK" "$what" || die "a mutant is not noticed by any test." \
  "Write a test that notices it, simplify the code, or explain in docs/proof-survivors.md why nobody can." \
  "Again, for one file: (cd target/mutants/package && ../../../.tools/bin/cargo-mutants mutants -f 'src/protocol/lease.rs' -- --test native)"
say "done in $SECONDS s"
