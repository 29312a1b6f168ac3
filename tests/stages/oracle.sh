# Random PromQL over random data, and random rule groups with reloads, compared with Prometheus (tests/differential/run.py, run_groups.py).
# $PITWALL_ORACLE_CASES (10000), $PITWALL_ORACLE_STORED (5000), $PITWALL_ORACLE_GROUPS (1000), and $PITWALL_ORACLE_SEED (1, so that runs are
# reproducible; "new" uses a new seed) configure the run. Counts every case and group.
. "$(dirname "$0")/parts/stage.sh"
cmake --preset release >/dev/null
cmake --build build/release -j "$jobs" --target promql_eval group_eval
oracle=$(tests/oracle/build.sh)
report=$(mktemp)
trap 'rm -f "$report"' EXIT
rc=0
seed=${PITWALL_ORACLE_SEED:-1}
[[ $seed == new ]] && seed=$RANDOM$RANDOM
python3 tests/differential/run.py --oracle "$oracle" --cases "${PITWALL_ORACLE_CASES:-10000}" --require-all \
  --seed "$seed" | tee "$report" || rc=1
sed -n 's/^DIFFERENCE \(.*\)/FAILED: differential \1/p' "$report"
counts=$(sed -n 's/^counts: \([0-9]* [0-9]*\)$/\1/p' "$report")
[[ -n $counts ]] || { echo "FAILED: the differential test did not end"; counts="0 1"; rc=1; }
echo "$counts" >>"$PITWALL_COUNTS"
# Tests the evaluator for stored samples. The history's query API uses this evaluator.
stored=$(mktemp)
trap 'rm -f "$report" "$stored"' EXIT
python3 tests/differential/run.py --oracle "$oracle" --stored --cases "${PITWALL_ORACLE_STORED:-5000}" --require-all \
  --seed "$seed" | tee "$stored" || rc=1
sed -n 's/^DIFFERENCE \(.*\)/FAILED: differential --stored \1/p' "$stored"
counts=$(sed -n 's/^counts: \([0-9]* [0-9]*\)$/\1/p' "$stored")
[[ -n $counts ]] || { echo "FAILED: the differential test of stored samples did not end"; counts="0 1"; rc=1; }
echo "$counts" >>"$PITWALL_COUNTS"
groups=$(mktemp)
trap 'rm -f "$report" "$stored" "$groups"' EXIT
python3 tests/differential/run_groups.py --oracle "$oracle" --groups "${PITWALL_ORACLE_GROUPS:-1000}" --seed "$seed" |
  tee "$groups" || rc=1
sed -n 's/^DIFFERENCE \(.*\)/FAILED: rule groups \1/p' "$groups"
counts=$(sed -n 's/^counts: \([0-9]* [0-9]*\)$/\1/p' "$groups")
[[ -n $counts ]] || { echo "FAILED: the test of rule groups did not end"; counts="0 1"; rc=1; }
echo "$counts" >>"$PITWALL_COUNTS"
echo "NOTE: $(sed -n 's/^\(seed [0-9]*\)$/\1/p' "$report"), $(sed -n 's/^cases [^:]*: //p' "$report"); groups: $(sed -n \
  's/^groups [^:]*: //p' "$groups")"
exit "$rc"
