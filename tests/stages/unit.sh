# Unit tests of the modules.
. "$(dirname "$0")/parts/stage.sh"
run_ctest build/release -L '^unit$'
