# The Rust toolchain that compiles for wasm32 with panic=unwind. Sourced by setup.sh and doctor.sh.
#
# A panic has to end one request and not the whole isolate, so std is built from source with panic=unwind. worker-build
# asks for nightly to do that; a stable compiler with RUSTC_BOOTSTRAP=1 does the same, is pinned by what the user has,
# and Debian has one too. The shims put it in the place of nightly: they drop "+nightly" and run the real tool.

apt_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

can_apt() {
  have apt-get && { [ "$(id -u)" = 0 ] || { have sudo && sudo -n true 2>/dev/null; }; }
}

apt_install() {
  local quiet=(-y -qq -o Dpkg::Use-Pty=0 --no-install-recommends)
  apt_root env DEBIAN_FRONTEND=noninteractive apt-get install "${quiet[@]}" "$@" >&2 && return
  say "refreshing the lists of Debian packages"
  apt_root apt-get update -qq >&2 || true
  apt_root env DEBIAN_FRONTEND=noninteractive apt-get install "${quiet[@]}" "$@" >&2
}

is_new_enough() {
  local minor
  minor="$("$1" --version 2>/dev/null | awk '{ split($2, v, "."); print v[2] }')"
  [ "${minor:-0}" -ge "$MIN_RUST_MINOR" ]
}

# True where this compiler can build std for wasm: new enough, with its own source.
can_build_std() {
  is_new_enough "$1" && [ -e "$("$1" --print sysroot)/lib/rustlib/src/rust/library/Cargo.lock" ]
}

# A tool in the default toolchain of rustup, by its real path.
rustup_tool() {
  have rustup || return 1
  rustup which "$1" 2>/dev/null
}

try_rustup() {
  local rustc
  rustc="$(rustup_tool rustc)" || return 1
  if ! is_new_enough "$rustc"; then
    say "$("$rustc" --version) is older than 1.$MIN_RUST_MINOR; asking rustup for the current stable one"
    limited rustup update --no-self-update stable >&2 || return 1
  fi
  if ! can_build_std "$rustc"; then
    say "asking rustup for the source of std (some seconds)"
    limited rustup component add rust-src >&2 || return 1
  fi
  # Not needed to build, as std is compiled here; editors and `cargo check` like to have it.
  [ -d "$("$rustc" --print target-libdir --target "$WASM_TARGET")" ] || limited rustup target add "$WASM_TARGET" >&2 || true
  can_build_std "$rustc" && write_shims rustup "$(rustup_tool cargo)" "$rustc"
}

# rustup tries for long where its server can't be reached.
limited() {
  if have timeout; then timeout 180 "$@"; else "$@"; fi
}

debian_complete() {
  [ -x /usr/bin/cargo ] && can_build_std /usr/bin/rustc && [ -x /usr/bin/rust-lld ]
}

try_debian() {
  if ! debian_complete; then
    can_apt || return 1
    say "installing Debian's Rust with the source of std (about a minute)"
    apt_install rustc-web cargo-web rust-web-src rust-web-llvm || return 1
    # rust-lld is a link to one version of lld, which is a package of its own.
    if [ ! -x /usr/bin/rust-lld ]; then apt_install "$(basename "$(readlink /usr/bin/rust-lld)")" || return 1; fi
  fi
  debian_complete && write_shims debian /usr/bin/cargo /usr/bin/rustc
}

toolchain_ready() {
  case "${ONCEWARD_TOOLCHAIN:-auto}" in
    rustup) try_rustup && return ;;
    debian) try_debian && return ;;
    *) try_rustup && return; say "rustup has no std source for us; trying Debian's packages"; try_debian && return ;;
  esac
  die "no Rust toolchain here can build for $WASM_TARGET (needs 1.$MIN_RUST_MINOR or newer, with rust-src)." \
    "With rustup:  rustup update stable && rustup component add rust-src && rustup target add $WASM_TARGET" \
    "On Debian:    sudo apt-get install --no-install-recommends rustc-web cargo-web rust-web-src rust-web-llvm lld-22" \
    "Then run the same command again."
}

# Lints are no part of running: without them `make lint` says so.
lint_tools() {
  if ! cargo clippy --version >/dev/null 2>&1 || ! cargo fmt --version >/dev/null 2>&1; then
    { have rustup && limited rustup component add clippy rustfmt >&2; } ||
      { ! have rustup && can_apt && apt_install rust-web-clippy rustfmt-web; } ||
      say "could not install clippy and rustfmt; make lint needs them"
  fi
  [ "$("$SHIMS/where")" = debian ] || return 0
  [ -x /usr/bin/clippy-driver ] || { can_apt && apt_install rust-web-clippy; } ||
    say "no clippy for Debian's Rust; make lint leaves out the wasm part"
}

# write_shims KIND CARGO RUSTC
write_shims() {
  mkdir -p "$SHIMS"
  shim where "case \"\${1:-}\" in cargo) echo '$2' ;; rustc) echo '$3' ;; *) echo '$1' ;; esac"
  shim cargo 'case "${1:-}" in +*) shift ;; esac' \
    "RUSTC_BOOTSTRAP=1 RUSTC='$3' exec '$2' \"\$@\""
  # worker-build wants to see a prebuilt std for wasm, and then builds its own: any folder will do.
  shim rustc 'case "${1:-}" in +*) shift ;; esac' \
    "if [ \"\$*\" = '--target $WASM_TARGET --print target-libdir' ]; then echo '$SHIMS'; exit 0; fi" "exec '$3' \"\$@\""
  shim rustup "echo 'rust-src (installed)'"
}

shim() {
  local path="$SHIMS/$1"
  shift
  { echo '#!/bin/sh'; printf '%s\n' "$@"; } >"$path.new"
  chmod +x "$path.new"
  mv "$path.new" "$path"
}
