#!/usr/bin/env python3
"""compare.py [BUILD] [--update[=NAME]]: compares the benchmarks with tests/bench/baseline.json.

The numbers are ratios of CPU time within one run, so they hardly depend on the machine and its load. The reference for the whole path sums 60 samples
of each series from scratch once per second. The reference for the history's ingestion and sealing packs the same records with zstd. Only the best of
three runs counts. The exit code is 1 if a ratio is worse than the baseline by more than WORSE. --update writes the results of all benchmarks,
--update=NAME only the results of that benchmark.
"""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BASELINE = os.path.join(HERE, "baseline.json")
RUNS = {"pipeline 1000 series": ["pipeline_bench", "1000", "900"], "pipeline 10000 series": ["pipeline_bench", "10000", "500"], "history": ["insights_bench", "10"]}
# Decoding and sealing have more cache misses than the reference, so their ratio increases when the machine is loaded.
WORSE = {"pipeline 1000 series": 1.25, "pipeline 10000 series": 1.25, "history": 1.5}
RATIO = re.compile(r"takes ([\d.]+) times as long as (?:summing|packing)")


def measure(build, command):
    program = os.path.join(build, "bin", command[0])
    best = None
    for _ in range(3):
        output = subprocess.run([program] + command[1:], stdout=subprocess.PIPE, text=True, check=True).stdout
        ratio = float(RATIO.search(output).group(1))
        if best is None or ratio < best[0]:
            best = (ratio, re.search(r"^(cpu|together).*", output, re.M).group(0))
    return best


def main():
    update = next((a for a in sys.argv[1:] if a.split("=")[0] == "--update"), None)
    only = update.partition("=")[2] if update else ""
    if only and only not in RUNS:
        sys.exit("--update: unknown benchmark (%s); one of: %s" % (only, ", ".join(RUNS)))
    arguments = [a for a in sys.argv[1:] if a != update]
    build = arguments[0] if arguments else os.path.join(HERE, "..", "..", "build", "release")
    with open(BASELINE) as file:
        baseline = json.load(file)
    measured, worse = {}, []
    for name, command in RUNS.items():
        ratio, line = measure(build, command)
        measured[name] = round(ratio, 2)
        known = baseline.get(name)
        print("%s: %.2f times the reference (baseline %s)\n    %s" % (name, measured[name], known, line), flush=True)
        if known and measured[name] > known * WORSE[name]:
            worse.append(name)
    if update:
        with open(BASELINE, "w") as file:
            json.dump({**baseline, only: measured[only]} if only else measured, file, indent=2)
            file.write("\n")
    elif worse:
        print("worse than the baseline by more than the limit: " + ", ".join(worse))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
