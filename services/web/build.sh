#!/usr/bin/env bash
# Build of the page: build.sh FOLDER [COMMAND…] builds it in FOLDER, with its embedded files in FOLDER/page_files.cc. With a
# command, it runs that instead, with the sources and packages in place: build.sh FOLDER tsc --noEmit
#
# The source tree stays clean, because FOLDER gets copies of it. Requires toolchain.sh install.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?build.sh FOLDER [COMMAND…]}
shift
mapfile -t paths < <("$here/toolchain.sh" path)
((${#paths[@]} == 2)) || exit 1
mkdir -p "$folder"
cd "$folder"
ln -sfn "${paths[1]}" node_modules
# Copies instead of links, because tools resolve packages from a file's real location.
for name in src browser; do
  rm -rf "./$name"
  cp -rp "$here/$name" "$name"
done
cp -p "$here"/*.ts "$here"/*.json "$here"/*.mjs "$here"/index.html "$here"/csp.txt .
cp -p "$here/../history/api/openapi.yaml" "$here/../../rules/metrics.yaml" .
export PATH=${paths[0]}:$PWD/node_modules/.bin:$PATH
if (($#)); then
  exec "$@"
fi
tsc --noEmit
vite build --logLevel warn
node pack.mjs dist page_files.cc
