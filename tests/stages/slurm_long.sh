# Jobs of a real Slurm, with one that runs into its time limit.
. "$(dirname "$0")/common.sh"
cmake --preset release >/dev/null
cmake --build build/release -j "$jobs" --target pitwall
run_unittest tests/slurm/jobs_test.py build/release/bin/pitwall --long || { rc=$?; ((rc == 77)) || exit "$rc"; }  # 77: no Slurm here
