#!/usr/bin/env bash
# Everything that must hold. Starts what it needs and stops what it started.
set -euo pipefail
cd "$(dirname "$0")/.."
began=$SECONDS
step() { echo; echo "== $* ($((SECONDS - began)) s)"; }

step "set-up"
scripts/setup.sh postgres docker browser node
(cd e2e && npm ci --ignore-scripts --no-audit --no-fund --silent)

step "build"
mkdir -p bin
go build -o bin/ ./cmd/gpunexd ./cmd/gpunex-agent
export GPUNEX_BIN="$PWD/bin"

step "Docker engine"
scripts/dockerd.sh start
trap 'scripts/dockerd.sh stop' EXIT
scripts/build-image.sh

step "check"
scripts/check.sh

step "tests"
GPUNEX_REQUIRE_DOCKER=1 GPUNEX_REQUIRE_BROWSER=1 go test -count=1 -timeout 20m -p 2 ./...

step "demo"
mkdir -p .cache
bin/gpunexd demo --log .cache/demo.log || { tail -n 60 .cache/demo.log; exit 1; }

step "done in $((SECONDS - began)) s"
