#!/bin/sh
# Builds gpunex/hello:1 from testimage/ without a registry: one static binary, no base image. Quick when nothing changed.
set -eu
cd "$(dirname "$0")/.."
image=gpunex/hello:1
source=$(sha256sum <testimage/main.go | cut -d' ' -f1)
if have=$(docker image inspect -f '{{index .Config.Labels "com.gpunex.source"}}' "$image" 2>/dev/null) && [ "$have" = "$source" ]; then
	exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$dir/hello" ./testimage
tar -C "$dir" -cf "$dir/image.tar" hello
docker import --change 'ENTRYPOINT ["/hello"]' --change "LABEL com.gpunex.source=$source" "$dir/image.tar" "$image" >/dev/null
echo "built $image"
