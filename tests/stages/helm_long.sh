# The chart with helm, helm-unittest, yamllint and the schemas of Kubernetes, which are built first where they are missing.
. "$(dirname "$0")/common.sh"
cmake --preset release >/dev/null
cmake --build build/release -j "$jobs" --target pitwall
tests/helm/tools.sh
output=$(mktemp)
trap 'rm -f "$output"' EXIT
rc=0
python3 tests/helm/chart_test.py build/release/bin/pitwall --all 2>&1 | tee "$output" || rc=$?
echo "$(grep -c ' \.\.\. ok$' "$output") $(grep -cE ' \.\.\. (FAIL|ERROR)$' "$output")" >>"$PITWALL_COUNTS"
sed -nE 's/^(test_\S+) .* \.\.\. (FAIL|ERROR)$/FAILED: \1/p' "$output"
exit "$rc"
