# Shared parts of the stages in tests/run.sh. bash runs a stage with $PITWALL_COUNTS (a file) set. The stage appends lines "<passed> <failed>" to it,
# prints "FAILED: <test>" for each failed test and "CAUSE: …" and "NOTE: …" for the summary, and exits non-zero if anything failed. Each stage also
# runs alone: bash tests/stages/unit.sh
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
cd "$repo"
jobs=$(nproc)
: "${PITWALL_COUNTS:=/dev/stdout}"
export PITWALL_COUNTS
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pitwall

# Sanitizer builds cover the modules below the adapters.
sanitizer_options=(-DPITWALL_ADAPTERS=OFF -DPITWALL_BENCH=OFF)

# The tests in the asan stage, as patterns. The asan_long stage runs the others, because compiling them takes half an hour on two cores.
asan_modules=(services_base services_base_yaml services_model 'rules_*' 'services_codec*' services_self_metrics services_engine services_query
  services_adapters_embedded_log services_history_segments)

# PRESET [CMAKE OPTION…]: configures and builds build/PRESET. If a target fails, the other targets are still built.
build_preset() {
  local preset=$1
  shift
  cmake --preset "$preset" "$@"
  cmake --build "build/$preset" -j "$jobs" -- -k 0
}

# PRESET TARGET…: builds these targets in a configured preset. If a target fails, the other targets are still built.
build_targets() {
  local preset=$1
  shift
  cmake --build "build/$preset" -j "$jobs" --target "$@" -- -k 0
}

# PRESET PATTERN…: configures the preset and prints the targets of the matching tests and of the fuzzers.
sanitizer_targets() {
  local preset=$1 target pattern
  shift
  cmake --preset "$preset" "${sanitizer_options[@]}" >/dev/null
  while read -r target; do
    [[ $target == *_fuzz ]] && echo "$target"
    for pattern in "$@"; do
      # shellcheck disable=SC2053  # a pattern
      [[ ${target%_test} == $pattern && $target == *_test ]] && echo "$target"
    done
  done < <(ninja -C "build/$preset" -t targets all | sed -nE 's,^bin/([^:/]*_(test|fuzz)): .*,\1,p') | sort -u
}

# BUILD CTEST-ARGUMENT…: runs these ctests and counts the test cases inside GoogleTest binaries individually.
run_ctest() {
  local build=$1 results rc=0
  shift
  [[ -f $build/CTestTestfile.cmake ]] || { echo "FAILED: $build is not configured"; return 1; }
  results=$(mktemp -d "${TMPDIR:-/tmp}/pitwall-ctest.XXXXXX")
  GTEST_OUTPUT=xml:$results/gtest/ ctest --test-dir "$build" --output-junit "$results/ctest.xml" --output-on-failure \
    --no-tests=error -j "$jobs" "$@" || rc=$?
  python3 tests/stages/parts/count.py "$results/ctest.xml" "$results/gtest" >>"$PITWALL_COUNTS" || rc=1
  rm -rf "$results"
  return "$rc"
}

# NAME COMMAND…: runs a benchmark that checks its own limits. Sets rc to 1 if it fails, and reports its measurements as the cause.
run_bench() {
  local name=$1 output
  shift
  output=$(mktemp)
  if "$@" 2>&1 | tee "$output"; then
    echo "1 0" >>"$PITWALL_COUNTS"
  else
    echo "FAILED: $name"
    tail -n 20 "$output" | sed 's/^/CAUSE: /'
    echo "0 1" >>"$PITWALL_COUNTS"
    rc=1
  fi
  rm -f "$output"
}

# INTERPRETER STEPS: measures the cost of the Python client in training with this interpreter's PyTorch.
run_torch_benches() {
  run_bench "bench_hooks: a watched step takes more than 1.25 of a plain one" "$1" clients/python/tests/bench/bench_hooks.py --steps "$2"
  run_bench "bench_share: a step of 10 ms takes 15 % more, or 0.8 ms of the training's thread" "$1" clients/python/tests/bench/bench_share.py --check
}

# SCRIPT ARGUMENT…: runs a Python unittest script with verbosity 2, counts its cases, and lists the failed cases.
run_unittest() {
  local output rc=0
  output=$(mktemp)
  python3 "$@" 2>&1 | tee "$output" || rc=$?
  echo "$(grep -c ' \.\.\. ok$' "$output") $(grep -cE ' \.\.\. (FAIL|ERROR)$' "$output")" >>"$PITWALL_COUNTS"
  sed -nE 's/^(test_\S+) .* \.\.\. (FAIL|ERROR)$/FAILED: \1/p' "$output"
  rm -f "$output"
  return "$rc"
}
