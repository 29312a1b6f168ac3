# torch.sh: installs any missing PyTorch versions that the Python client is tested with. These are Debian's version for /usr/bin/python3 (1.13), and
# the newest version known to work, in a virtual environment under ${XDG_CACHE_HOME:-~/.cache}/pitwall, with the frameworks that have callbacks.
# Prints their interpreters, one per line. Safe to run repeatedly and concurrently.
. "$(dirname "${BASH_SOURCE[0]}")/stage.sh"

torch_version=2.15.0
venv=$cache/torch-$torch_version

# XGBoost without GPU code takes 6 MB instead of 130 MB, and does not include a second NCCL that overrides PyTorch's.
frameworks=(transformers==5.23.0 accelerate==1.15.0 lightning==2.6.6 xgboost-cpu==3.2.0 ipykernel==7.4.0)

has_frameworks() {
  "$1" - "${frameworks[@]}" 2>/dev/null <<'EOS'
import importlib.metadata, sys
for wanted in sys.argv[1:]:
    name, version = wanted.split("==")
    assert importlib.metadata.version(name) == version
EOS
}

has_torch() { "$1" -c 'import numpy, torch' 2>/dev/null; }

mkdir -p "$cache"
exec 9>"$cache/torch.lock"
flock 9

if ! has_torch /usr/bin/python3; then
  echo "torch: installing Debian's" >&2
  if ((EUID == 0)); then as_root=(); else as_root=(sudo); fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    python3-torch python3-numpy >&2
fi
if ! has_torch "$venv/bin/python"; then
  echo "torch: making $venv" >&2
  rm -rf "$venv"  # a partial installation
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "torch==$torch_version" numpy >&2
fi
if ! has_frameworks "$venv/bin/python"; then
  echo "torch: installing ${frameworks[*]}" >&2
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "torch==$torch_version" "${frameworks[@]}" >&2
fi
for python in /usr/bin/python3 "$venv/bin/python"; do
  has_torch "$python" || { echo "torch: $python still cannot import torch and numpy" >&2; exit 1; }
  echo "$python"
done
