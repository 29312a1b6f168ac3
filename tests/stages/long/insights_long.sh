# Cost of the history at full size, as in the table in docs/history.md. $PITWALL_INSIGHTS_PART (1) is the share of the data that is generated. The
# times are CPU times on one core, so two data shapes run in parallel: `day` in one process, and the other shapes, one at a time, in another.
. "$(dirname "$0")/../parts/stage.sh"
cmake --preset release >/dev/null
cmake --build build/release -j "$jobs" --target insights_performance
part=${PITWALL_INSIGHTS_PART:-1}
told=$(mktemp -d)
trap 'rm -rf "$told"' EXIT
in_turn() {
  for shape in "$@"; do
    rc=0
    began=$SECONDS
    build/release/bin/insights_performance "$shape" "$part" >"$told/$shape" 2>&1 || rc=$?
    echo "$shape: exit code $rc after $((SECONDS - began)) s" >>"$told/$shape"
    echo "$rc" >"$told/$shape.rc"
  done
}
in_turn day &
in_turn ranks small wide
wait
rc=0
for shape in day ranks small wide; do
  cat "$told/$shape"
  if [ "$(cat "$told/$shape.rc")" = 0 ]; then
    echo "1 0" >>"$PITWALL_COUNTS"
  else
    echo "FAILED: insights_long, $shape"
    echo "0 1" >>"$PITWALL_COUNTS"
    rc=1
  fi
done
exit "$rc"
