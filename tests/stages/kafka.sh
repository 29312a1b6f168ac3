# The log's contract and the scenarios over a real broker, which tests/kafka/run.sh starts for each; random life over both logs: 30 and 18
# faults, one every few seconds, to the binary under load, and a checker from client to webhook.
. "$(dirname "$0")/common.sh"
jobs=3  # they wait for a broker, or for the next fault: three at once take less than one core
run_ctest build/release -L '^(kafka|life)$'
