#!/usr/bin/env python3
"""Evaluates data from `pitwall loadgen`: each planted fault must raise the issues that its JSON line lists. A healthy job must not raise any issues,
even if its batches are late, duplicated, reordered, or dropped.

loadgen_test.py BINARY
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import Pitwall, wait_for  # noqa: E402

BINARY = None
START = "2026-01-01T00:00:00Z"
START_NS = 1767225600 * 10**9


def loadgen(*flags, code=0):
    done = subprocess.run([BINARY, "loadgen", *flags], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (done.returncode, done.stderr)
    if code:
        return done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[:-1], lines[-1]["totals"]


def nanoseconds(event):
    whole, _, part = event["time"].rstrip("Z").partition(".")
    hours, minutes, seconds = (int(x) for x in whole.split("T")[1].split(":"))
    return START_NS + (hours * 3600 + minutes * 60 + seconds) * 10**9 + int(part.ljust(9, "0") or 0)


def verdict(plants, found, patience_s=60):
    """Returns the mismatches as lines of text: issues that are missing, early, or late, and issues that no fault explains."""
    wrong = []
    explained = set()
    for plant in plants:
        for expected in plant["expect"]:
            fits = [i for i, event in enumerate(found)
                    if event["data"]["job"]["id"] == plant["job"] and event["data"]["alert"] == expected["rule"]
                    and all(event["data"]["labels"].get(k) == v for k, v in expected["labels"].items())]
            on_time = [i for i in fits if plant["from_ns"] <= nanoseconds(found[i]) <= plant["from_ns"] + patience_s * 10**9]
            if not on_time:
                wrong.append("missing: %s %s of %s" % (expected["rule"], expected["labels"], plant["job"]))
            explained.update(fits)
        for i, event in enumerate(found):
            if (event["data"]["job"]["id"] == plant["job"] and event["data"]["alert"] in plant["may"]
                    and nanoseconds(event) >= plant["from_ns"]):
                explained.add(i)
    wrong += ["not planted: %s %s of %s" % (e["data"]["rule"], e["data"]["labels"], e["data"]["job"]["id"])
              for i, e in enumerate(found) if i not in explained]
    return wrong


class LoadgenTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="pitwall-loadgen-")
        self.addCleanup(shutil.rmtree, self.dir)

    def into_log(self, *flags, name="log"):
        path = os.path.join(self.dir, name)
        return path, *loadgen("--data-dir", path, "--start", START, *flags)

    def found(self, path):
        lines = subprocess.run([BINARY, "backtest", "--format", "log", "--input", path, "--rules", "pack:default",
                                "--no-status"], capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()
        return [e for e in map(json.loads, lines) if e["type"] == "io.pitwall.issue.found"]

    def judged(self, *flags, patience_s=60):
        path, plants, totals = self.into_log("--ticks", *flags)
        self.assertEqual(verdict(plants, self.found(path), patience_s), [])
        return plants, totals

    def test_each_kind_of_fault_is_detected(self):
        faults = ["straggler", "stall", "hang", "death", "nan", "gpu"]
        flags = []
        for job, fault in enumerate(faults):
            flags += ["--fault", "%s,job=%d" % (fault, job)]
        plants, _ = self.judged("--jobs", "7", "--nodes", "2", "--gpus", "4", "--cores", "4", "--duration", "6m", *flags)
        self.assertEqual(sorted(p["fault"] for p in plants), sorted(faults))
        self.assertEqual({p["job"] for p in plants}, {"load-%d" % i for i in range(6)})  # the seventh is healthy

    def test_random_faults_are_detected(self):
        plants, _ = self.judged("--jobs", "8", "--faults", "7", "--seed", "5", "--gpus", "4", "--cores", "2", "--duration", "6m")
        self.assertEqual(len(plants), 7)

    def test_checker_detects_missing_and_unexpected_issues(self):
        path, plants, _ = self.into_log("--gpus", "4", "--cores", "2", "--duration", "5m", "--fault", "straggler,rank=2")
        found = self.found(path)
        self.assertEqual(verdict(plants, found), [])
        self.assertRegex("\n".join(verdict(plants, [])), "missing: StragglerRank")
        self.assertRegex("\n".join(verdict([], found)), "not planted: .*StragglerRank")
        plants[0]["expect"][0]["labels"]["rank"] = "1"
        self.assertEqual(len(verdict(plants, found)), 2)

    def test_leak_is_detected(self):
        plants, _ = self.judged("--gpus", "2", "--cores", "1", "--duration", "25m", "--step", "2s", "--fault", "leak,rank=1,from=8m",
                                patience_s=900)
        self.assertEqual(len(plants), 1)

    def test_late_duplicated_or_reordered_batches_cause_no_issue(self):
        _, totals = self.judged("--jobs", "2", "--gpus", "4", "--cores", "2", "--duration", "5m", "--late", "0.02",
                                "--duplicate", "0.1", "--reorder", "0.02")
        for what in ("late", "duplicated", "reordered"):
            self.assertGreater(totals[what], 20)

    def test_dead_job_continues_with_next_attempt(self):
        path, plants, _ = self.into_log("--gpus", "4", "--cores", "2", "--duration", "5m", "--fault", "death,rank=2,restart=20s")
        self.assertEqual(verdict(plants, self.found(path)), [])
        events = subprocess.run([BINARY, "backtest", "--format", "log", "--input", path, "--rules", "pack:default"],
                                capture_output=True, text=True, timeout=120, check=True).stdout.splitlines()
        changes = [e["data"] for e in map(json.loads, events) if e["type"] == "io.pitwall.job.changed"]
        self.assertEqual(sorted({c["attempt"] for c in changes} - {0}), [1, 2])

    def test_equal_flags_produce_equal_logs(self):
        flags = ("--gpus", "2", "--cores", "2", "--duration", "1m", "--late", "0.1", "--drop", "0.1", "--fault", "hang")

        def contents(path):
            out = {}
            for folder, _, files in os.walk(path):
                for file in files:
                    if file.endswith(".seg"):
                        with open(os.path.join(folder, file), "rb") as data:
                            out[os.path.relpath(os.path.join(folder, file), path)] = data.read()
            return out

        one, two = (contents(self.into_log(*flags, name=name)[0]) for name in ("one", "two"))
        self.assertGreater(sum(map(len, one.values())), 10000)
        self.assertEqual(one, two)
        self.assertNotEqual(one, contents(self.into_log("--seed", "2", *flags, name="three")[0]))

    def test_ranks_can_send_to_collector(self):
        socket = os.path.join(self.dir, "socket")
        rules = os.path.join(self.dir, "data")
        service = Pitwall(BINARY, os.path.join(self.dir, "log.txt"), "--data-dir", rules, "--socket", socket)
        self.addCleanup(service.kill)
        plants, totals = loadgen("--socket", socket, "--jobs", "2", "--gpus", "3", "--step", "100ms", "--duration", "12s",
                                 "--fault", "nan,job=0,rank=1,from=step:30", "--fault", "straggler,job=1,rank=2,from=step:35,factor=2")
        self.assertEqual(totals["ranks"], 6)
        self.assertEqual(sorted(p["fault"] for p in plants), ["nan", "straggler"])

        def rules_found():
            done = subprocess.run([BINARY, "issues", "list", "--all", "--json", "--target", service.grpc], capture_output=True,
                                  text=True, timeout=30, check=True)
            events = [json.loads(line)["data"] for line in done.stdout.splitlines()]
            return {(e["job"]["id"], e["labels"]["alertname"], e["labels"].get("rank")) for e in events}

        expected = {("load-0", "LossNotFinite", "1"), ("load-1", "StragglerRank", "2")}
        wait_for("both issues", lambda: expected <= rules_found())
        self.assertEqual(service.stop(), 0)

    def test_invalid_flag_errors_suggest_valid_values(self):
        for flags, said in [
                ((), "specify --data-dir, --brokers, --socket, or --discard"),
                (("--discard", "--cores", "9999"), r"--cores: must be 0 to 4096 \(got 9999\)"),
                (("--discard", "--fault", "slow"), "unknown kind; valid kinds are straggler"),
                (("--discard", "--fault", "hang,rank=9"), "got rank 9, --ranks 8"),
                (("--discard", "--start", "yesterday"), "--start: must be a time like 2026-01-02T03:04:05Z"),
                (("--discard", "--hz", "2", "--interval", "1s"), "--hz: cannot be combined with --interval"),
                (("--socket", os.path.join(self.dir, "none"), "--fault", "death"), "cannot be simulated over a socket"),
                (("--discard", "--drop", "2"), "--drop: must be 0 to 1")]:
            self.assertRegex(loadgen(*flags, code=2), said)
        self.assertRegex(loadgen("--discard", "--duration", "1m", "--fault", "hang,from=2m", code=1), "1 of 1 faults never started")
        self.assertRegex(loadgen("--socket", os.path.join(self.dir, "none"), code=1), "no collector is listening")


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main()
