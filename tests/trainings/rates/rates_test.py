#!/usr/bin/env python3
"""Events per job per minute of healthy jobs: ten kinds with 1, 2, 8, and 64 ranks, ten minutes each in event time.

rates_test.py PITWALL [--long] [--table]

Every record on pitwall.issues counts, statuses too. The first minute and the end of a job are left out: there each rule reports its first status
and that it stopped. Without --long, only two kinds have 64 ranks, which saves two minutes. --table: prints the rates with all packs and with
pack:default as a table in Markdown.
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
BRIEF = ("long steps", "steps of 45 s")  # kinds with few samples
RANKS = (1, 2, 8, 64)
START = 1_700_000_000  # Unix seconds
WARMUP_S, MEASURED_S = 60, 600
LIMIT = 5              # events per job per minute
# Kind -> flags of loadgen; where a flag depends on the number of ranks, from which number on.
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
    seconds = WARMUP_S + MEASURED_S + 60
    subprocess.run([BINARY, "loadgen", "--data-dir", folder, "--duration", "%ds" % seconds, "--start", str(START), "--ticks", *flags_of(kind, ranks)],
                   check=True, capture_output=True)


def events(folder, which):
    """Times of the events of the job, in seconds after its start."""
    done = subprocess.run([BINARY, "backtest", "--input", folder, "--rules", *recordings.pack_flags(which)], capture_output=True, text=True, check=True)
    parsed = map(json.loads, done.stdout.splitlines())
    return [(recordings.seconds(event["time"]) - START, event) for event in parsed if event["data"]["job"]["id"] == "load-0"]


def rate(kind, ranks, which):
    """-> (events per minute, the names of what changed)"""
    with tempfile.TemporaryDirectory(prefix="pitwall-rates-") as folder:
        make_log(kind, ranks, folder)
        inside = [event for at, event in events(folder, which) if WARMUP_S <= at < WARMUP_S + MEASURED_S]
    names = sorted({event.get("subject", event["type"]) for event in inside})
    return len(inside) * 60 / MEASURED_S, names


def rates(which):
    """-> {(kind, ranks): (events per minute, names)}"""
    cells = [(kind, ranks) for ranks in reversed(RANKS) for kind in KINDS if LONG or ranks < 64 or kind in BRIEF]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(cells, pool.map(lambda cell: rate(*cell, which), cells)))


class Rates(unittest.TestCase):
    def test_healthy_jobs_emit_few_events(self):
        self.assertGreaterEqual(len(KINDS), 10)
        for cell, (each_minute, names) in rates("all").items():
            with self.subTest(kind=cell[0], ranks=cell[1]):
                self.assertLessEqual(each_minute, LIMIT, names)

    def test_job_of_several_ranks_emits_its_first_statuses(self):
        """The measurement sees events at all."""
        with tempfile.TemporaryDirectory(prefix="pitwall-rates-") as folder:
            make_log("long steps", 2, folder)
            self.assertGreater(len(events(folder, "default")), 20)


def print_table():
    print("| kind | packs | %s |" % " | ".join("%d rank%s" % (ranks, "s" * (ranks > 1)) for ranks in RANKS))
    print("|---|---|%s" % ("---|" * len(RANKS)))
    for which in ("default", "all"):
        measured = rates(which)
        for kind in KINDS:
            print("| %s | %s | %s |" % (kind, which, " | ".join("%.1f" % measured[kind, ranks][0] for ranks in RANKS)))


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    LONG = "--long" in sys.argv or "--table" in sys.argv
    if "--table" in sys.argv:
        print_table()
    else:
        unittest.main(argv=sys.argv[:1], verbosity=2)
