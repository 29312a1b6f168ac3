# The link of each alert of the shipped packs before a real server, in a real browser.
. "$(dirname "$0")/common.sh"
cmake --preset release >/dev/null
cmake --build build/release -j "$jobs" --target pitwall insights_write_telemetry
run_unittest tests/insights/shipped_alerts_test.py build/release/bin/pitwall build/release/bin/insights_write_telemetry
