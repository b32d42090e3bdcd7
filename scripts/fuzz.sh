#!/usr/bin/env bash
# Runs every fuzz target for 10 seconds; FUZZTIME=1m for longer.
set -euo pipefail
cd "$(dirname "$0")/.."
found=0
while IFS=: read -r file _ rest; do
  name=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]+).*/\1/' <<<"$rest")
  echo "== $(dirname "$file") $name"
  go test "./$(dirname "$file")" -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-10s}" </dev/null
  found=$((found + 1))
done < <(grep -rn '^func Fuzz' --include='*_test.go' cmd internal)
echo "$found fuzz targets ran"
