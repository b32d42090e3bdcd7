#!/usr/bin/env bash
# The platform with a simulated host and demo people, until Ctrl-C. Real containers if a Docker engine answers or can be
# started; without one the programs say that containers are simulated.
set -euo pipefail
cd "$(dirname "$0")/.."
trap 'scripts/dockerd.sh stop' EXIT
if scripts/dockerd.sh start; then scripts/build-image.sh; fi
bin/gpunexd dev --listen "${LISTEN:-:8080}" --data .data &
pid=$!
trap 'kill -TERM "$pid" 2>/dev/null || true' INT TERM
while true; do # a signal interrupts wait before the platform has stopped
  code=0
  wait "$pid" || code=$?
  kill -0 "$pid" 2>/dev/null || exit "$code"
done
