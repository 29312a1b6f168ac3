# Contract of the log and scenarios with a real broker, which tests/kafka/run.sh starts for each. Random life with both logs: 30 and 18 faults, one
# every few seconds, on the binary under load, with a checker from client to webhook.
. "$(dirname "$0")/parts/stage.sh"
jobs=3  # they mostly wait for a broker or the next fault: three at once need less than one core
run_ctest build/release -L '^(kafka|life)$'
