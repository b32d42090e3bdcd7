#!/usr/bin/env bash
# Installs what the named parts need from Debian's or Ubuntu's packages: postgres docker browser node. Quick when all is
# there.
set -euo pipefail

need() {
  case "$1" in
    postgres) compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || echo postgresql ;;
    docker)
      command -v dockerd >/dev/null || echo docker.io
      command -v docker >/dev/null || [ -e /usr/bin/docker ] || apt_has docker-cli
      command -v iptables >/dev/null || echo iptables
      command -v ip >/dev/null || echo iproute2 ;;
    browser) [ -x /usr/bin/chromium ] || echo chromium ;;
    node) command -v npm >/dev/null || echo nodejs npm ;;
    *) echo "setup: no part '$1': postgres, docker, browser, node" >&2; exit 2 ;;
  esac
}

# apt_has names a package where this release has it: newer Debian splits the docker command from docker.io.
apt_has() { if apt-cache show "$1" >/dev/null 2>&1; then echo "$1"; fi; }

# shellcheck disable=SC2086 # several packages
missing() { for part in "$@"; do need "$part"; done | sort -u | tr '\n' ' '; }

# newer_node brings Node.js 22 into .cache from the npm registry where the distribution's is older than 20, which the
# browser tests need: Debian 12 has 18. scripts/node-path.sh puts it on the PATH.
newer_node() {
  [[ " $* " == *" node "* ]] || return 0
  local version machine
  version=$(. "$(dirname "$0")/node-path.sh" && node --version)
  version=${version#v}
  [ "${version%%.*}" -lt 20 ] || return 0
  case "$(uname -m)" in x86_64) machine=x64 ;; aarch64) machine=arm64 ;; *) echo "setup: Node.js $version is too old, install 20 or newer" >&2; return 1 ;; esac
  echo "setup: Node.js $version is older than 20; bringing 22 into .cache/node"
  npm install --prefix "$(dirname "$0")/../.cache/node" --no-save --ignore-scripts --no-audit --no-fund --silent "node-linux-$machine@22"
}

packages=$(missing "$@")
[ -n "${packages// /}" ] || { newer_node "$@"; exit; }

if ! command -v apt-get >/dev/null; then
  echo "setup: this is no Debian or Ubuntu; install these yourself: $packages" >&2
  exit 1
fi
sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo
apt() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq "$@"; }
echo "setup: installing $packages"
apt update
# The programs are enough: a database that starts by itself would only be in the way.
if [[ " $packages " == *" postgresql "* && ! -e /etc/postgresql-common/createcluster.conf ]]; then
  $sudo mkdir -p /etc/postgresql-common
  echo 'create_main_cluster = false' | $sudo tee /etc/postgresql-common/createcluster.conf >/dev/null
fi
packages=$(missing "$@") # the lists are newer now
# shellcheck disable=SC2086 # several packages
apt install -y --no-install-recommends -o Dpkg::Options::=--force-confold $packages >/dev/null
newer_node "$@"
