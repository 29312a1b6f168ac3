# Sourced by scripts that build a Go program of others once per machine. The flags are the same everywhere, so that one build
# cache serves all.
#
# enter_cache NAME FILE [--cached]: `folder` becomes ${XDG_CACHE_HOME:-~/.cache}/pitwall/NAME-<hash of FILE>. Returns where the
# folder is not finished yet, with a lock on NAME; else prints the folder and exits. With --cached it never builds: it prints
# nothing where the folder is not finished. Where `inside` is set, that file in the folder is printed.
# go_wrapper FOLDER: a module of ours in which programs of others are built.
# leave_cache: the folder is finished; prints it.
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
