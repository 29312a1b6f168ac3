# Opens the link for each alert in the shipped packs in a real browser with a real server. Measures the page's memory over two hours of a job.
. "$(dirname "$0")/../parts/stage.sh"
cmake --preset release >/dev/null
cmake --build build/release -j "$jobs" --target pitwall insights_write_telemetry
rc=0
run_unittest tests/insights/shipped_alerts_test.py build/release/bin/pitwall build/release/bin/insights_write_telemetry || rc=1
services/web/toolchain.sh install
run_bench "the heap grows with the hours" env PITWALL_PAGE_TURNS=720 services/web/build.sh build/page \
  playwright test browser/performance.spec.ts -g 'the heap does not grow'
exit "$rc"
