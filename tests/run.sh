#!/usr/bin/env bash
# run.sh [--quick | --long] [--only STAGE,…] [--list]: builds Pitwall and runs its tests, starting from a bare Debian machine.
#
#   (nothing)   everything: installs missing packages, builds, and runs every stage; under an hour on 2 cores with cold caches
#   --quick     builds the binary and the unit tests, and runs the unit tests; installs nothing
#   --long      everything, plus all modules under the sanitizers, clang-tidy, simulated training runs, the cost of the Python client, real
#               training runs with one fault each (including the matrix of cells), healthy training runs, planted faults, new seeds for the
#               fuzzers, the complete damage matrix, 300 random faults under load, the history at full size, the chart with helm, packages in
#               clean roots, Slurm's time limit, the links of all shipped alerts, and the soak ($PITWALL_SOAK_MINUTES, default 60)
#   --only      only these stages, in the order of --list
#   --list      lists the stages
#
# A failed stage does not stop the later ones. Each stage writes build/test-logs/<stage>.log. The last line is "N passed, N failed", which counts
# all tests in all stages; the exit code is 0 only if nothing failed. Works from any directory, and repeatedly in the same tree. The stages are
# scripts in tests/stages and, those of --long, tests/stages/long.
set -uo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs=$repo/build/test-logs

# Stage name, and the number of minutes after which a hung stage is stopped.
stages=(deps:20 build:45 unit:15 lint:30 suites:20 oracle:15 page:10 e2e:30 python:20 kafka:30 asan:30 fuzz:15)
quick_stages=(build:45 unit:15)
long_stages=(asan_long:60 tsan_long:60 tidy:60 quiet_long:60 python_long:20 trainings:30 cells:110 kinds:90 healthy:150 tidy_tests:60 faults:60 fuzz_more:90 damage:60 life_long:90
  promapi_long:60 insights_long:120 helm_long:60 install_long:60 receivers_long:20 slurm_long:10 page_long:20 soak:240)

wanted=("${stages[@]}")
only=
while (($#)); do
  case $1 in
    --quick) wanted=("${quick_stages[@]}"); export PITWALL_QUICK=1 ;;
    --long) wanted+=("${long_stages[@]}") ;;
    --only) only=${2:?--only needs stages}; shift ;;
    --list) printf '%s\n' "${stages[@]%%:*}" "${long_stages[@]%%:*}"; exit 0 ;;
    -h | --help) sed -n '2,15s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "run.sh: unknown argument $1; see --help" >&2; exit 2 ;;
  esac
  shift
done
if [[ -n $only ]]; then
  wanted=()
  for stage in "${stages[@]}" "${long_stages[@]}"; do
    [[ ,$only, == *,${stage%%:*},* ]] && wanted+=("$stage")
  done
  ((${#wanted[@]} == $(tr ',' '\n' <<<"$only" | sort -u | wc -l))) || { echo "run.sh: unknown stage in $only; see --list" >&2; exit 2; }
fi

mkdir -p "$logs"
started=$SECONDS
passed=0
failed=0
failures=()
child=

# These stages use a quarter to a half of two cores and otherwise wait. The sanitizer build runs in parallel and uses the remaining CPU time. These
# stages run one after another, so that no compilation is stopped halfway.
waiting=(e2e python kafka)
prebuild=

start_prebuild() {
  [[ -z $prebuild && " ${wanted[*]}" =~ \ asan: ]] || return 0
  setsid bash "$repo/tests/stages/parts/prebuild.sh" >>"$logs/prebuild.log" 2>&1 &
  prebuild=$!
}

stop_prebuild() {
  [[ -n $prebuild ]] || return 0
  kill -TERM -- "-$prebuild" 2>/dev/null
  wait "$prebuild" 2>/dev/null
  prebuild=
}

stop() {
  [[ -n $child ]] && kill -TERM -- "-$child" 2>/dev/null
  stop_prebuild
  echo "run.sh: stopped" >&2
  exit 130
}
trap stop INT TERM

minutes() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

run_stage() {  # NAME MINUTES
  local name=$1 limit=$2 log=$logs/$1.log counts=$logs/$1.counts script=$repo/tests/stages/$1.sh begin=$SECONDS rc=0 ticks=0
  [[ -f $script ]] || script=$repo/tests/stages/long/$name.sh
  : >"$counts"
  printf '== %-7s ' "$name"
  # Each stage has its own process group, so that a hung stage is stopped with all its processes.
  PITWALL_COUNTS=$counts setsid timeout --kill-after=30 "$((limit * 60))" bash "$script" >"$log" 2>&1 &
  child=$!
  while kill -0 "$child" 2>/dev/null; do
    sleep 1
    ((++ticks % 60)) || printf '\n   %s after %s: %s' "$name" "$(minutes $((SECONDS - begin)))" "$(tail -n 1 "$log" | cut -c1-110)"
  done
  wait "$child" || rc=$?
  kill -KILL -- "-$child" 2>/dev/null
  child=
  local ok=0 bad=0 a b
  while read -r a b; do
    ((ok += a, bad += b))
  done <"$counts"
  # A stage that fails without a failed test (a failed build, a missing tool) counts as one failure.
  ((rc == 0 || bad > 0)) || bad=1
  ((passed += ok, failed += bad))
  if ((rc == 0)); then
    printf '%s, %d passed%s\n' "$(minutes $((SECONDS - begin)))" "$ok" "$(sed -n 's/^NOTE: /; /p' "$log" | tr -d '\n')"
    return
  fi
  failures+=("$name")
  printf '%s, %d passed, %d FAILED' "$(minutes $((SECONDS - begin)))" "$ok" "$bad"
  ((rc == 124 || rc == 137)) && printf ' (stopped after %d minutes)' "$limit"
  printf '; whole log: %s\n' "build/test-logs/$name.log"
  if grep -q '^FAILED: ' "$log"; then
    sed -n 's/^FAILED: /   failed: /p' "$log" | sort -u | head -n 50
    # Prints the cause reported by GoogleTest, Playwright, a sanitizer, Python, clang-tidy, or a benchmark.
    sed -n 's/^CAUSE: /   | /p' "$log" | head -n 40
    grep -E -A 14 ': Failure$|^    Error: |(WARNING|ERROR): ([A-Za-z]+Sanitizer|libFuzzer)|: check failed: |runtime error:|^Traceback|: error: |\*\*\*(Timeout|Exception)' "$log" |
      cut -c1-220 | head -n 80 | sed 's/^/   | /'
  else
    tail -n 30 "$log" | sed 's/^/   | /'
  fi
}

for stage in "${wanted[@]}"; do
  if [[ " ${waiting[*]} " == *" ${stage%%:*} "* ]]; then start_prebuild; else stop_prebuild; fi
  run_stage "${stage%%:*}" "${stage##*:}"
done
stop_prebuild

((${#failures[@]} == 0)) || echo "failed stages: ${failures[*]}"
echo "took $(minutes $((SECONDS - started)))"
echo "$passed passed, $failed failed"
((failed == 0))
