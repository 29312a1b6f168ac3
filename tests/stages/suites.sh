# Every other ctest: golden scripts, property tests, scenarios, integration; whatever needs no stage of its own.
. "$(dirname "$0")/common.sh"
run_ctest build/release -LE '^(unit|lint|kafka|e2e|life|bench|soak|damage|trainings)$'
