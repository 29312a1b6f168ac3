# Lints for the repository.
. "$(dirname "$0")/parts/stage.sh"
run_ctest build/release -L '^lint$'
