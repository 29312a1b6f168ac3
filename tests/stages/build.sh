# The release build: the binary and every test. A first build compiles several files of a module as one, which takes half as long; a build folder
# that is there keeps its way. File by file, which finds an include that is missing, the preset dev compiles and the stage tidy.
. "$(dirname "$0")/common.sh"
first=()
[[ -e build/release/CMakeCache.txt ]] || first=(-DPITWALL_UNITY=ON)
build_preset release "${first[@]}"
