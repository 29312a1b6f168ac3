# Tests the Python client with the plain interpreter and with two versions of PyTorch, and measures the client's cost with the newer version. The
# python_long stage measures the complete table of costs, including with Debian's PyTorch.
. "$(dirname "$0")/parts/stage.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rc=0
bash tests/stages/parts/torch.sh >"$work/torch.log" 2>&1 &  # the first download takes minutes, and the first tests do not need it

# INTERPRETER UNITTEST-ARGUMENT…: runs tests of the client and counts them. Sets rc to 1 if one fails.
run_tests() {
  local python=$1 output ran bad skipped good
  shift
  output=$(mktemp "$work/tests.XXXXXX")
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

mypy=$cache/mypy-2.4.1
if [[ ! -x $mypy/bin/mypy ]]; then
  rm -rf "$mypy"  # a partial installation
  python3 -m venv "$mypy" && "$mypy/bin/python" -m pip install --quiet --disable-pip-version-check mypy==2.4.1 ||
    echo "NOTE: mypy cannot be installed; the client's types are not checked with it"
fi
export PITWALL_MYPY=$mypy/bin/python

# The tests with the C module, as in a built package, run in parallel with the tests for the Python module, because both mostly wait.
run_native_tests() {
  rc=0
  if python3 clients/python/tests/native_build.py "$work/native"; then
    PITWALL_SOURCES=$work/native run_tests python3 recording.test_recorder transport.test_resend capture.test_stacks test_wire test_client \
      test_process test_wrong_calls
  else
    echo "NOTE: the client's C module cannot be built here; testing only the Python one"
  fi
  return "$rc"
}
run_native_tests >"$work/native.log" 2>&1 &
native=$!
# Tests that need PyTorch are skipped here, because a script without PyTorch must be able to use the client.
run_tests python3 discover -s .
wait "$native" || rc=1
cat "$work/native.log"
run_bench "bench_overhead: a phase costs 10 us or more" python3 clients/python/tests/bench/bench_overhead.py --check

if pythons=$(bash tests/stages/parts/torch.sh); then
  for python in $pythons; do
    # The frameworks with callbacks are only in the virtual environment.
    [[ $python == /usr/bin/* ]] && callbacks=() || callbacks=(integrations.test_lightning integrations.test_transformers integrations.test_xgboost)
    run_tests "$python" stats.test_reductions stats.test_samples stats.test_own_time pytorch.test_watch pytorch.test_watch_harmless \
      pytorch.test_watch_models pytorch.test_grad_scaler pytorch.test_backward capture.test_profile "${callbacks[@]}"
  done
  run_torch_benches "$python" 40
else
  echo "FAILED: PyTorch is not installed"
  echo "0 1" >>"$PITWALL_COUNTS"
  rc=1
fi
exit "$rc"
