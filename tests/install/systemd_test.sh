#!/usr/bin/env bash
# systemd_test.sh BUILD: tests the Debian package in a clean root with systemd as PID 1 (systemd-nspawn). The unit must start with its hardening, show
# an issue, restart after a kill, and disappear when the package is removed. Needs root, deploy/install-deps.sh tests, and a machine that lets
# containers use cgroups. Exits with 77 if systemd does not boot in a container. PITWALL_BASE_ROOT: an mmdebstrap root that is copied instead of
# creating a new root.

build=$(realpath "$1")
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
((EUID == 0)) || { echo "systemd_test.sh: needs root"; exit 77; }
for tool in mmdebstrap systemd-nspawn nsenter; do
  command -v $tool >/dev/null || { echo "systemd_test.sh: $tool is missing; run deploy/install-deps.sh tests"; exit 1; }
done

work=$(mktemp -d)
root=$work/root
nspawn=
leader=
finish() {
  if [[ -n $leader ]]; then kill -RTMIN+4 "$leader" 2>/dev/null || true; fi  # poweroff
  if [[ -n $nspawn ]]; then
    for _ in $(seq 100); do kill -0 "$nspawn" 2>/dev/null || break; sleep 0.1; done
    kill -KILL "$nspawn" 2>/dev/null || true
    wait "$nspawn" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap finish EXIT
fail() {
  echo "systemd_test.sh: $*"
  tail -n 20 "$work/boot.log" 2>/dev/null || true
  [[ -z $leader ]] || inside journalctl -u pitwall --no-pager -n 40 || true
  exit 1
}
inside() { nsenter -t "$leader" -m -u -i -n -p -r -w env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
await() {  # WHAT COMMAND…: waits at most 60 s
  local what=$1
  shift
  for _ in $(seq 300); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.2
  done
  fail "timed out after a minute waiting for $what"
}

(cd "$build" && cpack -G DEB -B "$work/package" >"$work/cpack.log" 2>&1) || { cat "$work/cpack.log"; exit 1; }
if [[ -n ${PITWALL_BASE_ROOT:-} ]]; then
  cp -a "$PITWALL_BASE_ROOT" "$root"
else
  mmdebstrap --quiet --variant=minbase --include=systemd,systemd-sysv,dbus,procps bookworm "$root"
fi
cp "$work"/package/pitwall_*.deb "$root/opt/pitwall.deb"
cp /etc/resolv.conf "$root/etc/"
chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -c \
  'apt-get update -qq && apt-get install -y -qq --no-install-recommends --download-only /opt/pitwall.deb' >"$work/apt.log" 2>&1 || { cat "$work/apt.log"; exit 1; }

# Without machined, the container is a child process of nspawn.
systemd-nspawn --quiet --directory="$root" --boot --register=no --keep-unit --resolv-conf=off --link-journal=no >"$work/boot.log" 2>&1 </dev/null &
nspawn=$!
for _ in $(seq 300); do
  leader=$(pgrep -P "$nspawn" -x systemd || true)
  if [[ -n $leader ]]; then break; fi
  if ! kill -0 "$nspawn" 2>/dev/null; then
    echo "systemd_test.sh: this machine does not boot containers: $(tail -n 3 "$work/boot.log")"
    exit 77
  fi
  sleep 0.2
done
[[ -n $leader ]] || fail "systemd does not start"
await "systemd to have booted" inside sh -c 'systemctl is-system-running | grep -Eq "running|degraded"'
[[ $(inside cat /proc/1/comm) == systemd ]] || fail "process 1 is $(inside cat /proc/1/comm)"

inside apt-get install -y -qq --no-install-recommends /opt/pitwall.deb >"$work/apt.log" 2>&1 || { cat "$work/apt.log"; fail "the package is not installed"; }
inside systemctl is-enabled --quiet pitwall || fail "the unit is not enabled"
ready() { inside journalctl -u pitwall --no-pager -o cat | grep -c 'standalone: ready$'; }
ready_times() { [[ $(ready) -ge $1 ]]; }
await "the service to be ready" ready_times 1
pid=$(inside systemctl show -p MainPID --value pitwall)
[[ $(inside stat -c %U "/proc/$pid") == pitwall ]] || fail "it runs as $(inside stat -c %U "/proc/$pid")"
inside grep -q '^NoNewPrivs:.1' "/proc/$pid/status" || fail "NoNewPrivileges is not set"

PITWALL_SOCKET=$root/run/pitwall/collector.sock
[[ -S $PITWALL_SOCKET ]] || PITWALL_SOCKET=/proc/$leader/root/run/pitwall/collector.sock
PITWALL_SOCKET=$PITWALL_SOCKET PYTHONPATH=$repo/clients/python/src python3 - <<'TRAINING'
import time
import pitwall
pitwall.init(job="first-job")
for number in pitwall.steps(range(60)):
    time.sleep(0.02)
    pitwall.log(loss=1.0 if number < 30 else float("nan"))
pitwall.finish()
TRAINING
has_issue() { inside pitwall issues list --all --json | grep -q first-job; }
await "the issue" has_issue

inside kill -KILL "$pid"
await "the restart" ready_times 2
[[ $(inside systemctl show -p MainPID --value pitwall) != "$pid" ]] || fail "the process was not restarted"
await "the issue after the restart" has_issue
inside systemctl stop pitwall
[[ $(inside systemctl show -p Result --value pitwall) == success ]] || fail "the service did not shut down cleanly on SIGTERM"
inside systemctl start pitwall
await "the third start" ready_times 3
inside apt-get remove -y -qq pitwall >"$work/apt.log" 2>&1 || { cat "$work/apt.log"; fail "package removal failed"; }
if inside systemctl is-active --quiet pitwall; then fail "the service still runs after package removal"; fi
if inside pgrep -x pitwall >/dev/null 2>&1; then fail "a service process still runs"; fi
inside apt-get purge -y -qq pitwall >"$work/apt.log" 2>&1
[[ ! -e $root/etc/pitwall && ! -e $root/var/lib/pitwall ]] || fail "files remain after the purge"
echo "systemd: installed, started with its hardening, restarted after SIGKILL, stopped, removed"
