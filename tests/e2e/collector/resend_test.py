#!/usr/bin/env python3
"""Kills the collector (kill -9) and restarts it several times while a training script logs the numbers 0, 1, 2, …. Each number must be in the log
exactly once or be counted as lost. usage: resend_test.py PITWALL DUMP_SAMPLES"""
import os
import random
import re
import subprocess
import sys
import time
import unittest
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

# The script logs values within steps of different lengths and between steps. It logs some of the values while the collector is down.
LOGGING = """
import logging, sys, time
logging.basicConfig()  # the client logs a warning about lost data
sys.path.insert(0, sys.argv[1])
import pitwall
pitwall.init(job="resend", rank=0)
number = 0
for step in pitwall.steps(range(int(sys.argv[2]))):
    with pitwall.phase("forward"):
        for _ in range(3):
            pitwall.log(number=number, labels={"n": str(number)})
            number += 1
            time.sleep(0.002)
    time.sleep(0.3 if step % 100 == 50 else 0.002)
pitwall.log(last=number)
pitwall.finish()
print(number)
"""
KILLS = 5
STEPS = 1200


class Resend(harness.ServiceTest):
    binary = dump = None

    def start(self, number):
        return harness.Pitwall(self.binary, os.path.join(self.folder.name, "log-%d" % number), "--data-dir", self.data,
                               "--rules", "pack:training")

    def samples(self, metric):
        done = subprocess.run([self.dump, self.data, metric], stdout=subprocess.PIPE, check=True, text=True)
        return [line.split() for line in done.stdout.splitlines()]

    def test_each_value_is_logged_exactly_once(self):
        chance = random.Random(7)
        self.service = self.start(0)
        socket = os.path.join(self.data, "collector.sock")
        with open(os.path.join(self.folder.name, "stderr"), "w+") as stderr:
            self.training = subprocess.Popen(
                [sys.executable, "-c", LOGGING, harness.CLIENT, str(STEPS)], stdout=subprocess.PIPE, stderr=stderr,
                text=True, env=dict(os.environ, PITWALL_SOCKET=socket))
            for kill in range(KILLS):
                time.sleep(1 + chance.random())
                self.service.kill()
                self.service = self.start(kill + 1)
            logged = int(self.training.communicate(timeout=harness.PATIENCE)[0])
            stderr.seek(0)
            said = stderr.read()
        self.assertEqual(self.training.returncode, 0, said)
        self.assertEqual(self.service.stop(), 0)
        self.assertEqual(logged, 3 * STEPS)
        lost = sum(map(int, re.findall(r"(\d+) spans and values", said)))
        numbers = Counter(int(float(sample[4])) for sample in self.samples("train_number"))
        duplicates = [number for number, count in numbers.items() if count > 1]
        missing = [number for number in range(logged) if number not in numbers]
        self.assertEqual(duplicates, [])
        self.assertLessEqual(len(missing), lost, "missing: %r; client log: %s" % (missing, said))
        self.assertEqual(len(self.samples("train_last")), 1)
        # No step is missing.
        steps = Counter(int(float(sample[4])) for sample in self.samples("train_step_duration_seconds"))
        if not lost:
            self.assertEqual(sum(steps.values()), STEPS)
        # One process has one boot ID, and killing the collector does not end the rank.
        boots = {sample[1] for sample in self.samples("train_number")}
        self.assertEqual(len(boots), 1)


if __name__ == "__main__":
    Resend.binary, Resend.dump = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
