# Runs clang-tidy with the short list of checks in .clang-tidy. Checks shipped code, and also tests if --tests is set. Files that were clean in an
# earlier run are skipped.
. "$(dirname "$0")/../parts/stage.sh"
sources=()
if [[ ${1:-} != --tests ]]; then
  mapfile -t sources < <(find services rules -name '*.cc' ! -name '*_test.cc' | sort)
fi
# Configures file-by-file compile commands; only the output of protoc is built.
cmake --preset dev
cmake --build build/dev -j "$jobs" --target proto_telemetry proto_client proto_state proto_issues proto_issues_service
if python3 tests/lint/tidy.py -p build/dev -j "$jobs" "${sources[@]}"; then
  echo "1 0" >>"$PITWALL_COUNTS"
else
  echo "FAILED: clang-tidy; see the findings above"
  echo "0 1" >>"$PITWALL_COUNTS"
  exit 1
fi
