# Tests of the binary from outside, with real components.
. "$(dirname "$0")/parts/stage.sh"
jobs=3  # they mostly wait; RUN_SERIAL marks tests that need the machine alone
run_ctest build/release -L '^e2e$'
