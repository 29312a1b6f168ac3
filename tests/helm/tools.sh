#!/usr/bin/env bash
# tools.sh [--cached]: builds helm and helm-unittest, installs yamllint and a validator with the schemas of Kubernetes, and prints the
# folder that has them. Nothing is built twice: the folder ${XDG_CACHE_HOME:-~/.cache}/pitwall/helm-<hash> is
# named after this file. --cached prints nothing where it is not there yet. Needs Go 1.26 and some minutes.
set -euo pipefail

helm=helm.sh/helm/v3/cmd/helm@v3.21.4
unittest=github.com/helm-unittest/helm-unittest
unittest_version=v1.1.2
jsonpath=github.com/vmware-labs/yaml-jsonpath@v0.3.2=github.com/helm-unittest/yaml-jsonpath@v0.4.0
python_packages="yamllint==1.38.0 kubernetes-validate==1.37.0"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pitwall
folder=$cache/helm-$(sha256sum "$here/tools.sh" | cut -c1-16)
export GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0 GOFLAGS=-buildvcs=false

if [[ ! -e $folder/done ]]; then
  [[ ${1:-} != --cached ]] || exit 0
  mkdir -p "$cache"
  exec 9>"$cache/helm.lock"
  flock 9
fi
if [[ ! -e $folder/done ]]; then
  "$here/../oracle/build.sh" >&2  # gets a Go that is new enough
  go=
  for candidate in $(type -ap go) "$cache"/go-*/bin/go /usr/local/go/bin/go; do
    found=$([[ -x $candidate ]] && "$candidate" env GOVERSION | sed -n 's/^go\([0-9][0-9.]*\).*/\1/p' || true)
    if [[ -n $found && $(printf '%s\n' "$found" 1.26 | sort -V | head -n 1) == 1.26 ]]; then
      go=$candidate
      break
    fi
  done
  [[ -n $go ]] || { echo "tools.sh: no Go 1.26 found; install one" >&2; exit 1; }
  mkdir -p "$folder/unittest"
  {
    [[ -x $folder/helm ]] || GOBIN=$folder "$go" install "$helm"
    if [[ ! -x $folder/helm-unittest ]]; then
      printf 'module pitwall/tests/helm\n\ngo 1.26.0\n' >"$folder/unittest/go.mod"
      printf 'package helm\n' >"$folder/unittest/empty.go"
      (cd "$folder/unittest" && "$go" mod edit "-require=$unittest@$unittest_version" "-replace=$jsonpath" &&
        "$go" get "$unittest/cmd/helm-unittest@$unittest_version" &&
        "$go" build -o "$folder/helm-unittest" "$unittest/cmd/helm-unittest")
    fi
    python3 -m venv "$folder/venv"
    # shellcheck disable=SC2086
    "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check $python_packages
    touch "$folder/done"
  } >&2
fi
printf '%s\n' "$folder"
