# The release build: the binary and every test.
. "$(dirname "$0")/common.sh"
build_preset release
