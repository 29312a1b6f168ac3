# Long random fault test, with 300 faults on the embedded log and 300 on Kafka, at least 15 of each kind. $PITWALL_LIFE_SEED selects the plan. By
# default, the plan changes every day.
. "$(dirname "$0")/../parts/stage.sh"
seed=${PITWALL_LIFE_SEED:-$(date +%Y%m%d)}
binaries=(build/release/bin/pitwall build/release/bin/telemetry_dump)
rc=0

count() {  # NAME COMMAND…
  local name=$1
  shift
  if "$@"; then
    echo "1 0" >>"$PITWALL_COUNTS"
  else
    echo "FAILED: life_long $name, seed $seed"
    echo "0 1" >>"$PITWALL_COUNTS"
    rc=1
  fi
}

count embedded python3 tests/life/life_test.py "${binaries[@]}" --faults 300 --seed "$seed"
count kafka tests/kafka/run.sh tests/life/life_test.py -- "${binaries[@]}" --faults 300 --least 15 --seed "$seed"
exit "$rc"
