#!/usr/bin/env bash
# `make schema BUDGET=100`: checks docs/openapi.json against the rules of OpenAPI 3.1, and the lab build on workerd against
# docs/openapi.json: schemathesis makes up requests of every kind, and every answer has to be one that is declared.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$ROOT/scripts/toolchain.sh"
cd "$ROOT"

BUDGET="${BUDGET:-100}"
[[ "$BUDGET" =~ ^[1-9][0-9]*$ ]] || die "BUDGET is a number of seconds, not '$BUDGET'" "Use: make schema BUDGET=100"
WANTED="$ROOT/scripts/schemathesis/requirements.txt"
# Without symbolic links: its programs have this path written into them.
VENV="$(mkdir -p "$TOOLS" && cd -P "$TOOLS" && pwd)/schemathesis"
DEBIAN="Debian or Ubuntu: sudo apt-get install python3 python3-venv     macOS: brew install python"

can_venv() { python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; }

need_python() {
  can_venv && return
  if can_apt; then
    say "installing python3 and python3-venv from Debian"
    apt_install python3 python3-venv
    can_venv && return
  fi
  die "Python 3.10 or newer with venv is missing; it runs schemathesis." "$DEBIAN"
}

install() {
  # In a folder that was moved they no longer run.
  cmp -s "$WANTED" "$VENV/installed.txt" && "$VENV/bin/st" --version >/dev/null 2>&1 && return
  need_python
  say "installing schemathesis into .tools/schemathesis (a minute, once)"
  rm -rf "$VENV"
  python3 -m venv "$VENV" || die "python3 could not make a virtual environment." "$DEBIAN"
  "$VENV/bin/pip" install --quiet --disable-pip-version-check --requirement "$WANTED" >&2 ||
    die "pip could not install schemathesis." "Its message is above; with a network again, run the same command."
  cp "$WANTED" "$VENV/installed.txt"
}

"$ROOT/scripts/setup.sh"
with_lock schemathesis install
"$VENV/bin/openapi-spec-validator" --schema 3.1 docs/openapi.json
"$ROOT/scripts/build.sh" lab
ulimit -n "$(ulimit -Hn)" 2>/dev/null || say "could not raise the limit of open files from $(ulimit -n)"
# The tool leaves a cache where it runs.
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
ONCEWARD_SCHEMATHESIS="$VENV/bin/st" ONCEWARD_SCHEMATHESIS_CWD="$scratch" \
  "$NODE" scripts/schemathesis.mjs --max-time "$BUDGET" "$@"
