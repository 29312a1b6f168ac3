# Complete plan of simulated training runs, with each noise, log interval, number of ranks, and fault. Takes about five minutes on two idle cores.
. "$(dirname "$0")/../parts/stage.sh"
if tests/quiet/quiet_test.py build/release/bin/pitwall --long; then
  echo "1 0" >>"$PITWALL_COUNTS"
else
  echo "FAILED: quiet_test.py --long"
  echo "0 1" >>"$PITWALL_COUNTS"
  exit 1
fi
