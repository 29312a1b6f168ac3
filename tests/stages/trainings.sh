# Real trainings with Debian's PyTorch beside the shipped packs: each fault by name, and nothing else. About six minutes; they compute and sleep, so
# nothing else should run beside them.
. "$(dirname "$0")/common.sh"
pythons=$(bash tests/stages/torch.sh)
python=${pythons%%$'\n'*}  # Debian's
jobs=1
PITWALL_TORCH_PYTHON=$python run_ctest build/release -L '^trainings$'
# Hangs with longer steps and a whole minute of evaluation.
tests/e2e/hangs_test.py build/release/bin/pitwall --long
