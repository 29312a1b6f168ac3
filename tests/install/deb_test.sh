#!/usr/bin/env bash
# deb_test.sh BUILD: tests the Debian package in a clean root created by mmdebstrap. Installs the package, starts the service as its unit does, checks
# the page and an issue, kills and restarts the service, removes the package, and purges it. Prints durations and sizes. Needs root. systemd is not PID
# 1 there: the test runs the unit's command itself, with its user and its directories, so Restart= and the hardening are not tested. files_test.py
# verifies the unit with systemd-analyze.
set -euo pipefail

build=$(realpath "$1")
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/install/clean_root.sh
. "$repo/tests/install/clean_root.sh"
in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }

(cd "$build" && cpack -G DEB -B "$work/package" >"$work/cpack.log" 2>&1) || { cat "$work/cpack.log"; exit 1; }
package=$(echo "$work"/package/pitwall_*.deb)
mmdebstrap --quiet --variant=minbase bookworm "$root"
before=$(du -smx --exclude=proc "$root" | cut -f1)
cp /etc/resolv.conf "$root/etc/"
cp "$package" "$root/tmp/pitwall.deb"
mount -t proc proc "$root/proc"

begin=$SECONDS
in_root apt-get update -qq
in_root apt-get install -y -qq --no-install-recommends /tmp/pitwall.deb >"$work/apt.log" 2>&1 || { cat "$work/apt.log"; exit 1; }
installed=$((SECONDS - begin))
in_root getent passwd pitwall >/dev/null || fail "user pitwall does not exist"
for tool in cc g++ python3 cmake; do
  [[ -z $(in_root sh -c "command -v $tool" || true) ]] || fail "the package installed $tool"
done

# systemd would create these directories for RuntimeDirectory and StateDirectory.
in_root install -d -o pitwall -g pitwall -m 0755 /run/pitwall
in_root install -d -o pitwall -g pitwall -m 0700 /var/lib/pitwall
command=$(sed -n 's/^ExecStart=//p' "$root/lib/systemd/system/pitwall.service")
start() {
  # Every step uses exec, so $! is the service's PID.
  # shellcheck disable=SC2086
  chroot --userspec=pitwall:pitwall "$root" env -i $command --http-listen 127.0.0.1:0 --grpc-listen 127.0.0.1:0 2>>"$work/log" &
  server=$!
  for _ in $(seq 600); do
    [[ $(grep -c 'standalone: ready$' "$work/log") != "$1" ]] || return 0
    kill -0 "$server" 2>/dev/null || fail "the service exited"
    sleep 0.1
  done
  fail "the service is not ready after a minute"
}
issue() {
  PITWALL_SOCKET=$root/run/pitwall/collector.sock PYTHONPATH=$repo/clients/python/src python3 - "$1" <<'TRAINING'
import sys, time
import pitwall
pitwall.init(job=sys.argv[1])
for number in pitwall.steps(range(60)):
    time.sleep(0.02)
    pitwall.log(loss=1.0 if number < 30 else float("nan"))
pitwall.finish()
TRAINING
  for _ in $(seq 300); do
    grpc=$(sed -n 's/.*IssueService on .*, port \([0-9]*\)$/\1/p' "$work/log" | tail -n 1)
    in_root pitwall issues list --all --json --target "127.0.0.1:$grpc" | grep -q "$1" && return 0
    sleep 0.1
  done
  fail "no issue of $1 within 30 s"
}
start 1
"$repo/tests/install/served_page.py" "$(sed -n 's|.*\(http://[0-9.:]*\)/metrics.*|\1|p' "$work/log" | head -n 1)" --browser || fail "no page"
issue first-job
first=$((SECONDS - begin))
[[ $(stat -c %U "$root/run/pitwall/collector.sock") == "$(stat -c %U "$root/var/lib/pitwall")" ]] || fail "the socket has another owner"
kill -KILL "$server"
wait "$server" 2>/dev/null || true
start 2
issue second-job
kill -TERM "$server"
wait "$server" || fail "SIGTERM did not end it with 0"
server=

rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/tmp/pitwall.deb
size=$(du -smx --exclude=proc "$root" | cut -f1)
in_root dpkg --remove pitwall >"$work/apt.log" 2>&1 || { cat "$work/apt.log"; exit 1; }
[[ ! -e $root/usr/bin/pitwall && -e $root/etc/pitwall/standalone.yaml && -d $root/var/lib/pitwall ]] || fail "package removal must keep only configuration and data"
in_root dpkg --purge pitwall >"$work/apt.log" 2>&1
[[ ! -e $root/etc/pitwall && ! -e $root/var/lib/pitwall ]] || fail "files remain after the purge"
echo "deb: package $(($(stat -c %s "$package") / 1000)) kB, with all dependencies $((size - before)) MB, installed in $installed s, first issue after $first s"
