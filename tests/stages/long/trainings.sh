# Real training runs with Debian's PyTorch and the shipped packs. Each fault must be reported by name, without any other issue. Then tests hangs with
# longer steps and a full minute of evaluation, and tests idle processes. Takes about eleven minutes; nothing else should run at the same time.
. "$(dirname "$0")/../parts/stage.sh"
pythons=$(bash tests/stages/parts/torch.sh)
python=${pythons%%$'\n'*}  # Debian's
jobs=1
rc=0
PITWALL_TORCH_PYTHON=$python run_ctest build/release -L '^trainings$' || rc=1
for script in hangs_test.py idle_test.py; do
  if tests/e2e/ranks/$script build/release/bin/pitwall --long; then
    echo "1 0" >>"$PITWALL_COUNTS"
  else
    echo "FAILED: $script --long"
    echo "0 1" >>"$PITWALL_COUNTS"
    rc=1
  fi
done
exit "$rc"
