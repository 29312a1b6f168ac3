#!/usr/bin/env bash
# build_prometheus.sh [--cached]: builds a Prometheus server and prints the path of the binary. The directory
# ${XDG_CACHE_HOME:-~/.cache}/pitwall/prometheus-<hash> is named after this file's hash, so that the server is built only once. --cached prints
# nothing if it has not been built yet. Needs Go 1.26 and a few minutes.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/go/folder.sh
. "$here/../go/folder.sh"

version=v0.314.0  # module version of Prometheus 3.14, the same as the oracle's
program=github.com/prometheus/prometheus/cmd/prometheus

inside=/prometheus
enter_cache prometheus "$here/build_prometheus.sh" "${1:-}"
{
  go_wrapper "$folder/promapi"
  (cd "$folder/promapi" && "$go" get "$program@$version" && "$go" build -trimpath -ldflags '-s -w' -o "$folder/prometheus" "$program")
} >&2
leave_cache
