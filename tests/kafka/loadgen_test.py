#!/usr/bin/env python3
"""Tests `pitwall loadgen --brokers` with a real Kafka broker: the processor must detect the planted faults in the topic, and no others.

run.sh runs it: loadgen_test.py BINARY
"""
import json
import os
import subprocess
import sys
import unittest

BINARY = None
BROKER = os.environ.get("PITWALL_TEST_KAFKA")


def lines(*arguments):
    done = subprocess.run([BINARY, *arguments, "--brokers", BROKER], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


class KafkaLoadgenTest(unittest.TestCase):
    def test_planted_faults_are_detected_once_despite_duplicate_batches(self):
        planted, totals = lines("loadgen", "--jobs", "2", "--gpus", "4", "--cores", "4", "--duration", "4m", "--duplicate", "0.1",
                                "--fault", "straggler,job=1,rank=2")
        self.assertEqual((planted["fault"], planted["job"]), ("straggler", "load-1"))
        self.assertGreater(totals["totals"]["duplicated"], 100)
        events = lines("backtest", "--format", "log", "--rules", "pack:default", "--no-status")
        found = [e["data"] for e in events if e["type"] == "io.pitwall.issue.found"]
        self.assertEqual([(f["job"]["id"], f["labels"]["alertname"], f["labels"]["rank"]) for f in found],
                         [("load-1", "StragglerRank", "2")])


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main()
