#!/usr/bin/env bash
# tools.sh [--cached]: builds helm and helm-unittest, installs yamllint and a validator with the Kubernetes schemas, and prints their directory. The
# directory ${XDG_CACHE_HOME:-~/.cache}/pitwall/helm-<hash> is named after this file's hash, so that each tool is built only once. --cached prints
# nothing if the directory does not exist yet. Needs Go 1.26 and a few minutes.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/go/folder.sh
. "$here/../go/folder.sh"

helm=helm.sh/helm/v3/cmd/helm@v3.21.4
unittest=github.com/helm-unittest/helm-unittest
unittest_version=v1.1.2
jsonpath=github.com/vmware-labs/yaml-jsonpath@v0.3.2=github.com/helm-unittest/yaml-jsonpath@v0.4.0
python_packages="yamllint==1.38.0 kubernetes-validate==1.37.0"

enter_cache helm "$here/tools.sh" "${1:-}"
{
  [[ -x $folder/helm ]] || GOBIN=$folder "$go" install "$helm"
  if [[ ! -x $folder/helm-unittest ]]; then
    go_wrapper "$folder/unittest"
    (cd "$folder/unittest" && "$go" mod edit "-require=$unittest@$unittest_version" "-replace=$jsonpath" &&
      "$go" get "$unittest/cmd/helm-unittest@$unittest_version" &&
      "$go" build -o "$folder/helm-unittest" "$unittest/cmd/helm-unittest")
  fi
  python3 -m venv "$folder/venv"
  # shellcheck disable=SC2086
  "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check $python_packages
} >&2
leave_cache
