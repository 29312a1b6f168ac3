#!/usr/bin/env bash
# demo_root_test.sh: runs deploy/demo.sh in a clone, in a clean root of minimal Debian with an empty home and no caches. Opens the page in a browser.
# The first issue must appear within $PITWALL_DEMO_SECONDS (600) on an otherwise idle machine with two cores. Prints the elapsed time of each stage. Needs
# root and deploy/install-deps.sh tests. PITWALL_BASE_ROOT: an mmdebstrap root that is copied instead of creating a new root.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
limit=${PITWALL_DEMO_SECONDS:-600}
if [[ ${PITWALL_OWN_MOUNTS:-} != 1 ]]; then
  ((EUID == 0)) || { echo "demo_root_test.sh: needs root"; exit 77; }
  command -v mmdebstrap >/dev/null || { echo "demo_root_test.sh: mmdebstrap is missing; run deploy/install-deps.sh tests"; exit 1; }
  # The browser step needs this toolchain only after ten minutes, so the script checks for it first.
  "$repo/services/web/toolchain.sh" ready || { echo "demo_root_test.sh: the toolchain of the page is missing; run deploy/install-deps.sh build"; exit 1; }
  PITWALL_OWN_MOUNTS=1 exec unshare --mount --propagation private -- "$0"
fi

work=$(mktemp -d)
root=$work/root
demo=
finish() {
  # The root stays busy until its processes have exited. The demo's service has its own process group.
  [[ -z $demo ]] || { kill -KILL -- "-$demo" && wait "$demo"; } 2>/dev/null || true
  local process left tries
  for ((tries = 0; tries < 50; ++tries)); do
    left=
    for process in /proc/[0-9]*; do
      [[ $(readlink "$process/root" 2>/dev/null) == "$root" ]] || continue
      left=yes
      kill -KILL "${process#/proc/}" 2>/dev/null || true
    done
    [[ -n $left ]] || break
    sleep 0.1
  done
  umount --recursive "$root/dev" 2>/dev/null || true  # /dev has its own mounts
  umount "$root/proc" 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap finish EXIT
fail() { echo "demo_root_test.sh: $*"; tail -n 40 "$work/log" 2>/dev/null || true; exit 1; }
await() {  # PATTERN SECONDS: waits until the demo prints the pattern
  local deadline=$((SECONDS + $2))
  until grep -q "$1" "$work/log"; do
    kill -0 "$demo" 2>/dev/null || fail "the demo exited before it printed: $1"
    ((SECONDS < deadline)) || fail "timed out after $2 s waiting for: $1"
    sleep 0.2
  done
}

if [[ -n ${PITWALL_BASE_ROOT:-} ]]; then
  cp -a "$PITWALL_BASE_ROOT" "$root"
else
  mmdebstrap --quiet --variant=minbase bookworm "$root"
fi
git clone --quiet --depth 1 "file://$repo" "$root/src"
cp /etc/resolv.conf "$root/etc/"
# Settings that this machine may need to reach the registries: a proxy, and the certificate of a proxy that intercepts TLS.
mkdir -p "$root/usr/local/share/ca-certificates"
cp -r /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
[[ ! -f /etc/pip.conf ]] || cp /etc/pip.conf "$root/etc/"
access=()
for variable in PIP_CERT PIP_INDEX_URL NODE_EXTRA_CA_CERTS npm_config_registry http_proxy https_proxy no_proxy; do
  [[ -z ${!variable:-} ]] || access+=("$variable=${!variable}")
done
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"

begin=$SECONDS
setsid chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONUNBUFFERED=1 "${access[@]}" /src/deploy/demo.sh --keep >"$work/log" 2>&1 &
demo=$!
await 'ISSUE BEGINS' 3000
first=$((SECONDS - begin))
await 'explore the job at' 600
"$repo/tests/install/served_page.py" "$(sed -n 's|.*explore the job at \(http://[0-9.:]*\)/.*|\1|p' "$work/log")" --browser || fail "no page"
kill -TERM "$demo"
wait "$demo" || fail "the demo ended with exit status $?"
demo=
grep '^== \[' "$work/log"
grep -q 'demo: all fine' "$work/log" || fail "the demo reports a fault"
echo "demo: first issue after $first s"
((first <= limit)) || fail "the first issue took $first s (limit: $limit s)"
