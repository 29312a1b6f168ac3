#!/usr/bin/env bash
# build.sh [--cached]: builds kube-apiserver, kube-controller-manager, and kubeconform, downloads etcd, and prints their directory. The directory is
# named after this file's hash, so that each tool is built only once. --cached prints nothing if the tools have not been built yet. Takes 6 to 20
# minutes on two cores and 3 GiB of build cache.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/go/folder.sh
. "$here/../go/folder.sh"

kubernetes=1.36.3
staging=0.36.3
kubeconform=github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0
etcd=v3.6.16

enter_cache kube "$here/build.sh" "${1:-}"
{
  GOBIN=$folder "$go" install "$kubeconform"
  if [[ ! -x $folder/etcd ]]; then
    go_wrapper "$folder/etcd-module"
    printf 'package main\n\nimport (\n\t"os"\n\n\t"go.etcd.io/etcd/server/v3/etcdmain"\n)\n\nfunc main() { etcdmain.Main(os.Args) }\n' \
      >"$folder/etcd-module/empty.go"
    (cd "$folder/etcd-module" && "$go" get "go.etcd.io/etcd/server/v3/etcdmain@$etcd" &&
      "$go" build -ldflags '-s -w' -o "$folder/etcd.part" . && mv "$folder/etcd.part" "$folder/etcd")
  fi
  # Kubernetes requires its own modules at v0.0.0 and replaces them with folders. This build uses the released modules.
  (
    mkdir -p "$folder/kubernetes"
    cd "$folder/kubernetes"
    "$go" mod download "k8s.io/kubernetes@v$kubernetes"
    source=$("$go" env GOMODCACHE)/k8s.io/kubernetes@v$kubernetes
    {
      printf 'module kubeapitest\n\ngo 1.26.0\n\ngodebug default=go1.26\n\nrequire k8s.io/kubernetes v%s\n\nreplace (\n' $kubernetes
      sed -n "s/^\t\(k8s.io\/[a-z-]*\) => .\/staging.*/\t\1 => \1 v$staging/p" "$source/go.mod"
      echo ')'
    } >go.mod
    printf 'package wrapper\n' >empty.go
    base=k8s.io/component-base/version
    for program in kube-apiserver kube-controller-manager; do
      [[ ! -x $folder/$program ]] || continue
      "$go" get "k8s.io/kubernetes/cmd/$program@v$kubernetes"
      # Without a version the server reports v0.0.0-master.
      "$go" build -ldflags "-s -w -X $base.gitVersion=v$kubernetes -X $base.gitMajor=1 -X $base.gitMinor=36" \
        -o "$folder/$program.part" "k8s.io/kubernetes/cmd/$program"
      mv "$folder/$program.part" "$folder/$program"
    done
  )
} >&2
leave_cache
