#!/usr/bin/env python3
"""Runs a shortened demo of a real training run with three faults. After the last fault, the executor stops the run. Live and replayed events must be
equal.

demo_test.py BINARY [--kafka]

The test needs the virtual environment of deploy/install-deps.sh; without it, the test is skipped with exit code 77.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import REPO  # noqa: E402

SKIPPED = 77
PYTHON = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pitwall", "venv", "bin", "python")


def main():
    if not os.access(PYTHON, os.X_OK):
        print("SKIPPED: %s is missing; run deploy/install-deps.sh python" % PYTHON)
        return SKIPPED
    # The script omits cpu_hog, because CPUSaturated may never end on a loaded machine.
    demo = subprocess.run([PYTHON, "-u", os.path.join(REPO, "deploy", "demo", "demo.py"), "--binary", sys.argv[1], "--script",
                           "3:slow_loader:5,12:hang:10,27:explode:60", "--seconds", "90", "--wait", "3"] + sys.argv[2:],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(demo.stdout)
    wanted = ["ISSUE BEGINS  DataStallShare", "ISSUE BEGINS  JobStalled", "ISSUE BEGINS  LossNotFinite",
              "the executor stopped the training", "live and replayed are bit-identical", "explore the job at http://127.0.0.1:", "demo: all fine"]
    missing = [text for text in wanted if text not in demo.stdout]
    for text in missing:
        print("demo output lacks: " + text)
    return 1 if demo.returncode or missing else 0


if __name__ == "__main__":
    sys.exit(main())
