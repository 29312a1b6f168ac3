# Unit tests for the modules.
. "$(dirname "$0")/parts/stage.sh"
run_ctest build/release -L '^unit$'
