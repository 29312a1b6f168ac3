# The whole damage matrix: every file of a data directory, 64 flipped bits in each, cuts, deleted, zeroed.
. "$(dirname "$0")/common.sh"
run_ctest build/release -L '^damage$'
