# Lints of the repository.
. "$(dirname "$0")/common.sh"
run_ctest build/release -L '^lint$'
