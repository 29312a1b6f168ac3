# Tests for the Debian package (including under systemd), the wheel, and the demo, each in a clean root directory. Requires root.
. "$(dirname "$0")/../parts/stage.sh"
deploy/install-deps.sh build tests
cmake --preset release >/dev/null
cmake --build build/release -j "$jobs" --target pitwall
failed=0
for test in deb_test systemd_test wheel_test demo_root_test; do
  rc=0
  tests/install/$test.sh build/release || rc=$?
  if ((rc == 77)); then
    echo "NOTE: $test was skipped (not root, or no systemd in a container)"
  elif ((rc == 0)); then
    echo "1 0" >>"$PITWALL_COUNTS"
  else
    echo "FAILED: $test"
    echo "0 1" >>"$PITWALL_COUNTS"
    failed=1
  fi
done
exit "$failed"
