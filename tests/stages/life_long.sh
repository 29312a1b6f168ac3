# Random life with 300 faults, at least 15 of each kind. $PITWALL_LIFE_SEED chooses another plan.
. "$(dirname "$0")/common.sh"
seed=${PITWALL_LIFE_SEED:-$(date +%Y%m%d)}
if python3 tests/life/life_test.py build/release/bin/pitwall build/release/bin/telemetry_dump --faults 300 --seed "$seed"; then
  echo "1 0" >>"$PITWALL_COUNTS"
else
  echo "FAILED: life_long, seed $seed"
  echo "0 1" >>"$PITWALL_COUNTS"
  exit 1
fi
