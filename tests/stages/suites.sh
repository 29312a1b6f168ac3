# All other ctests: golden scripts, property tests, scenarios, and integration tests that do not need a separate stage. The chart tests and the tests
# that stop Jobs run on a real kube-apiserver if it has been built.
. "$(dirname "$0")/parts/stage.sh"
rc=0
run_ctest build/release -LE '^(unit|lint|kafka|e2e|life|bench|soak|damage|trainings)$' || rc=$?
if [[ -n $(tests/kube/build.sh --cached) && -n $(tests/helm/tools.sh --cached) ]]; then
  run_unittest tests/kube/kube_test.py build/release/bin/pitwall || rc=$?
else
  echo "NOTE: kube-apiserver is not built; the chart and stopping Jobs are not tested with it (tests/run.sh --only helm_long builds it)"
fi
exit "$rc"
