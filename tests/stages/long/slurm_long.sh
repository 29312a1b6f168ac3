# Tests with jobs on a real Slurm cluster, including a job that exceeds its time limit.
. "$(dirname "$0")/../parts/stage.sh"
cmake --preset release >/dev/null
cmake --build build/release -j "$jobs" --target pitwall
run_unittest tests/slurm/jobs_test.py build/release/bin/pitwall --long || { rc=$?; ((rc == 77)) || exit "$rc"; }  # 77: Slurm is not installed
