# Complete damage matrix: for every file of a data directory, 64 flipped bits each, truncation, deletion, and zeroing.
. "$(dirname "$0")/../parts/stage.sh"
run_ctest build/release -L '^damage$'
