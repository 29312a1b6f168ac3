#!/usr/bin/env python3
"""profile.py [BUILD] [ARGUMENTS OF pipeline_bench]: profiles the engine's CPU time with linux-perf.

Counts only samples below the engine's entry point (Shard::Apply, or the function that the benchmark calls for --rules-only), which excludes data
generation. Prints two tables: the share of each function with and without its callees. Requires `perf` and a kernel.perf_event_paranoid of at most 2.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ENTRY = re.compile(r"engine::Shard::Apply\b|ClockDomain::(Evaluate|Expire)\b|SeriesStore::(Append|Intern|Plan)\b")
LINES = 45


def short(name):
    name = name.replace("(anonymous namespace)::", "").replace("pitwall::", "")
    while re.search(r"\([^()]*\)", name):
        name = re.sub(r"\([^()]*\)", "", name)
    return name[:100]


def main():
    arguments = sys.argv[1:]
    build = os.path.join(HERE, "..", "..", "build", "release")
    if arguments and os.path.isdir(arguments[0]):
        build = arguments.pop(0)
    program = [os.path.join(build, "bin", "pipeline_bench")] + (arguments or ["10000", "900", "--data=realistic"])
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "perf.data")
        subprocess.run(["perf", "record", "-q", "-F", "1997", "-g", "-o", data] + program, check=True)
        script = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True, check=True).stdout
    alone, below, total = collections.Counter(), collections.Counter(), 0
    for stack in script.split("\n\n"):
        frames = [line.strip().split(" ", 1)[-1] for line in stack.strip().splitlines()]
        entries = [i for i, frame in enumerate(frames) if ENTRY.search(frame)]
        if not entries:
            continue
        total += 1
        alone[short(frames[0])] += 1
        for name in {short(frame) for frame in frames[: entries[-1] + 1]}:
            below[name] += 1
    print("%d samples in the engine" % total)
    for title, counter in (("with what it calls", below), ("by itself", alone)):
        print("\n%7s  %s" % ("share", title))
        for name, count in counter.most_common(LINES):
            print("%6.1f%%  %s" % (100.0 * count / max(total, 1), name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
