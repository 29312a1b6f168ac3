# The Debian package in a clean root. Needs root and mmdebstrap.
. "$(dirname "$0")/common.sh"
cmake --preset release >/dev/null
cmake --build build/release -j "$jobs" --target pitwall
rc=0
tests/install/deb_test.sh build/release || rc=$?
if ((rc == 77)); then
  echo "NOTE: no root, or no mmdebstrap: the Debian package was not installed"
  exit 0
fi
if ((rc == 0)); then
  echo "1 0" >>"$PITWALL_COUNTS"
else
  echo "FAILED: deb_test.sh"
  echo "0 1" >>"$PITWALL_COUNTS"
fi
exit "$rc"
