# Builds the targets of the stages asan and fuzz in the scheduler's idle class, so that all other processes go first. tests/run.sh starts it next to
# stages that mostly wait, and stops it before the others; ninja resumes later.
. "$(dirname "$0")/stage.sh"
if chrt --idle 0 true 2>/dev/null; then idle=(chrt --idle 0); else idle=(nice -n 19); fi
"${idle[@]}" bash -c '. "$1"; mapfile -t targets < <(sanitizer_targets asan-ubsan "${asan_modules[@]}"); build_targets asan-ubsan "${targets[@]}"' \
  - tests/stages/parts/stage.sh || true  # the stage reports what failed
