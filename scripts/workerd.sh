#!/bin/sh
# Miniflare and wrangler start workerd through this (MINIFLARE_WORKERD_PATH): where the kernel can do it,
# workerd dies with its parent even when that is killed with -9, so that nothing lingers on the port.
workerd="$(dirname "$0")/../node_modules/.bin/workerd"
if command -v setpriv >/dev/null 2>&1; then
  exec setpriv --pdeathsig KILL "$workerd" "$@"
fi
exec "$workerd" "$@"
