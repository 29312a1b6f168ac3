# Tests the chart with helm, helm-unittest, yamllint, and the Kubernetes schemas. Also tests stopping Jobs against a real kube-apiserver and etcd, and
# the chart's alerts in a real Prometheus, with each service in a separate process. Missing tools are built first.
. "$(dirname "$0")/../parts/stage.sh"
cmake --preset release >/dev/null
cmake --build build/release -j "$jobs" --target pitwall
tests/helm/tools.sh
tests/kube/build.sh
rc=0
run_unittest tests/helm/chart_test.py build/release/bin/pitwall --all || rc=$?
run_unittest tests/kube/kube_test.py build/release/bin/pitwall || rc=$?
run_unittest tests/helm/monitoring_test.py build/release/bin/pitwall --kafka || rc=$?
exit "$rc"
