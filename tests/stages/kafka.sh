# The log's contract and the scenarios over a real broker, which tests/kafka/run.sh starts for each.
. "$(dirname "$0")/common.sh"
jobs=1  # one broker at a time
run_ctest build/release -L '^kafka$'
