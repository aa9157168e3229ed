#!/usr/bin/env bash
# Runs the tests: test.sh all|lint|unit|model|fuzz|e2e|schema|chaos|dry-run. CI runs `all` from a clean checkout.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

# The edge only compiles against `worker`; this feature lets native clippy see it too.
NATIVE_FEATURES=lab,native-platform,e2e
started_all=$SECONDS

# step NAME COMMAND...: says what runs, and how long it took.
step() {
  local name="$1" started=$SECONDS
  shift
  say "── $name"
  "$@" || die "$name failed." "Its message is above. Run this part alone with: make $PART"
  say "── $name: $((SECONDS - started)) s"
}

lint() {
  PART=lint
  cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 ||
    die "cargo fmt or cargo clippy is missing." "rustup component add rustfmt clippy"
  step "formatting" cargo fmt --check
  step "formatting, fuzz" cargo fmt --check --manifest-path fuzz/Cargo.toml
  step "clippy, native" cargo clippy --locked --all-targets --features "$NATIVE_FEATURES" -- -D warnings
  step "clippy, wasm, lab" clippy_wasm --features lab
  # What is deployed: code that only the lab uses is dead here.
  step "clippy, wasm, release" clippy_wasm
}

# The clippy of the toolchain that builds the wasm, with its settings: it shares what runs at compile time. std comes
# from source here as well: no prebuilt one is needed.
clippy_wasm() (
  use_tools
  export RUSTFLAGS=-Cpanic=unwind WASM_BINDGEN_USE_JS_SYS=1 CARGO="$SHIMS/cargo"
  local tool what=(--release --locked --lib --target "$WASM_TARGET" -Zbuild-std=std,panic_unwind "$@")
  tool="$(dirname "$("$SHIMS/where" rustc)")/cargo-clippy"
  if [ -x "$tool" ]; then
    "$tool" clippy "${what[@]}" -- -D warnings
    return
  fi
  say "no clippy beside $("$SHIMS/where" rustc): only the compiler's warnings are checked for wasm (make doctor)"
  RUSTFLAGS="$RUSTFLAGS -Dwarnings" cargo check "${what[@]}"
)

unit() {
  PART=unit
  step "native tests" cargo test --locked --features lab
}

# A small bound is part of `unit`; this one is larger and built to be fast.
model() {
  PART=model
  step "model" env ONCEWARD_MODEL_WIDE=1 cargo test --locked --profile model --test model -- --nocapture --test-threads=1
}

# A few seconds for each target: what is replayed from the corpora is part of `unit`.
fuzz() {
  PART=fuzz
  step "fuzzing" env MINUTES="${MINUTES:-1}" scripts/fuzz.sh
}

e2e() {
  PART=e2e
  step "lab build" scripts/build.sh lab
  # Test servers need many open files, as make dev does.
  ulimit -n "$(ulimit -Hn)" 2>/dev/null || say "could not raise the limit of open files from $(ulimit -n)"
  step "end-to-end tests" env ONCEWARD_BUILD="$ROOT/build-lab" cargo test --locked --features lab,e2e --test e2e -- --test-threads=4
  step "hostile requests" env REQUESTS="${REQUESTS:-5000}" scripts/hostile.sh
}

schema() {
  PART=schema
  step "OpenAPI and schemathesis" env BUDGET="${BUDGET:-100}" scripts/schemathesis.sh
}

# Short here; before a release it runs for half an hour.
chaos() {
  PART=chaos
  step "chaos" env MINUTES="${MINUTES:-3}" scripts/chaos.sh
}

coverage() {
  PART=coverage
  step "coverage" scripts/coverage.sh
}

mutants() {
  PART=mutants-changed
  step "mutants" scripts/mutants.sh changed
}

dry_run() {
  PART=dry-run
  step "release build" scripts/build.sh release
  step "deploy dry run" deploy_dry_run
}

deploy_dry_run() (
  use_tools
  # No account and no network is needed for this.
  CI=1 "$NODE" node_modules/wrangler/bin/wrangler.js deploy --dry-run --outdir "$TOOLS/dry-run"
)

"$ROOT/scripts/setup.sh"
case "${1:-all}" in
  all)
    lint
    unit
    fuzz
    e2e
    schema
    chaos
    dry_run
    coverage
    mutants
    ;;
  lint) lint ;;
  unit) unit ;;
  model) model ;;
  fuzz) fuzz ;;
  e2e) e2e ;;
  schema) schema ;;
  chaos) chaos ;;
  dry-run) dry_run ;;
  *) die "unknown part '$1'" "Use: scripts/test.sh all|lint|unit|model|fuzz|e2e|schema|chaos|dry-run" ;;
esac
say "passed in $((SECONDS - started_all)) s. Next: make dev"
