# Runs every libFuzzer target (bin/*_fuzz) from its corpus (see below), with $PITWALL_FUZZ_RUNS (100000) inputs each, for at most
# $PITWALL_FUZZ_SECONDS (60) in total. $PITWALL_FUZZ_SEED is 1, so that runs are reproducible; "new" uses a new seed, as in the fuzz_more stage.
# Inputs that crash stay in build/asan-ubsan/artifacts; add them to the corpus.
. "$(dirname "$0")/parts/stage.sh"
budget=${PITWALL_FUZZ_SECONDS:-60}
most_runs=${PITWALL_FUZZ_RUNS:-100000}
longest=${PITWALL_FUZZ_TARGET_SECONDS:-60}
seed=${PITWALL_FUZZ_SEED:-1}
[[ $seed == new ]] && seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
rc=0
cmake --preset asan-ubsan "${sanitizer_options[@]}"
# Stage asan has already built the fuzzers. If this stage runs alone, it builds the fuzzers and their dependencies, but no unit tests.
mapfile -t wanted < <(ninja -C build/asan-ubsan -t targets all | sed -nE 's,^(bin/[^:]*_fuzz): .*,\1,p' | sort)
((${#wanted[@]})) || { echo "FAILED: no fuzz target exists"; exit 1; }
ninja -C build/asan-ubsan -j "$jobs" -k 0 "${wanted[@]}" || rc=1

mapfile -t targets < <(find build/asan-ubsan/bin -maxdepth 1 -name '*_fuzz' -type f -executable 2>/dev/null | sort)
((${#targets[@]})) || { echo "FAILED: no fuzz target was built"; exit 1; }
seconds=$((budget * jobs / ${#targets[@]}))
((seconds <= longest)) || seconds=$longest
((seconds >= 5)) || seconds=5
work=$(mktemp -d "${TMPDIR:-/tmp}/pitwall-fuzz.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p build/asan-ubsan/artifacts

# A target <folder>_<name>_fuzz, or <folder>_fuzz, lives in tests/fuzz/<folder>; a <name>_fuzz lives next to its <name>_corpus.
home_of() {
  local home=tests/fuzz/${1%%_*} beside
  beside=$(find tests/fuzz -mindepth 2 -maxdepth 2 -name "${1%_fuzz}_corpus" -printf '%h\n')
  if [[ -n $beside ]]; then echo "$beside"; elif [[ -d $home ]]; then echo "$home"; else echo tests/fuzz; fi
}

# TARGET HOME: prints the corpus of TARGET: the first of HOME/<name>_corpus, HOME/corpus/<name>, and HOME/corpus that exists.
corpus_of() {
  local short=${1#*_} folder
  for folder in "$2/${1%_fuzz}_corpus" "$2/corpus/${short%_fuzz}" "$2/corpus/${1%_fuzz}" "$2/corpus"; do
    [[ -d $folder ]] && { echo "$folder"; return 0; }
  done
}

fuzz_one() {
  local target=$1 name home corpus dictionary status=0
  name=$(basename "$target")
  home=$(home_of "$name")
  corpus=$(corpus_of "$name" "$home") || true
  dictionary=$(find "$home" -maxdepth 1 -name '*.dict' | head -n 1)
  mkdir -p "$work/$name.new"
  "$target" "$work/$name.new" ${corpus:+"$corpus"} ${dictionary:+-dict="$dictionary"} \
    -seed="$seed" -runs="$most_runs" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="build/asan-ubsan/artifacts/$name-" >"$work/$name.log" 2>&1 || status=$?
  local reached runs
  reached=$(grep -oE 'cov: [0-9]+ ft: [0-9]+ corp: [0-9]+' "$work/$name.log" | tail -n 1) || true
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log")
  if ((status == 0)); then
    printf 'fuzz: %-32s %8s runs  %s  from %s\n' "$name" "${runs:-?}" "$reached" "${corpus:-no corpus}"
    echo "1 0" >>"$PITWALL_COUNTS"
  else
    tail -n 40 "$work/$name.log"
    echo "FAILED: $name (exit $status); input in build/asan-ubsan/artifacts"
    echo "0 1" >>"$PITWALL_COUNTS"
    return 1
  fi
}

running=0
for target in "${targets[@]}"; do
  fuzz_one "$target" &
  if ((++running >= jobs)); then
    wait -n || rc=1
    ((running--)) || true
  fi
done
while ((running-- > 0)); do
  wait -n || rc=1
done
echo "NOTE: ${#targets[@]} targets, at most $most_runs runs or $seconds s each, seed $seed"
exit "$rc"
