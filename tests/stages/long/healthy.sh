# Healthy training runs of eight kinds with all packs, for ten minutes with each of two seeds. Two of the kinds also run for $PITWALL_HEALTHY_MINUTES
# (60). An issue that is not explained by the machine is a failure. A run with a result for this binary is not repeated.
. "$(dirname "$0")/../parts/stage.sh"
pythons=$(bash tests/stages/parts/torch.sh)
python=${pythons##*$'\n'}
log=build/test-logs/healthy.txt
minutes=${PITWALL_HEALTHY_MINUTES:-60}
mkdir -p build/test-logs
rc=0
python3 tests/trainings/healthy.py build/release/bin/pitwall "$python" --kinds ddp --seeds 3 --minutes "$minutes" >"$log.ddp" &
ddp=$!
python3 tests/trainings/healthy.py build/release/bin/pitwall "$python" --kinds language-model --seeds 4 --minutes "$minutes" >"$log.model" &
model=$!
python3 tests/trainings/healthy.py build/release/bin/pitwall "$python" --seeds 1 2 --jobs 4 | tee "$log" || rc=1
wait "$ddp" || rc=1
wait "$model" || rc=1
cat "$log.ddp" "$log.model" | tee -a "$log"
good=$(grep -c '^ok ' "$log" || true)
bad=$(grep -c '^FAILED ' "$log" || true)
sed -n 's/^FAILED \([^ :]*\).*/FAILED: healthy training \1/p' "$log"
echo "$good $bad" >>"$PITWALL_COUNTS"
exit "$rc"
