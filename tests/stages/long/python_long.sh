# Cost of the Python client: each call, and a watched step with both versions of PyTorch. Takes about five minutes on two idle cores; nothing else
# should run at the same time.
. "$(dirname "$0")/../parts/stage.sh"
rc=0
run_bench "bench_overhead: a phase costs 10 us or more" python3 clients/python/tests/bench/bench_overhead.py
pythons=$(bash tests/stages/parts/torch.sh)
for python in $pythons; do
  run_torch_benches "$python" 100
done
exit "$rc"
