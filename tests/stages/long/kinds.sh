# Kinds of training runs with current versions of PyTorch, Lightning, Hugging Face, Accelerate, XGBoost, and a notebook, with all packs. Each fault
# must be reported by name and cause, without any other issue. Then measures the event rates of healthy jobs with up to 64 ranks, and pairs of faults
# with all packs. A kind that passed with this binary is not rerun. Takes about 30 minutes on two idle cores.
. "$(dirname "$0")/../parts/stage.sh"
pythons=$(bash tests/stages/parts/torch.sh)
log=build/test-logs/kinds.txt
mkdir -p build/test-logs
rc=0
python3 tests/trainings/kinds/run.py build/release/bin/pitwall "${pythons##*$'\n'}" | tee "$log" || rc=1
kinds=$(sed -n 's/^\([0-9]*\) kinds,.*/\1/p' "$log")
bad=$(grep -c '^FAILED ' "$log" || true)
known=$(grep -c '^KNOWN ' "$log" || true)
sed -n 's/^FAILED \([^ :]*\).*/FAILED: kind \1/p' "$log"
sed -n 's/^KNOWN  *\([^ :]*\).*/NOTE: kind \1 is known to be wrong/p' "$log"
echo "$((${kinds:-0} - bad - known)) $bad" >>"$PITWALL_COUNTS"
run_unittest tests/trainings/rates/rates_test.py build/release/bin/pitwall --long || rc=1
run_unittest tests/packs/fault_pairs_test.py build/release/bin/pitwall --long || rc=1
exit "$rc"
