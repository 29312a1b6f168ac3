#!/usr/bin/env bash
# build_prometheus.sh [--cached]: builds a Prometheus server and prints the path of the binary. Nothing is built twice: the
# folder ${XDG_CACHE_HOME:-~/.cache}/pitwall/prometheus-<hash> is named after this file. --cached prints nothing where it
# has not been built yet. Needs Go 1.26, as tests/oracle/build.sh finds or gets it, and some minutes.
set -euo pipefail

version=v0.314.0  # the module's of Prometheus 3.14, also the oracle's
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pitwall
folder=$cache/prometheus-$(sha256sum "$here/build_prometheus.sh" | cut -c1-16)
export GOTOOLCHAIN=local GOFLAGS= GOWORK=off CGO_ENABLED=0

if [[ ! -x $folder/prometheus ]]; then
  [[ ${1:-} != --cached ]] || exit 0
  mkdir -p "$cache"
  exec 9>"$cache/prometheus.lock"
  flock 9
fi
if [[ ! -x $folder/prometheus ]]; then
  "$here/../oracle/build.sh" >&2  # gets a Go that is new enough
  go=
  for candidate in $(type -ap go) "$cache"/go-*/bin/go /usr/local/go/bin/go; do
    found=$([[ -x $candidate ]] && "$candidate" env GOVERSION | sed -n 's/^go\([0-9][0-9.]*\).*/\1/p' || true)
    if [[ -n $found && $(printf '%s\n' "$found" 1.26 | sort -V | head -n 1) == 1.26 ]]; then
      go=$candidate
      break
    fi
  done
  [[ -n $go ]] || { echo "build_prometheus.sh: no Go 1.26 found; install one" >&2; exit 1; }
  mkdir -p "$folder"
  printf 'module pitwall/tests/promapi\n\ngo 1.26.0\n' >"$folder/go.mod"
  printf 'package promapi\n' >"$folder/empty.go"
  (cd "$folder" && "$go" get "github.com/prometheus/prometheus/cmd/prometheus@$version" &&
    "$go" build -trimpath -ldflags '-s -w' -o prometheus.part github.com/prometheus/prometheus/cmd/prometheus &&
    mv prometheus.part prometheus) >&2
fi
printf '%s\n' "$folder/prometheus"
