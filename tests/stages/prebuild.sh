# Builds of the stages asan and tsan, in the scheduler's idle class: whatever else runs goes first. tests/run.sh starts it beside stages that
# mostly wait, and stops it before the others; ninja goes on where it was.
. "$(dirname "$0")/common.sh"
if chrt --idle 0 true 2>/dev/null; then idle=(chrt --idle 0); else idle=(nice -n 19); fi
for preset in asan-ubsan tsan; do
  "${idle[@]}" cmake --preset "$preset" "${sanitizer_options[@]}"
  "${idle[@]}" cmake --build "build/$preset" -j "$jobs" -- -k 0 || true  # the stage says what failed
done
