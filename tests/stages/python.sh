# The Python client's tests and what it costs.
. "$(dirname "$0")/common.sh"
output=$(mktemp)
trap 'rm -f "$output"' EXIT
rc=0
(cd clients/python && python3 -m unittest discover -s tests -v) 2>&1 | tee "$output" || rc=1
ran=$(sed -n 's/^Ran \([0-9]*\) tests\{0,1\} in .*/\1/p' "$output" | tail -n 1)
bad=$(grep -cE '^(FAIL|ERROR): ' "$output" || true)
skipped=$(sed -n 's/^.*skipped=\([0-9]*\).*/\1/p' "$output" | tail -n 1)
sed -n -E 's/^(FAIL|ERROR): /FAILED: /p' "$output"
[[ -n $ran ]] || { echo "FAILED: the tests did not run"; ran=0; }
[[ -z $skipped ]] || echo "NOTE: $skipped skipped"
good=$((ran - bad - ${skipped:-0}))
echo "$((good < 0 ? 0 : good)) $bad" >>"$PITWALL_COUNTS"
if python3 clients/python/tests/bench_overhead.py; then
  echo "1 0" >>"$PITWALL_COUNTS"
else
  echo "FAILED: bench_overhead: a phase costs 10 us or more"
  echo "0 1" >>"$PITWALL_COUNTS"
  rc=1
fi
exit "$rc"
