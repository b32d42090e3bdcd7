# Sourced by scripts that run Node.js: what setup.sh brought into .cache goes before the distribution's.
for brought in "$(dirname "${BASH_SOURCE[0]}")"/../.cache/node/node_modules/node-linux-*/bin; do
  if [ -x "$brought/node" ]; then
    PATH="$(cd "$brought" && pwd):$PATH"
    export PATH
  fi
done
