#!/usr/bin/env bash
# vs_prometheus.sh [BUILD] [REPETITIONS]: the ten rules of architecture.md, section 6, in Prometheus 3 and in Pitwall.
#
# Both receive the same samples and the same rule file at a 1 s interval. bench_data.h and prometheus/data.go compute the samples with the same
# formula, and the checksums must agree. Both run on one thread, and both fill every window (310 s) before the measurement. The results of each rule
# at the last tick must agree too: the number of elements, the number of firing elements, and the sum of values within 1e-6.
#
#   Prometheus  its TSDB (no WAL), its rule manager, its engine (prometheus/, the release in go.mod), GOMAXPROCS=1.
#               CPU time (getrusage) of Group.Eval alone; the cost of appending the samples is shown but not counted.
#   rules       Pitwall: rows into the store, windows, rules. Without decoding, sources, and watermarks.
#   whole       Pitwall as in the processor: decode + bind + windows + rules.
#
# Each number is the median of REPETITIONS (3) alternating runs. It is CPU time, because wall time is meaningless on a busy machine. "ratio" is
# Prometheus / whole; it includes decoding for Pitwall but not for Prometheus. Takes about a minute and a half per repetition, plus two minutes
# for the first build. Requires Go (tests/oracle/build.sh installs it).
#
# BUILD is the build directory (build/release), which is built unless it has bin/pipeline_bench. The last line is `ratio: N`, for the ten alerts on
# the realistic data at 10,000 series. The exit code is 1 if the results disagree.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${1:-$root/build/release}
repetitions=${2:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf 'vs_prometheus: %s\n' "$*" >&2; }

build_pitwall() {
  [[ -x $build/bin/pipeline_bench ]] && return
  say "building $build"
  (cd "$root" && cmake --preset release -B "$build" && cmake --build "$build" --target pipeline_bench) >&2
}

# Prints the path of the program. The program is built once per version of its sources, next to the oracle. The oracle's build also installs Go.
build_prometheus() {
  local cache=${XDG_CACHE_HOME:-$HOME/.cache}/pitwall hash folder needed go
  hash=$(cd "$here/prometheus" && cat go.mod ./*.go | sha256sum | cut -c1-16)
  folder=$cache/vs-prometheus-$hash
  if [[ ! -x $folder/vs-prometheus ]]; then
    "$root/tests/oracle/build.sh" >/dev/null
    needed=$(sed -n 's/^go //p' "$here/prometheus/go.mod")
    export GOTOOLCHAIN=local GOFLAGS= GOWORK=off CGO_ENABLED=0
    for go in $(type -ap go || true) "$cache"/go-*/bin/go /usr/local/go/bin/go /usr/lib/go-*/bin/go; do
      [[ -x $go && $(printf 'go%s\n%s\n' "$needed" "$("$go" env GOVERSION)" | sort -V | head -n 1) == "go$needed" ]] && break
    done
    say "building with $go"
    mkdir -p "$folder"
    cp "$here/prometheus/go.mod" "$here"/prometheus/*.go "$folder"
    (cd "$folder" && "$go" build -mod=mod -trimpath -ldflags '-s -w' -o part . && mv part vs-prometheus) >&2
  fi
  printf '%s\n' "$folder/vs-prometheus"
}

# Prints the number before WORDS on the line with the CPU time.
cpu() { sed -n "s/^cpu:.* \([0-9.]*\) $1.*/\1/p"; }
median() { sort -g "$1" | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }

# Arguments: case DATA RULES SERIES PROMETHEUS'_TICKS OUR_TICKS
cases=("realistic alerts 1000 60 1200" "realistic alerts 10000 10 300" "dense alerts 1000 60 1200"
  "dense alerts 10000 10 300" "realistic records 1000 60 600" "realistic records 10000 10 150")
readonly warm_up=310

compare() {  # CASE'S_NAME: the results of both at the last tick
  awk -v name="$1" '
    function off(a, b) { d = a - b; if (d < 0) d = -d; m = a < 0 ? -a : a; return d > 1e-6 * (m > 1 ? m : 1) }
    /^cpu/ { sum[FILENAME] = $NF }
    /^check/ && FNR == NR { ours[$2] = $0; next }
    /^check/ {
      split(ours[$2], o, " ")
      if (o[3] != $3 || o[4] != $4 || off(o[5], $5)) { print name ": ours " ours[$2] ", Prometheus " $0; bad = 1 }
      delete ours[$2]; ++rules
    }
    END {
      for (rule in ours) { print name ": only ours has " rule; bad = 1 }
      if (sum[ARGV[1]] != sum[ARGV[2]] || rules != 10) { print name ": not the same samples or rules"; bad = 1 }
      exit bad
    }' "$work/ours" "$work/theirs" >&2
}

build_pitwall
prometheus=$(build_prometheus)
bench=$build/bin/pipeline_bench
for ((r = 1; r <= repetitions; ++r)); do
  for c in "${!cases[@]}"; do
    read -r data rules series their_ticks our_ticks <<<"${cases[c]}"
    say "$r/$repetitions: ${cases[c]}"
    file=$here/ten_$rules.yaml
    options=("--data=$data" "--rules=$file")
    "$bench" "$series" $((warm_up + our_ticks)) "${options[@]}" | cpu 'ns per rule' >>"$work/$c.whole"
    "$prometheus" -series "$series" -seconds $((warm_up + their_ticks)) -data "$data" -rules "$file" >"$work/theirs"
    cpu 'ns per rule' <"$work/theirs" >>"$work/$c.prometheus"
    cpu 'ns per sample' <"$work/theirs" >>"$work/$c.append"
    "$bench" "$series" $((warm_up + our_ticks)) "${options[@]}" --rules-only | cpu 'ns per rule' >>"$work/$c.rules"
    if ((r == 1)); then
      "$bench" "$series" $((warm_up + their_ticks)) "${options[@]}" --check >"$work/ours"
      compare "${cases[c]}"
    fi
  done
done

printf 'CPU ns per rule and series; both agree on every rule.\n'
printf '%-10s %-8s %7s %12s %8s %8s %8s   %s\n' data rules series Prometheus rules whole ratio 'Prometheus appending, per sample'
for c in "${!cases[@]}"; do
  read -r data rules series _ <<<"${cases[c]}"
  theirs=$(median "$work/$c.prometheus")
  whole=$(median "$work/$c.whole")
  ratio=$(awk "BEGIN {printf \"%.0f\", $theirs / $whole}")
  printf '%-10s %-8s %7d %12.0f %8.2f %8.2f %8d   %.0f\n' "$data" "$rules" "$series" "$theirs" \
    "$(median "$work/$c.rules")" "$whole" "$ratio" "$(median "$work/$c.append")"
  if [[ "$data $rules $series" == "realistic alerts 10000" ]]; then headline=$ratio; fi
done
printf 'ratio: %d\n' "$headline"
