# Shared by the shell scripts: places, messages, one lock. Source it; bash 3.2 is enough.
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
TOOLS="$ROOT/.tools"
SHIMS="$TOOLS/shims"
NPM_BIN="$ROOT/node_modules/.bin"
NODE="$NPM_BIN/node"
WASM_TARGET=wasm32-unknown-unknown
WORKER_BUILD_VERSION=0.8.7
MIN_RUST_MINOR="$(sed -n 's/^rust-version = "1\.\([0-9]*\).*/\1/p' "$ROOT/Cargo.toml")"

say() { printf '%s\n' "onceward: $*" >&2; }
die() {
  printf '%s\n' "onceward: error: $1" >&2
  shift
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# wrangler runs build.sh with the shims on its PATH; set-up has to see the real tools behind them.
PATH="${PATH//"$SHIMS:"/}"

# rustup installs there and asks for a new shell to find it.
if ! have cargo && [ -x "$HOME/.cargo/bin/cargo" ]; then PATH="$HOME/.cargo/bin:$PATH"; fi

# The wasm-bindgen command has to be exactly the version of the library.
wasm_bindgen_version() {
  awk '$0 == "name = \"wasm-bindgen\"" { getline; gsub(/[^0-9.]/, ""); print; exit }' "$ROOT/Cargo.lock"
}

# with_lock NAME COMMAND...: one at a time over all processes of this folder; the lock ends with its holder.
with_lock() {
  local name="$TOOLS/$1.lock"
  shift
  mkdir -p "$TOOLS"
  if have flock; then
    (
      flock -n 9 || { say "waiting for another set-up or build in this folder"; flock 9; }
      "$@" 9>&-
    ) 9>"$name"
    return
  fi
  local told=""
  until mkdir "$name.d" 2>/dev/null; do
    # A holder that was killed leaves its folder behind.
    if ! kill -0 "$(cat "$name.d/pid" 2>/dev/null || echo $$)" 2>/dev/null; then rm -rf "$name.d"; fi
    [ -n "$told" ] || { say "waiting for another set-up or build in this folder"; told=1; }
    sleep 1
  done
  echo $$ >"$name.d/pid"
  local status=0
  "$@" || status=$?
  rm -rf "$name.d"
  return "$status"
}

# Shortens what cargo prints where nobody looks at it: every 40th crate is enough to see that it goes on.
progress() {
  awk '/^ *(Compiling|Checking|Downloaded|Adding|Locking) |be sure to add/ { if (/Compiling|Checking/ && ++n % 40 == 0) { print "  " n " crates compiled"; fflush() } next }
    { print; fflush() }'
}

# Everything that a build, a lint of wasm or wrangler needs on top of the user's own environment.
use_tools() {
  export PATH="$SHIMS:$NPM_BIN:$PATH"
  export WASM_BINDGEN_BIN="$TOOLS/bin/wasm-bindgen"
  export WASM_OPT_BIN="$NPM_BIN/wasm-opt"
  export ESBUILD_BIN="$NPM_BIN/esbuild"
  export WRANGLER_SEND_METRICS=false
  # Objects, proc macros and std of the wasm build apart from the native ones: both may run at once.
  export CARGO_TARGET_DIR="$ROOT/target/wasm"
}
