#!/usr/bin/env bash
# run.sh BINARY…: starts a Kafka broker in its own directory, runs each binary with it, and always stops the broker at the end. The exit code is that
# of the first failed binary. All binaries receive the arguments after --. PITWALL_TEST_KAFKA contains the broker's address (host:port), and
# PITWALL_TEST_KAFKA_DIR and PITWALL_TEST_BROKER_SH contain its directory and script (to pause, kill, and restart it).
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
broker=$repo/deploy/kafka/broker.sh
binaries=()
while (($#)) && [[ $1 != -- ]]; do
  binaries+=("$1")
  shift
done
(($#)) && shift
((${#binaries[@]})) || { echo "usage: run.sh BINARY… [-- ARGUMENT…]" >&2; exit 2; }

dir=$(mktemp -d "${TMPDIR:-/tmp}/pitwall-kafka.XXXXXX")
cleanup() {
  local rc=$?
  trap - EXIT INT TERM
  if ((rc != 0)) && [[ -s $dir/broker.log ]]; then
    echo "run.sh: last output of the broker:" >&2
    tail -n 20 "$dir/broker.log" >&2
  fi
  "$broker" stop "$dir" || true
  rm -rf "$dir"
  exit "$rc"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

line=$("$broker" start "$dir")
export PITWALL_TEST_KAFKA=${line#bootstrap=}
export PITWALL_TEST_KAFKA_DIR=$dir
export PITWALL_TEST_BROKER_SH=$broker

result=0
for binary in "${binaries[@]}"; do
  rc=0
  "$binary" "$@" || rc=$?
  if ((rc != 0)); then
    echo "run.sh: $binary failed with exit code $rc" >&2
    ((result != 0)) || result=$rc
  fi
done
exit "$result"
