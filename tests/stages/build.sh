# Release build: the binary and every test. A first build compiles several files of a module as one, which takes half the time; an existing build
# directory keeps its mode. The preset dev and the stage tidy compile file by file, which finds missing includes.
. "$(dirname "$0")/parts/stage.sh"
first=()
[[ -e build/release/CMakeCache.txt ]] || first=(-DPITWALL_UNITY=ON)
build_preset release "${first[@]}"
