#!/usr/bin/env bash
# prometheus_suite.sh [PITWALL]: runs Prometheus' own promqltest scripts through Pitwall's runner. Prints one line per file, then the unsupported
# parts of all files, grouped by reason. Downloads the Prometheus module of tests/oracle (needs any Go). The scripts are not in this repository, and
# this program is not a test: docs/promql.md lists the failures and their reasons.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
pitwall=${1:-$repo/build/release/bin/pitwall}
version=$(sed -n 's/^require github.com\/prometheus\/prometheus //p' "$repo/tests/oracle/go.mod")
folder=$(cd / && GOFLAGS= GOWORK=off go mod download -json "github.com/prometheus/prometheus@$version" |
  sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\{0,1\}$/\1/p')/promql/promqltest/testdata

for script in "$folder"/*.test; do
  printf '%-26s %s\n' "$(basename "$script")" "$("$pitwall" rules golden "$script" 2>/dev/null | tail -n 1)"
done
echo
"$pitwall" rules golden "$folder"/*.test 2>&1 >/dev/null | sed 's/^unsupported: //' || true
"$pitwall" rules golden "$folder"/*.test 2>/dev/null | tail -n 1 || true
