# clean_root.sh: sourced by the tests that install a package in a clean root. Restarts the test with its own mounts, which needs root and mmdebstrap.
# Sets work (a temporary folder) and root (a folder in it, which the test creates), and defines fail. At exit, kills the process in $server and deletes
# the folder.
script=$(basename "$0")
if [[ ${PITWALL_OWN_MOUNTS:-} != 1 ]]; then
  ((EUID == 0)) || { echo "$script: needs root"; exit 77; }
  command -v mmdebstrap >/dev/null || { echo "$script: mmdebstrap is missing; run deploy/install-deps.sh tests"; exit 1; }
  PITWALL_OWN_MOUNTS=1 exec unshare --mount --propagation private -- "$0" "$@"
fi

work=$(mktemp -d)
root=$work/root
server=
finish() {
  # The root stays busy until its processes have exited.
  [[ -z $server ]] || { kill -KILL "$server" && wait "$server"; } 2>/dev/null || true
  umount "$root/proc" 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap finish EXIT
fail() { echo "$script: $*"; [[ ! -f $work/log ]] || tail -n 20 "$work/log"; exit 1; }
