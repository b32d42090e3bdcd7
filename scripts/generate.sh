#!/usr/bin/env bash
# Makes pages (templ) and assets (esbuild, Tailwind) from their sources. With --check, fails when what is committed
# wasn't current.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/node-path.sh

sums() { find internal/web/ui -name '*_templ.go' -print0 | sort -z | xargs -0 sha256sum; find internal/web/assets/dist -type f -print0 | sort -z | xargs -0 sha256sum; }

before=$(sums)
go tool templ generate -path internal/web/ui -log-level warn
npm ci --no-audit --no-fund --silent
npm run build --silent
if [ "${1:-}" = --check ] && [ "$before" != "$(sums)" ]; then
  echo "generate: these files weren't current; run make generate and commit them:" >&2
  diff <(echo "$before") <(sums) | sed -nE 's/^[<>] [0-9a-f]+  //p' | sort -u >&2
  exit 1
fi
