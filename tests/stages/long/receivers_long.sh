# Sends a thousand issues to ten receivers, three of which are faulty, with ten kills, as in the table in docs/notify.md.
. "$(dirname "$0")/../parts/stage.sh"
cmake --preset release >/dev/null
cmake --build build/release -j "$jobs" --target pitwall
rc=0
output=$(python3 tests/e2e/notifier/receivers_table.py build/release/bin/pitwall) || rc=$?
printf '%s\n' "$output"
printf '%s\n' "$output" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' >>"$PITWALL_COUNTS"
exit "$rc"
