#!/usr/bin/env bash
# Runs a command with a Docker engine that answers, and stops the engine after if it had to be started.
set -euo pipefail
here=$(dirname "$0")
"$here/dockerd.sh" start
trap '"$here/dockerd.sh" stop' EXIT
"$@"
