# Log contract and scenarios with a real broker that tests/kafka/run.sh starts for each test. Then random faults on the binary under load: 30 with the
# embedded log and 18 with Kafka, one every few seconds, checked from the client to the webhook.
. "$(dirname "$0")/parts/stage.sh"
jobs=4  # mostly waiting for a broker or the next fault
run_ctest build/release -L '^(kafka|life)$'
