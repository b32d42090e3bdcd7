#!/usr/bin/env bash
# Starts a Docker engine when none answers, and stops only one that it started itself.
set -euo pipefail
cd "$(dirname "$0")/.."
pidfile=.cache/dockerd.pid
log=.cache/dockerd.log

start() {
  if docker info >/dev/null 2>&1; then return 0; fi
  command -v dockerd >/dev/null || { echo "dockerd: no Docker engine answers and none is installed (scripts/setup.sh docker)" >&2; return 1; }
  [ "$(id -u)" = 0 ] || { echo "dockerd: no Docker engine answers; start it (sudo systemctl start docker) or run this as root" >&2; return 1; }
  mkdir -p .cache
  for args in "" "--storage-driver=vfs" "--storage-driver=vfs --iptables=false"; do
    rm -f /var/run/docker.pid
    # shellcheck disable=SC2086
    setsid nohup dockerd $args >"$log" 2>&1 </dev/null &
    pid=$!
    for _ in $(seq 150); do
      if docker info >/dev/null 2>&1; then
        echo "$pid" >"$pidfile"
        return 0
      fi
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.2
    done
    kill "$pid" 2>/dev/null || true
    echo "dockerd: it didn't start with '${args:-default settings}'; see $log" >&2
  done
  tail -5 "$log" >&2
  return 1
}

stop() {
  [ -f "$pidfile" ] || return 0
  pid=$(cat "$pidfile")
  rm -f "$pidfile"
  kill "$pid" 2>/dev/null || return 0
  for _ in $(seq 100); do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -9 "$pid" 2>/dev/null || true
}

case "${1:-}" in
  start) start ;;
  stop) stop ;;
  *) echo "usage: scripts/dockerd.sh start|stop" >&2; exit 2 ;;
esac
