# Matrix of real training runs with all packs, each run with one fault (tests/trainings/cells.py). A cell that passed with this binary is not rerun.
# The runs sleep more than they compute, but nothing else should run at the same time.
. "$(dirname "$0")/../parts/stage.sh"
pythons=$(bash tests/stages/parts/torch.sh)
log=build/test-logs/cells.txt
mkdir -p build/test-logs
rc=0
python3 tests/trainings/matrix.py build/release/bin/pitwall "${pythons##*$'\n'}" | tee "$log" || rc=1
bad=$(grep -c '^FAILED ' "$log" || true)
cells=$(sed -n 's/^\([0-9]*\) cells,.*/\1/p' "$log")
sed -n 's/^FAILED \([^ :]*\).*/FAILED: cell \1/p' "$log"
echo "$((${cells:-0} - bad)) $bad" >>"$PITWALL_COUNTS"
exit "$rc"
