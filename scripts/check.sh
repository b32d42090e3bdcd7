#!/usr/bin/env bash
# What can be checked in about a minute, without services: format, vet, architecture, lint where it is built, unit tests.
set -euo pipefail
cd "$(dirname "$0")/.."
unformatted=$(git ls-files -co --exclude-standard '*.go' | grep -v '_templ\.go$' | while read -r f; do if [ -f "$f" ]; then gofmt -l "$f"; fi; done)
if [ -n "$unformatted" ]; then
  printf 'check: gofmt would change:\n%s\n' "$unformatted" >&2
  exit 1
fi
for script in .ci/run scripts/*.sh; do bash -n "$script"; done
if command -v shellcheck >/dev/null; then shellcheck .ci/run scripts/*.sh; fi
go vet ./...
go test -count=1 ./internal/archtest
go test ./internal/money ./internal/id ./internal/fault ./internal/calendar ./internal/gpu ./internal/proof ./internal/protocol ./internal/i18n
if [ -x .cache/bin/golangci-lint ]; then
  scripts/lint.sh
else
  echo "check: LINT LEFT OUT: make lint builds the linter once (about 3 minutes)"
fi
