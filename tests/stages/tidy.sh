# clang-tidy with the short list of .clang-tidy: what ships in a plain run, tests too with --tests. Those that were
# clean before are not checked again.
. "$(dirname "$0")/common.sh"
sources=()
if [[ ${1:-} != --tests ]]; then
  mapfile -t sources < <(find services rules -name '*.cc' ! -name '*_test.cc' | sort)
fi
if python3 tests/lint/tidy.py -p build/release -j "$jobs" "${sources[@]}"; then
  echo "1 0" >>"$PITWALL_COUNTS"
else
  echo "FAILED: clang-tidy; see the findings above"
  echo "0 1" >>"$PITWALL_COUNTS"
  exit 1
fi
