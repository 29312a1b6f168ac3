# sanitizer.sh PRESET [PATTERN…]: tests the modules below the adapters with a sanitizer. PATTERN: shell pattern that selects tests by ctest name.
. "$(dirname "$0")/stage.sh"
preset=$1
shift
rc=0
chosen=()
if (($#)); then
  mapfile -t targets < <(sanitizer_targets "$preset" "$@")
  build_targets "$preset" "${targets[@]}" || rc=1
  chosen=(-R "^($(IFS='|'; echo "${*//\*/.*}"))\$")
else
  build_preset "$preset" "${sanitizer_options[@]}" || rc=1
fi
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
run_ctest "build/$preset" -LE "^(lint|kafka|e2e|life|bench|soak|damage|trainings|packs|fuzz)$" "${chosen[@]}" || rc=1
exit "$rc"
