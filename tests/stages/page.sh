# Tests for the page: types, lint, unit tests, and browser tests with recorded API responses.
. "$(dirname "$0")/parts/stage.sh"
rc=0
page=services/web
folder=build/page
output=$(mktemp)
trap 'rm -f "$output"' EXIT

if ! $page/toolchain.sh install; then
  echo "FAILED: the toolchain of the page cannot be installed"
  echo "0 1" >>"$PITWALL_COUNTS"
  exit 1
fi

# NAME COMMAND…: runs one check and reports its result separately.
check() {
  local name=$1
  shift
  if $page/build.sh "$folder" "$@"; then
    echo "1 0" >>"$PITWALL_COUNTS"
  else
    echo "FAILED: $name"
    echo "0 1" >>"$PITWALL_COUNTS"
    rc=1
  fi
}

# COMMAND…, with PASSED FAILED: sed patterns that extract the counts from the last lines of the output.
count_tests() {
  local passed=$1 failed=$2 good bad
  shift 2
  $page/build.sh "$folder" "$@" 2>&1 | tee "$output" || rc=1
  good=$(sed -nE "s/$passed/\1/p" "$output" | tail -n 1)
  bad=$(sed -nE "s/$failed/\1/p" "$output" | tail -n 1)
  [[ -n $good || -n $bad ]] || { echo "FAILED: $1 did not run"; bad=1; rc=1; }
  echo "${good:-0} ${bad:-0}" >>"$PITWALL_COUNTS"
}

check "the page does not build" # checks its types and its size limit
# NAME ARGUMENT…: runs biome in the build folder.
biome() { check "$1" bash -c 'for biome in node_modules/@biomejs/cli-linux-*/biome; do exec "$biome" "$@"; done' biome "${@:2}"; }
biome "lint of the page" lint --error-on-warnings .
biome "format of the page; run services/web/format.sh" format .
count_tests '^ℹ pass ([0-9]+)$' '^ℹ fail ([0-9]+)$' node --test 'browser/*.test.ts'
if command -v chromium-headless-shell >/dev/null; then
  count_tests '^ *([0-9]+) passed.*$' '^ *([0-9]+) failed$' playwright test
  sed -nE 's/^ +(browser\/.* › .*[^ ─])[ ─]*$/FAILED: \1/p' "$output"
else
  echo "FAILED: chromium-headless-shell is missing; run deploy/install-deps.sh tests"
  echo "0 1" >>"$PITWALL_COUNTS"
  rc=1
fi
exit "$rc"
