# sanitizer.sh PRESET: the modules below the adapters under a sanitizer.
. "$(dirname "$0")/common.sh"
preset=$1
rc=0
build_preset "$preset" "${sanitizer_options[@]}" || rc=1
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
run_ctest "build/$preset" -LE "^(lint|kafka|e2e|life|bench|soak|damage|trainings|packs|fuzz)$" || rc=1
exit "$rc"
