# The Python client's tests, under the plain interpreter and with two versions of PyTorch, and what it costs.
. "$(dirname "$0")/common.sh"
output=$(mktemp)
trap 'rm -f "$output"' EXIT
rc=0

# INTERPRETER UNITTEST-ARGUMENT…: runs tests of the client and counts them.
run_tests() {
  local python=$1 ran bad skipped good
  shift
  echo "== $python"
  (cd clients/python/tests && "$python" -m unittest "$@" -v) 2>&1 | tee "$output" || rc=1
  ran=$(sed -n 's/^Ran \([0-9]*\) tests\{0,1\} in .*/\1/p' "$output" | tail -n 1)
  bad=$(grep -cE '^(FAIL|ERROR): ' "$output" || true)
  skipped=$(sed -n 's/^.*skipped=\([0-9]*\).*/\1/p' "$output" | tail -n 1)
  sed -n -E 's/^(FAIL|ERROR): /FAILED: /p' "$output"
  [[ -n $ran ]] || { echo "FAILED: the tests did not run"; ran=0; }
  [[ -z $skipped || $python == python3 ]] || echo "NOTE: $skipped skipped under $python"
  good=$((ran - bad - ${skipped:-0}))
  echo "$((good < 0 ? 0 : good)) $bad" >>"$PITWALL_COUNTS"
}

# NAME COMMAND…: a benchmark that judges itself.
run_bench() {
  local name=$1
  shift
  if "$@"; then
    echo "1 0" >>"$PITWALL_COUNTS"
  else
    echo "FAILED: $name"
    echo "0 1" >>"$PITWALL_COUNTS"
    rc=1
  fi
}

mypy=$cache/mypy-2.4.1
if [[ ! -x $mypy/bin/mypy ]]; then
  rm -rf "$mypy"  # one that was cut off
  python3 -m venv "$mypy" && "$mypy/bin/python" -m pip install --quiet --disable-pip-version-check mypy==2.4.1 ||
    echo "NOTE: mypy cannot be had here; the types of the client are not checked by it"
fi
export PITWALL_MYPY=$mypy/bin/python

# Those that need PyTorch are skipped here: a script without it must be able to use the client.
run_tests python3 discover -s .
# The same with the module in C, as a package that was built has it.
native=$(mktemp -d)
trap 'rm -rf "$output" "$native"' EXIT
if python3 clients/python/tests/native_build.py "$native"; then
  PITWALL_SOURCES=$native run_tests python3 test_recorder test_wire test_client test_process test_resend test_stacks test_wrong_calls
else
  echo "NOTE: the client's module in C cannot be built here, only the Python one is tested"
fi
run_bench "bench_overhead: a phase costs 10 us or more" python3 clients/python/tests/bench_overhead.py

if pythons=$(bash tests/stages/torch.sh); then
  for python in $pythons; do
    # The callbacks' frameworks are in the virtual environment only.
    [[ $python == /usr/bin/* ]] && callbacks=() || callbacks=(test_lightning test_transformers test_xgboost)
    run_tests "$python" test_reductions test_samples test_watch test_backward test_own_time test_watch_harmless \
      test_watch_models test_profile "${callbacks[@]}"
    run_bench "bench_hooks: a watched step takes more than 1.10 of a plain one" "$python" \
      clients/python/tests/bench_hooks.py --steps 40
    run_bench "bench_share: a step of 10 ms takes 15 % more, or 0.8 ms of the training's thread" "$python" \
      clients/python/tests/bench_share.py --check
  done
else
  echo "FAILED: PyTorch is not there"
  echo "0 1" >>"$PITWALL_COUNTS"
  rc=1
fi
exit "$rc"
