#!/usr/bin/env bash
# golangci-lint, built once into .cache/bin from the module proxy.
set -euo pipefail
cd "$(dirname "$0")/.."
version=v2.15.0
tool=.cache/bin/golangci-lint
if ! "$tool" version 2>/dev/null | grep -q "${version#v}"; then
  echo "lint: building golangci-lint $version once (about 3 minutes)"
  GOBIN="$PWD/.cache/bin" go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version"
fi
"$tool" run ./...
