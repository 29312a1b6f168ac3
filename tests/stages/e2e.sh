# The binary from outside, beside real components.
. "$(dirname "$0")/common.sh"
jobs=3  # most of their time is waiting; RUN_SERIAL marks those that need the machine alone
run_ctest build/release -L '^e2e$'
