#!/usr/bin/env bash
# Page build. build.sh FOLDER [COMMAND…] builds the page in FOLDER and writes the embedded files to FOLDER/page_files.cc.
# With a command, it runs the command instead, with the sources and packages in place: build.sh FOLDER tsc --noEmit
#
# The source tree stays clean, because the build uses copies in FOLDER. Run toolchain.sh install first.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?build.sh FOLDER [COMMAND…]}
shift
mapfile -t paths < <("$here/toolchain.sh" path)
((${#paths[@]} == 2)) || exit 1
mkdir -p "$folder"
cd "$folder"
ln -sfn "${paths[1]}" node_modules
# Copy instead of linking, because tools resolve packages from a file's real location.
for name in src browser; do
  rm -rf "./$name"
  cp -rp "$here/$name" "$name"
done
cp -p "$here"/*.ts "$here"/*.json "$here"/*.mjs "$here"/index.html "$here"/csp.txt .
cp -p "$here/../history/api/openapi.yaml" "$here/../../rules/metrics.yaml" .
export PATH=${paths[0]}:$PWD/node_modules/.bin:$PATH
openapi-typescript openapi.yaml -o src/api/openapi.ts >openapi.log 2>&1 || { cat openapi.log >&2; exit 1; }
if (($#)); then
  exec "$@"
fi
tsc --noEmit
vite build --logLevel warn
node pack.mjs dist page_files.cc
