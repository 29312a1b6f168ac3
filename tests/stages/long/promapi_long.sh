# Compares the query API against a real Prometheus 3, using samples and queries from seeds other than the recorded ones. $PITWALL_PROMAPI_SEED selects
# the seeds. By default, they change every day.
. "$(dirname "$0")/../parts/stage.sh"
cmake --preset release >/dev/null
cmake --build build/release -j "$jobs" --target promapi_eval
prometheus=$(tests/promapi/build_prometheus.sh)
seed=${PITWALL_PROMAPI_SEED:-$(date +%Y%m%d)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
rc=0
for part in 1 2 3 4; do
  python3 tests/promapi/record.py --prometheus "$prometheus" --out "$folder/$part" --seed "$seed-$part" --queries 1000
  if python3 tests/promapi/compare.py --eval build/release/bin/promapi_eval --recorded "$folder/$part"; then
    echo "1 0" >>"$PITWALL_COUNTS"
  else
    echo "FAILED: promapi_long, seed $seed-$part"
    echo "0 1" >>"$PITWALL_COUNTS"
    rc=1
  fi
done
exit "$rc"
