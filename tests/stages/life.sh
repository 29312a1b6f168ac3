# Random life: 30 faults, one every few seconds, to the binary under load, and a checker from client to webhook.
. "$(dirname "$0")/common.sh"
jobs=1
run_ctest build/release -L '^life$'
