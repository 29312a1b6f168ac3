#!/usr/bin/env bash
# Formats the sources of the page. Run toolchain.sh install first.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
mapfile -t paths < <(./toolchain.sh path)
((${#paths[@]} == 2)) || exit 1
for biome in "${paths[1]}"/@biomejs/cli-linux-*/biome; do
  exec "$biome" format --write .
done
