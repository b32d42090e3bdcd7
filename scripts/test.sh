#!/usr/bin/env bash
# Everything that must hold. Starts what it needs and stops what it started.
set -euo pipefail
cd "$(dirname "$0")/.."
step() { printf '\n== %s (%d s)\n' "$*" "$SECONDS"; }

step "set-up"
scripts/setup.sh postgres docker browser node
. scripts/node-path.sh
(cd e2e && npm ci --ignore-scripts --no-audit --no-fund --silent)

step "build"
mkdir -p bin .cache
go build -o bin/ ./cmd/gpunexd ./cmd/gpunex-agent
export GPUNEX_BIN="$PWD/bin"

step "generated pages and assets are current"
scripts/generate.sh --check

step "format, vet, architecture"
scripts/check.sh

if [ ! -x .cache/bin/golangci-lint ]; then # check.sh left it out
  step "lint"
  scripts/lint.sh
fi

step "Docker engine"
trap 'scripts/dockerd.sh stop' EXIT
scripts/dockerd.sh start
scripts/build-image.sh

step "tests, with simulated worlds and a browser"
GPUNEX_REQUIRE_DOCKER=1 GPUNEX_REQUIRE_BROWSER=1 go test -count=1 -timeout 20m -p 2 ./...

step "demo"
scripts/demo.sh || { tail -n 60 .cache/demo.log; exit 1; }

step "passed"
