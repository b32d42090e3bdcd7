#!/usr/bin/env bash
# Starts a Docker engine when none answers, and stops only one that it started itself.
set -euo pipefail
cd "$(dirname "$0")/.."
pidfile=.cache/dockerd.pid
log=.cache/dockerd.log
sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo

answers() { docker info >/dev/null 2>&1; }

ours() { [ "$(cat "/proc/$1/comm" 2>/dev/null)" = dockerd ]; }

start() {
  if answers; then return 0; fi
  if ! command -v dockerd >/dev/null; then
    echo "dockerd: no Docker engine answers and none is installed: scripts/setup.sh docker" >&2
    return 1
  fi
  if [ -n "$sudo" ]; then
    if $sudo docker info >/dev/null 2>&1; then
      echo "dockerd: a Docker engine runs, but you may not use it: sudo usermod -aG docker $(id -un), then sign in again" >&2
    else
      echo "dockerd: no Docker engine answers: sudo systemctl start docker, or run this as root" >&2
    fi
    return 1
  fi
  mkdir -p .cache
  for args in "" "--storage-driver=vfs" "--storage-driver=vfs --iptables=false --ip6tables=false"; do
    # A pid file that a killed engine left would keep a new one from starting.
    if [ -f /var/run/docker.pid ] && ! ours "$(cat /var/run/docker.pid)"; then rm -f /var/run/docker.pid; fi
    # shellcheck disable=SC2086 # several arguments
    setsid nohup dockerd $args >"$log" 2>&1 </dev/null &
    pid=$!
    for _ in $(seq 300); do
      if answers; then
        echo "$pid" >"$pidfile"
        [ -z "$args" ] || echo "dockerd: started with $args, since the default settings don't work here"
        return 0
      fi
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  echo "dockerd: it doesn't start here; the end of $log:" >&2
  tail -n 5 "$log" >&2
  return 1
}

stop() {
  [ -f "$pidfile" ] || return 0
  pid=$(cat "$pidfile")
  rm -f "$pidfile"
  ours "$pid" || return 0
  kill "$pid" 2>/dev/null || return 0
  for _ in $(seq 200); do
    ours "$pid" || return 0
    sleep 0.1
  done
  kill -9 "$pid" 2>/dev/null || true
}

case "${1:-}" in
  start) start ;;
  stop) stop ;;
  *) echo "usage: scripts/dockerd.sh start|stop" >&2; exit 2 ;;
esac
