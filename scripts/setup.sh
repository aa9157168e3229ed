#!/usr/bin/env bash
# Installs whatever the project needs and does not have yet. Safe to run at any time and twice at once; nothing to do
# takes some milliseconds. Everything but the Rust toolchain itself stays in .tools/ and node_modules/.
#
#   scripts/setup.sh            install
#   scripts/setup.sh --force    look at everything again
#   ONCEWARD_TOOLCHAIN=rustup|debian   instead of choosing
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$ROOT/scripts/toolchain.sh"

STAMP="$TOOLS/setup.stamp"

# Changes whenever something of what follows has to be looked at again.
fingerprint() {
  cksum "$ROOT/package-lock.json" "$ROOT"/scripts/{lib,setup,toolchain}.sh
  echo "$WORKER_BUILD_VERSION $(wasm_bindgen_version) ${ONCEWARD_TOOLCHAIN:-auto} 1.$MIN_RUST_MINOR"
}

is_done() {
  [ -x "$NODE" ] && [ -x "$TOOLS/bin/worker-build" ] && [ -x "$TOOLS/bin/wasm-bindgen" ] && [ -x "$SHIMS/cargo" ] &&
    [ -x "$("$SHIMS/where" rustc 2>/dev/null)" ] && [ "$(cat "$STAMP" 2>/dev/null)" = "$(fingerprint)" ]
}

need_cargo() {
  have cargo && return
  die "cargo is missing." \
    "Install Rust with rustup (https://rustup.rs), open a new shell, and run the same command again:" \
    "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"
}

need_cc() {
  have cc && return
  if can_apt; then apt_install gcc libc6-dev && return; fi
  die "a C compiler (cc) is missing; Rust links with it." \
    "Debian or Ubuntu: sudo apt-get install gcc libc6-dev     Fedora: sudo dnf install gcc     macOS: xcode-select --install"
}

# worker-build links with the system's TLS library, to download what we give it ourselves.
need_tls() {
  [ "$(uname)" = Linux ] || return 0
  [ -x "$TOOLS/bin/worker-build" ] || { have pkg-config && pkg-config --exists openssl; } && return
  if can_apt; then
    say "installing pkg-config and libssl-dev from Debian; worker-build needs them to compile"
    apt_install pkg-config libssl-dev && return
  fi
  die "pkg-config or the headers of OpenSSL are missing; worker-build needs them to compile." \
    "Debian or Ubuntu: sudo apt-get install pkg-config libssl-dev     Fedora: sudo dnf install pkgconf openssl-devel"
}

need_npm() {
  have node && have npm && return
  if can_apt; then
    say "installing node and npm from Debian"
    apt_install nodejs npm && return
  fi
  die "node and npm are missing (any version; the project brings its own Node 22)." \
    "Debian or Ubuntu: sudo apt-get install nodejs npm     macOS: brew install node     else https://nodejs.org"
}

npm_tools_work() {
  local version
  version="$("$NODE" --version 2>/dev/null)" || return 1
  version="${version#v}"
  [ "${version%%.*}" -ge 22 ] && "$NPM_BIN/workerd" --version >/dev/null 2>&1 &&
    "$NPM_BIN/esbuild" --version >/dev/null 2>&1 && [ -e "$NPM_BIN/wasm-opt" ] && [ -e "$NPM_BIN/wrangler" ] &&
    cmp -s "$ROOT/package-lock.json" "$ROOT/node_modules/.onceward-lock"
}

npm_tools() {
  npm_tools_work && return
  need_npm
  say "installing Node 22, wrangler and workerd into node_modules/ (about 30 s)"
  (cd "$ROOT" && npm ci --no-fund --no-audit --loglevel=error) >&2 ||
    die "npm could not install the tools." "The message of npm is above; with a network again, run the same command."
  cp "$ROOT/package-lock.json" "$ROOT/node_modules/.onceward-lock"
  npm_tools_work && return
  # A newer or stricter npm may leave install scripts out: these three fetch or link the real programs.
  say "npm left out install scripts; running those of node, esbuild and workerd"
  (cd "$ROOT/node_modules/node" && [ -x bin/node ] || node installArchSpecificPackage.js) >&2 || true
  (cd "$ROOT/node_modules/esbuild" && node install.js) >&2 || true
  (cd "$ROOT/node_modules/workerd" && node install.js) >&2 || true
  npm_tools_work || die "the programs that npm installed do not run." \
    "Try: rm -rf node_modules && make doctor" "Needed: $NODE (22), workerd, esbuild, wasm-opt, wrangler in node_modules/.bin"
}

# The two are run once a build and their speed doesn't matter: without optimisation they compile in half the time.
cargo_tool() {
  local package="$1" version="$2" binary="$3" locked="${4:-}"
  [ "$("$TOOLS/bin/$binary" --version 2>/dev/null | awk '{ print $NF }')" = "$version" ] && return
  say "compiling $package $version into .tools/ (1 to 3 minutes, once)"
  env -u RUSTFLAGS -u CARGO_BUILD_TARGET CARGO_TARGET_DIR="$TOOLS/target" CARGO_PROFILE_RELEASE_OPT_LEVEL=0 \
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=false \
    cargo install "$package" --version "$version" --bin "$binary" --root "$TOOLS" --force $locked 2>&1 | progress >&2 ||
    die "cargo could not install $package $version." "The message of cargo is above; fix it and run the same command again."
}

install_all() {
  is_done && return
  mkdir -p "$TOOLS/bin"
  say "setting up; the first time takes some minutes, later runs find it done"
  need_cargo
  need_cc
  npm_tools
  toolchain_ready
  lint_tools
  need_tls
  cargo_tool worker-build "$WORKER_BUILD_VERSION" worker-build --locked
  cargo_tool wasm-bindgen-cli "$(wasm_bindgen_version)" wasm-bindgen
  rm -rf "$TOOLS/target"
  fingerprint >"$STAMP"
  say "set-up is done"
}

if [ "${1:-}" = --force ]; then rm -f "$STAMP"; fi
is_done || with_lock setup install_all
