#!/usr/bin/env bash
# go.sh VERSION: prints the path of a Go toolchain of at least VERSION (1.26). If there is none, installs one: Debian's Go downloads a newer Go
# through the module proxy into ${XDG_CACHE_HOME:-~/.cache}/pitwall/go-<version>.
set -euo pipefail

needed=${1:?go.sh: the version is missing; usage: go.sh 1.26}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pitwall
toolchain=1.26.8  # the newer Go; see bootstrap
export GOTOOLCHAIN=local GOFLAGS= GOWORK=off

say() { printf 'go.sh: %s\n' "$*" >&2; }

as_root() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

# Prints the version of a Go binary without the prefix "go", e.g. 1.26.8. Prints nothing for any other file.
version_of() { "$1" env GOVERSION 2>/dev/null | sed -n 's/^go\([0-9][0-9.]*\).*/\1/p'; }

at_least() { [[ -n $1 && $(printf '%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

# Prints the path of every Go binary on this machine, one per line.
all_go() {
  type -ap go || true
  local candidate
  for candidate in "$cache"/go-*/bin/go /usr/local/go/bin/go /usr/lib/go-*/bin/go /usr/lib/go/bin/go; do
    if [[ -x $candidate ]]; then printf '%s\n' "$candidate"; fi
  done
}

find_go() {  # VERSION: prints the first Go that is at least this version
  local candidate
  while read -r candidate; do
    if at_least "$(version_of "$candidate")" "$1"; then
      printf '%s\n' "$candidate"
      return
    fi
  done < <(all_go)
  return 1
}

install_go() {
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends golang-go)
  as_root "${install[@]}" || { as_root apt-get update && as_root "${install[@]}"; }
}

# An old Go downloads a newer one as the module golang.org/toolchain but cannot run it from there: a module has no executable files, and no go.mod in
# subdirectories (the toolchain's are called _go.mod).
bootstrap() {
  local old=$1 arch module source target=$cache/go-$toolchain part
  arch=$("$old" env GOARCH)
  module=golang.org/toolchain@v0.0.1-go$toolchain.linux-$arch
  say "fetching Go $toolchain by $old, $(version_of "$old")"
  source=$(cd / && "$old" mod download -json "$module" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\{0,1\}$/\1/p')
  [[ -d $source ]] || { say "no folder for $module"; return 1; }
  part=$(mktemp -d "$cache/go-$toolchain.XXXXXX")
  cp -r "$source/." "$part"
  chmod -R u+w "$part"
  chmod +x "$part"/bin/* "$part"/pkg/tool/*/*
  find "$part" -name _go.mod -execdir mv {} go.mod \;
  rm -rf "$target"
  mv "$part" "$target"
}

if find_go "$needed"; then exit; fi
mkdir -p "$cache"
exec 8>"$cache/go.lock"
flock 8
if find_go "$needed"; then exit; fi
if ! old=$(find_go 1.19); then
  say "installing Debian's Go"
  install_go >&2
  old=$(find_go 1.19)
fi
bootstrap "$old" >&2
find_go "$needed" || { say "no Go $needed (the module proxy has $toolchain); install one"; exit 1; }
