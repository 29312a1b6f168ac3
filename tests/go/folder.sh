# Sourced by scripts that build an external Go program once per machine. The flags are the same everywhere, so that all builds share one build cache.
#
# enter_cache NAME FILE [--cached]: sets `folder` to ${XDG_CACHE_HOME:-~/.cache}/pitwall/NAME-<hash of FILE>. If the folder is not finished yet, returns with
# a lock on NAME; else prints the folder and exits. With --cached it never builds, and prints nothing if the folder is not finished. If `inside` is set,
# that file in the folder is printed instead.
# go_wrapper FOLDER: creates a module of our own in which external programs are built.
# leave_cache: marks the folder as finished and prints it.
# shellcheck shell=bash

go_scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0 GOFLAGS=-buildvcs=false

enter_cache() {
  local name=$1 file=$2 cache=${XDG_CACHE_HOME:-$HOME/.cache}/pitwall
  folder=$cache/$name-$(sha256sum "$file" | cut -c1-16)
  if [[ ! -e $folder/done ]]; then
    if [[ ${3:-} == --cached ]]; then exit 0; fi
    mkdir -p "$folder"
    exec 9>"$cache/$name.lock"
    flock 9
  fi
  if [[ -e $folder/done ]]; then
    printf '%s\n' "$folder${inside:-}"
    exit 0
  fi
  go=$("$go_scripts/go.sh" 1.26)
}

go_wrapper() {
  mkdir -p "$1"
  printf 'module pitwall/tests/%s\n\ngo 1.26.0\n' "$(basename "$1")" >"$1/go.mod"
  printf 'package wrapper\n' >"$1/empty.go"
}

leave_cache() {
  touch "$folder/done"
  printf '%s\n' "$folder${inside:-}"
}
