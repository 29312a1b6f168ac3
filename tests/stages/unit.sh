# The modules' own tests.
. "$(dirname "$0")/common.sh"
run_ctest build/release -L '^unit$'
