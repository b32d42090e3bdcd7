#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build-image.sh
mkdir -p .cache
bin/gpunexd demo --log .cache/demo.log || { echo "what the programs said is in .cache/demo.log" >&2; exit 1; }
