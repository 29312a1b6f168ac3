# The binary from outside, beside real components.
. "$(dirname "$0")/common.sh"
jobs=1
run_ctest build/release -L '^e2e$'
