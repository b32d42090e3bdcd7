#!/usr/bin/env bash
# Installs what the named parts need, from Debian's or Ubuntu's packages: postgres docker browser node.
set -euo pipefail

need() {
  case "$1" in
    postgres) compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || echo postgresql ;;
    docker)
      command -v dockerd >/dev/null || echo docker.io
      command -v iptables >/dev/null || echo iptables ;;
    browser) [ -x /usr/bin/chromium ] || echo chromium ;;
    node) command -v npm >/dev/null || echo nodejs npm ;;
    *) echo "setup: no part '$1': postgres, docker, browser, node" >&2; exit 2 ;;
  esac
}

packages=()
for part in "$@"; do
  found=$(need "$part")
  for p in $found; do packages+=("$p"); done
done
[ ${#packages[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup: install these yourself, this is no Debian or Ubuntu: ${packages[*]}" >&2
  exit 1
fi
sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo
echo "setup: installing ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# The binaries are enough: a cluster that starts by itself would only be in the way.
if [[ " ${packages[*]} " == *" postgresql "* ]]; then
  $sudo mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' | $sudo tee /etc/postgresql-common/createcluster.conf >/dev/null
fi
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
