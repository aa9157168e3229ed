#!/usr/bin/env bash
# `make doctor`: looks at everything that a build and a run need, changes nothing, and says what to do.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$ROOT/scripts/toolchain.sh"
cd "$ROOT" || exit 1
problems=0

ok() { printf '  ok       %-14s %s\n' "$1" "$2"; }
note() { printf '  note     %-14s %s\n' "$1" "$2"; }
# wrong NAME WHAT WHAT-TO-DO
wrong() {
  printf '  MISSING  %-14s %s\n' "$1" "$2"
  printf '           %-14s -> %s\n' "" "$3"
  problems=$((problems + 1))
}

# check NAME WHAT-TO-DO COMMAND...: the first line of its output is the version.
check() {
  local name="$1" todo="$2" output
  shift 2
  if output="$("$@" 2>/dev/null)"; then ok "$name" "$(printf '%s\n' "$output" | head -n 1 | cut -c 1-60)"; else wrong "$name" "$* does not run" "$todo"; fi
}

echo "From you:"
check cargo "install rustup: https://rustup.rs" cargo --version
check cc "Debian: apt-get install gcc libc6-dev; macOS: xcode-select --install" cc --version
check node "Debian: apt-get install nodejs npm; macOS: brew install node (any version)" node --version
check npm "comes with node" npm --version
if python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
  ok python3 "$(python3 --version 2>&1)"
else
  note python3 "no 3.10 with venv: make schema, a part of make test, needs it (Debian: apt-get install python3-venv; macOS: brew install python)"
fi
have curl || note curl "not here; only the commands that make dev prints need it"

echo "From the project (make setup installs it):"
if [ -x "$SHIMS/where" ]; then
  rustc="$("$SHIMS/where" rustc)"
  if can_build_std "$rustc"; then
    ok "wasm toolchain" "$("$rustc" --version) with std source, from $("$SHIMS/where")"
  else
    wrong "wasm toolchain" "$rustc is older than 1.$MIN_RUST_MINOR or has no std source" "rustup update stable && make setup"
  fi
  if [ -x "$(dirname "$rustc")/cargo-clippy" ]; then
    ok "wasm clippy" "$(dirname "$rustc")/cargo-clippy"
  else
    note "wasm clippy" "none beside $rustc: make lint checks only the compiler's warnings for wasm (Debian: apt-get install rust-web-clippy)"
  fi
else
  wrong "wasm toolchain" "not chosen yet" "make setup"
fi
check clippy "rustup component add clippy" cargo clippy --version
check rustfmt "rustup component add rustfmt" cargo fmt --version
check worker-build "make setup" "$TOOLS/bin/worker-build" --version
check wasm-bindgen "make setup" "$TOOLS/bin/wasm-bindgen" --version
wanted="$(wasm_bindgen_version)"
case "$("$TOOLS/bin/wasm-bindgen" --version 2>/dev/null)" in
  *" $wanted" | "") ;;
  *) wrong wasm-bindgen "is not the $wanted of Cargo.lock" "make setup" ;;
esac
check "node 22" "make setup" "$NODE" --version
check workerd "make setup" "$NPM_BIN/workerd" --version
check esbuild "make setup" "$NPM_BIN/esbuild" --version
if [ -e "$NPM_BIN/wrangler" ]; then
  ok wrangler "$(sed -n 's/^  "version": "\(.*\)",/\1/p' node_modules/wrangler/package.json)"
else
  wrong wrangler "not installed" "make setup"
fi

echo "Limits:"
limit="$(ulimit -Hn)"
if [ "$limit" = unlimited ] || [ "$limit" -ge 8192 ]; then
  ok "open files" "$limit"
else
  note "open files" "hard limit $limit: a burst of some $((limit / 3)) new keys can end workerd; raise it as root (ulimit -Hn 65536)"
fi
if have setpriv; then ok setpriv "workerd ends with its parent"; else note setpriv "not here: after kill -9 of make dev, end workerd by hand"; fi

if [ "$problems" -gt 0 ]; then
  echo "$problems missing. Next: do what the arrows say, then make doctor again."
  exit 1
fi
echo "All there. Next: make dev"
