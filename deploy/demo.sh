#!/usr/bin/env bash
# demo.sh [--kafka] [--keep | --no-keep] [--seconds N]: the main job, end to end, on this machine.
#
# Installs what is missing, builds Pitwall, starts it, trains a small network on scikit-learn's digits with trouble switched on in
# turn, and prints each issue as it begins and ends, with its latency. At the end it tells the address of the page on which the job
# can be explored. In a terminal Pitwall then runs until Ctrl-C; elsewhere the demo ends by itself.
#   --kafka    a real Kafka broker, and collector, processor, notifier and executor as processes of their own
#   --keep     leaves Pitwall running afterwards wherever the demo runs; --no-keep never does
# A second run installs and builds nothing.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/pitwall/venv
groups=(build python)
for argument in "$@"; do
  case $argument in
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --kafka) groups+=(kafka) ;;
  esac
done

say() { printf '\n== %s\n' "$*"; }

say "installing what is missing (${groups[*]})"
"$repo/deploy/install-deps.sh" "${groups[@]}"

say "building (release)"
cd "$repo"
[[ -f build/release/build.ninja ]] || cmake --preset release -DPITWALL_UNITY=ON
cmake --build --preset release --target pitwall

say "running"
exec "$venv/bin/python" -u "$repo/deploy/demo/demo.py" --binary "$repo/build/release/bin/pitwall" "$@"
