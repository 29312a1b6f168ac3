# Long runs that check memory, latency, and correctness over time.
. "$(dirname "$0")/../parts/stage.sh"
jobs=1
run_ctest build/release -L '^soak$'
