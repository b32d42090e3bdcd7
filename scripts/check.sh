#!/usr/bin/env bash
# What can be checked in about a minute, without services: format, vet, architecture, lint where it is built, unit tests.
set -euo pipefail
cd "$(dirname "$0")/.."
unformatted=$(git ls-files '*.go' | grep -v '_templ\.go$' | xargs gofmt -l)
if [ -n "$unformatted" ]; then
  echo "check: not formatted by gofmt:" >&2
  echo "$unformatted" >&2
  exit 1
fi
go vet ./...
go test -count=1 ./internal/archtest
if [ -x .cache/bin/golangci-lint ]; then scripts/lint.sh; else echo "check: lint left out until 'make lint' has built it"; fi
go test -short ./internal/money ./internal/id ./internal/fault ./internal/calendar ./internal/gpu ./internal/proof ./internal/protocol ./internal/i18n
