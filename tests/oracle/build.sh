#!/usr/bin/env bash
# build.sh: builds the oracle and prints the path of the binary. The directory ${XDG_CACHE_HOME:-~/.cache}/pitwall/oracle-<hash> is named after the
# sources' hash, so that the oracle is built only once. Needs a Go at least as new as in go.mod; tests/go/go.sh installs it if there is none.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pitwall
export GOTOOLCHAIN=local GOFLAGS= GOWORK=off CGO_ENABLED=0

say() { printf 'oracle: %s\n' "$*" >&2; }

hash=$(cd "$here" && cat go.mod ./*.go build.sh | sha256sum | cut -c1-16)
folder=$cache/oracle-$hash
if [[ ! -x $folder/oracle ]]; then
  mkdir -p "$cache"
  exec 9>"$cache/oracle.lock"
  flock 9
fi
if [[ ! -x $folder/oracle ]]; then
  needed=$(sed -n 's/^go //p' "$here/go.mod")
  go=$("$here/../go/go.sh" "$needed")
  say "building with $go"
  mkdir -p "$folder"
  cp "$here/go.mod" "$here"/*.go "$folder"
  # -mod=mod completes the copy's go.mod and go.sum. "go mod tidy" would also require the modules that only tests of modules need.
  (cd "$folder" && "$go" build -mod=mod -trimpath -ldflags '-s -w' -o oracle.part . && mv oracle.part oracle) >&2
fi
printf '%s\n' "$folder/oracle"
