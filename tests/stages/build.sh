# The release build: the binary and every test. A first build compiles the files of a test binary several at a time, which takes half as long.
. "$(dirname "$0")/common.sh"
first=()
[[ -e build/release/CMakeCache.txt ]] || first=(-DPITWALL_UNITY_TESTS=ON)
build_preset release "${first[@]}"
