# Release build with the binary and all tests. A first build compiles several files of a module as one, which halves the build time. An existing build
# directory keeps its mode. With $PITWALL_QUICK, only the binary and the unit tests are built. The dev preset and the tidy stage compile each file
# separately to detect missing includes.
. "$(dirname "$0")/parts/stage.sh"
first=()
[[ -e build/release/CMakeCache.txt ]] || first=(-DPITWALL_UNITY=ON)
if [[ -n ${PITWALL_QUICK:-} ]]; then
  cmake --preset release "${first[@]}"
  mapfile -t units < <(ctest --test-dir build/release -N -L '^unit$' | sed -nE 's/^ *Test +#[0-9]+: (.*)$/\1_test/p')
  build_targets release pitwall "${units[@]}"
else
  build_preset release "${first[@]}"
fi
