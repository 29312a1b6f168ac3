# Unit tests of the modules.
. "$(dirname "$0")/common.sh"
run_ctest build/release -L '^unit$'
