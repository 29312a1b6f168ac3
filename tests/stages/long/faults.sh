# Checks that the differential test detects faults. Plants 34 faults in a copy of the tree, one at a time (15 minutes).
. "$(dirname "$0")/../parts/stage.sh"
if python3 tests/differential/faults.py --head; then
  echo "1 0" >>"$PITWALL_COUNTS"
else
  echo "FAILED: differential faults"
  echo "0 1" >>"$PITWALL_COUNTS"
  exit 1
fi
