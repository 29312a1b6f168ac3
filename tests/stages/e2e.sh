# End-to-end tests of the binary with real components.
. "$(dirname "$0")/parts/stage.sh"
jobs=4  # mostly waiting; RUN_SERIAL marks tests that need the machine alone
run_ctest build/release -L '^e2e$'
