# What the history costs at full size: the table of docs/history.md. $PITWALL_INSIGHTS_PART (1) is how much of it is made.
. "$(dirname "$0")/common.sh"
cmake --preset release >/dev/null
cmake --build build/release -j "$jobs" --target insights_performance
part=${PITWALL_INSIGHTS_PART:-1}
rc=0
for shape in day ranks small wide; do
  if build/release/bin/insights_performance "$shape" "$part"; then
    echo "1 0" >>"$PITWALL_COUNTS"
  else
    echo "FAILED: insights_long, $shape"
    echo "0 1" >>"$PITWALL_COUNTS"
    rc=1
  fi
done
exit "$rc"
