#!/usr/bin/env bash
# Runs every fuzz target for ten seconds (FUZZTIME= for longer).
set -euo pipefail
cd "$(dirname "$0")/.."
while IFS=: read -r file _ rest; do
  name=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]+).*/\1/' <<<"$rest")
  echo "fuzz: $(dirname "$file") $name"
  go test "./$(dirname "$file")" -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-10s}"
done < <(grep -rn '^func Fuzz' --include='*_test.go' cmd internal)
