#!/usr/bin/env bash
# demo.sh [--kafka] [--keep | --no-keep] [--seconds N]: the main use case, end to end, on this machine.
#
# Installs missing dependencies, builds Pitwall, starts it, and trains a small network on scikit-learn's digits while faults are injected in turn.
# Prints the start and end of each issue with its latency, and finally the address of the job's page. In a terminal, Pitwall then runs until Ctrl-C;
# otherwise the demo exits.
#   --kafka    a real Kafka broker, and collector, processor, notifier, and executor as separate processes
#   --keep     always leaves Pitwall running afterwards; --no-keep never does
# A second run does not install or build anything.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/pitwall/venv
page_toolchain=$repo/services/web/toolchain.sh
log=$repo/build/demo-downloads.log
groups=(build python)
kafka=false
# A first build compiles several files as one, which halves the build time. An existing build directory keeps its mode.
first=()
[[ -f $repo/build/release/CMakeCache.txt ]] || first=(-DPITWALL_UNITY=ON)
# Without depend mode, ccache preprocesses each new file a second time, which takes a tenth of a first build's time.
export CCACHE_DEPEND=1
for argument in "$@"; do
  case $argument in
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --kafka) groups+=(kafka); kafka=true ;;
  esac
done

stage=0
say() { printf '\n== %s (%d:%02d elapsed)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }
next_stage() { say "[$((++stage))/4] $*"; }

# Downloads Node and the page's packages, the training script's virtual environment, and the broker's jars while the compiler runs.
download() {
  "$repo/deploy/install-deps.sh" "${groups[@]}"
  ! $kafka || "$repo/deploy/kafka/broker.sh" fetch
}

start_downloads() {
  mkdir -p "$repo/build"
  export -f download
  export repo kafka
  setsid bash -euo pipefail -c 'groups=("$@"); download' downloads "${groups[@]}" >"$log" 2>&1 &
  downloads=$!
}

# Prints the download log and fails if a download failed.
finish_downloads() {
  [[ -n $downloads ]] || return 0
  if ! wait "$downloads"; then
    downloads=
    tail -n 20 "$log" >&2
    say "a download failed; its log is above and in $log. To retry, run $repo/deploy/demo.sh again"
    exit 1
  fi
  downloads=
}

runs() { [[ -n $1 ]] && kill -0 "$1" 2>/dev/null; }

# Stops as soon as a download fails, because the page build would fail minutes later.
build() {
  setsid bash -o pipefail -c 'cmake --build --preset release --target pitwall | python3 -u deploy/demo/progress.py' &
  building=$!
  while runs "$building"; do
    runs "$downloads" || finish_downloads
    sleep 0.2
  done
  if ! wait "$building"; then
    building=
    # If the page build failed because of a download, the download's error follows shortly.
    for ((i = 0; i < 25; ++i)); do
      runs "$downloads" || finish_downloads
      sleep 0.2
    done
    say "the build failed; its error is above"
    exit 1
  fi
  building=
}

# Process groups running in the background; may be empty.
downloads=
building=
stop_groups() {
  local group
  for group in $downloads $building; do kill -- "-$group" 2>/dev/null || true; done
}
trap stop_groups EXIT

next_stage "installing packages (${groups[*]})"
"$repo/deploy/install-deps.sh" --packages "${groups[@]}"
start_downloads

next_stage "configuring; Node and Python packages are downloaded at the same time"
cd "$repo"
# The configuration step succeeds while the toolchain is still being installed. The page build waits for the toolchain.
until "$page_toolchain" expected; do
  runs "$downloads" || { finish_downloads; break; }
  sleep 0.1
done
cmake --preset release -DPITWALL_PAGE=ON "${first[@]}" >build/demo-configure.log 2>&1 || { cat build/demo-configure.log >&2; exit 1; }

next_stage "building (release)"
build
finish_downloads

next_stage "running"
exec "$venv/bin/python" -u "$repo/deploy/demo/demo.py" --binary "$repo/build/release/bin/pitwall" "$@"
