# Complete damage matrix. Each file of a data directory is tested with 64 flipped bits, truncation, deletion, and zeroing.
. "$(dirname "$0")/../parts/stage.sh"
run_ctest build/release -L '^damage$'
