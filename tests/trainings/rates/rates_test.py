#!/usr/bin/env python3
"""Measures events per job per minute for healthy jobs: ten kinds with 1, 2, 8, and 64 ranks, for twelve minutes of event time each.

rates_test.py PITWALL [--long] [--table]

Every record on pitwall.issues counts, including statuses. With pack:default, the whole job counts, including its start and end. With all packs
(141 rules), the end and the first two minutes do not count, because each rule reports its first status in these minutes. Without --long, each kind
runs with a single rank count (1, 2, or 8, in turn), and one kind also with 64 ranks. --table: prints both rates, and the rates for whole jobs with
all packs, as a Markdown table.
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import recordings  # noqa: E402

BINARY = None
LONG = False
BRIEF = ("long steps",)  # kinds with few samples; they also run with 64 ranks
RANKS = (1, 2, 8, 64)
START = 1_700_000_000  # Unix seconds
WARMUP_S, MEASURED_S = 120, 600
JOB_S = WARMUP_S + MEASURED_S
LIMIT = 5              # events per job per minute
# Kind -> {minimum number of ranks: flags of loadgen}. The entry with the largest applicable minimum is used.
KINDS = {
    "short steps": {1: ["--step", "100ms"], 64: ["--step", "250ms"]},
    "steps of 400 ms": {1: ["--step", "400ms"]},
    "long steps": {1: ["--step", "5s"]},
    "steps of 45 s": {1: ["--step", "45s"]},
    "without GPUs": {1: ["--gpus", "0", "--cores", "8", "--step", "1s"]},
    "many values": {1: ["--logged", "30", "--step", "2s"]},
    "sparse samples": {1: ["--interval", "5s", "--step", "1s"]},
    "late batches": {1: ["--late", "0.05", "--step", "1s"]},
    "repeated and reordered batches": {1: ["--duplicate", "0.05", "--reorder", "0.05", "--step", "1s"]},
    "lost batches": {1: ["--drop", "0.02", "--step", "1s"]},
}


def flags_of(kind, ranks):
    nodes = max(1, ranks // 8)
    flags = ["--ranks", str(ranks), "--nodes", str(nodes), "--gpus", str(ranks // nodes), "--interval", "500ms" if ranks < 64 else "2s"]
    return flags + KINDS[kind][max(least for least in KINDS[kind] if least <= ranks)]


def make_log(kind, ranks, folder):
    subprocess.run([BINARY, "loadgen", "--data-dir", folder, "--duration", "%ds" % (JOB_S + 1), "--start", str(START), "--ticks", *flags_of(kind, ranks)],
                   check=True, capture_output=True)


def events(folder, which):
    """Returns [(seconds since the start of the job, event)] for the job's events."""
    done = subprocess.run([BINARY, "backtest", "--input", folder, "--rules", *recordings.pack_flags(which)], capture_output=True, text=True, check=True)
    parsed = map(json.loads, done.stdout.splitlines())
    return [(recordings.seconds(event["time"]) - START, event) for event in parsed if event["data"]["job"]["id"] == "load-0"]


def measure(kind, ranks, which):
    """Returns {"whole" | "settled": (events per minute, subjects of the events)}."""
    with tempfile.TemporaryDirectory(prefix="pitwall-rates-") as folder:
        make_log(kind, ranks, folder)
        every = events(folder, which)
    settled = [(at, event) for at, event in every if WARMUP_S <= at < JOB_S]
    measured = {}
    for part, chosen, seconds in (("whole", every, max(JOB_S, every[-1][0])), ("settled", settled, MEASURED_S)):
        measured[part] = (len(chosen) * 60 / seconds, sorted({event.get("subject", event["type"]) for _, event in chosen}))
    return measured


def rates(which):
    """Returns {(kind, ranks): result of measure()}."""
    cells = [(kind, ranks) for ranks in reversed(RANKS) for index, kind in enumerate(KINDS)
             if LONG or ranks == RANKS[index % 3] or ranks == 64 and kind in BRIEF]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(cells, pool.map(lambda cell: measure(*cell, which), cells)))


class Rates(unittest.TestCase):
    def check(self, which, part):
        self.assertGreaterEqual(len(KINDS), 10)
        for cell, measured in rates(which).items():
            with self.subTest(kind=cell[0], ranks=cell[1]):
                each_minute, names = measured[part]
                self.assertLessEqual(each_minute, LIMIT, names)
                self.assertGreater(measured["whole"][0], 1)  # the measurement must have found events

    def test_healthy_jobs_emit_few_events_from_start_to_end(self):
        self.check("default", "whole")

    def test_healthy_jobs_emit_few_events_after_all_packs_settle(self):
        self.check("all", "settled")


def print_table():
    print("| kind | packs | part | %s |" % " | ".join("%d rank%s" % (ranks, "s" * (ranks > 1)) for ranks in RANKS))
    print("|---|---|---|%s" % ("---|" * len(RANKS)))
    for which in ("default", "all"):
        measured = rates(which)
        for part in ("whole", "settled"):
            for kind in KINDS:
                print("| %s | %s | %s | %s |" % (kind, which, part, " | ".join("%.1f" % measured[kind, ranks][part][0] for ranks in RANKS)))


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    LONG = "--long" in sys.argv or "--table" in sys.argv
    if "--table" in sys.argv:
        print_table()
    else:
        unittest.main(argv=sys.argv[:1], verbosity=2)
