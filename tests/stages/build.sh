# Release build with the binary and all tests. A first build compiles several files of a module as one, which halves the time; an existing build
# directory keeps its mode. The preset dev and the stage tidy compile each file separately, which finds missing includes.
. "$(dirname "$0")/parts/stage.sh"
first=()
[[ -e build/release/CMakeCache.txt ]] || first=(-DPITWALL_UNITY=ON)
build_preset release "${first[@]}"
