# Builds the targets of the asan and fuzz stages in the scheduler's idle class, so that all other processes run first. tests/run.sh starts it
# alongside stages that mostly wait, and stops it before the other stages; ninja resumes later.
. "$(dirname "$0")/stage.sh"
if chrt --idle 0 true 2>/dev/null; then idle=(chrt --idle 0); else idle=(nice -n 19); fi
"${idle[@]}" bash -c '. "$1"; mapfile -t targets < <(sanitizer_targets asan-ubsan "${asan_modules[@]}"); build_targets asan-ubsan "${targets[@]}"' \
  - tests/stages/parts/stage.sh || true  # the stage reports what failed
