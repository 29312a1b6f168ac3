#!/usr/bin/env python3
"""Tests wall clock jumps, forward and backward, during a live training run. No data is lost or rejected, late data is counted, time never goes
backward, and problems are logged. Debian's libfaketime sets the clock of the services. It breaks Python's time.sleep(), so the training script
applies the offset from the same file itself. usage: clock_test.py PITWALL DUMP_SAMPLES"""
import glob
import os
import re
import signal
import subprocess
import sys
import time
import unittest
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

# The multithreaded variant. In the default variant, threads parse the file without a lock, so a change to the offset may result in an invalid time.
LIBRARY = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")

TRAINING = """
import logging, signal, sys, time
logging.basicConfig()
real = time.time_ns
def time_ns():
    with open(sys.argv[2]) as text:
        return real() + int(text.read()) * 10**9
time.time_ns = time_ns
time.time = lambda: time_ns() / 1e9
sys.path.insert(0, sys.argv[1])
import pitwall
going = True
def stop(*_):
    global going
    going = False
signal.signal(signal.SIGTERM, stop)
pitwall.init(job="clocks", rank=0)
number = 0
while going:
    with pitwall.step(number):
        with pitwall.phase("forward"):
            time.sleep(0.005)
        pitwall.log(number=number)
    number += 1
pitwall.finish()
print(number)
"""


class Sample:
    def __init__(self, line):
        source, boot, sequence, at, value, append = line.rsplit(" ", 5)
        self.source, self.boot, self.sequence = source, boot, int(sequence)
        self.at, self.value, self.append = int(at) / 1e9, float(value), int(append) / 1e9


class Clocks(harness.ServiceTest):
    binary = dump = None

    def setUp(self):
        super().setUp()
        self.clock = os.path.join(self.folder.name, "clock")
        self.jump(0)
        self.starts = 0

    def jump(self, seconds):
        """Sets the offset of the wall clock from the machine's clock."""
        with open(self.clock + ".new", "w") as out:
            out.write("%+d\n" % seconds)
        os.rename(self.clock + ".new", self.clock)

    def start(self):
        self.starts += 1
        self.service = harness.Pitwall(
            self.binary, os.path.join(self.folder.name, "log-%d" % self.starts), "--data-dir", self.data, "--rules",
            "pack:training", variables={
                "LD_PRELOAD": LIBRARY[0], "FAKETIME_TIMESTAMP_FILE": self.clock, "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "FAKETIME_FORCE_MONOTONIC_FIX": "0"})  # otherwise, all timed waits on the monotonic clock end immediately

    def train(self):
        self.training = subprocess.Popen(
            [sys.executable, "-c", TRAINING, harness.CLIENT, self.clock], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env=dict(os.environ, PITWALL_SOCKET=os.path.join(self.data, "collector.sock")))

    def samples(self, metric):
        done = subprocess.run([self.dump, self.data, metric], stdout=subprocess.PIPE, check=True, text=True)
        return [Sample(line) for line in done.stdout.splitlines()]

    def dropped(self, reason):
        text = harness.fetch(self.service.http + "/metrics")[1]
        return sum(float(n) for n in re.findall(
            r'^pitwall_processor_dropped_total\{[^}]*reason="%s"[^}]*\} (\S+)$' % reason, text, re.M))

    def wait_for_samples(self, more):
        """Waits until the processor has accepted this many additional samples, as proof that evaluation continues."""
        aim = self.service.metric("pitwall_processor_samples_total") + more
        harness.wait_for("the processor to apply samples", lambda: self.service.metric("pitwall_processor_samples_total") >= aim)

    def expect_log(self, line):
        harness.wait_for("%r in the log" % line, lambda: self.service.said(line))

    def wait_for_log_ahead(self, seconds):
        harness.wait_for("the log's clock to be %d s ahead" % seconds, lambda: abs(
            self.service.metric("pitwall_log_clock_ahead_seconds") - seconds) < 2)

    def finish(self):
        """Stops the training script. Returns the number of values that the script has logged."""
        self.training.send_signal(signal.SIGTERM)
        out, said = self.training.communicate(timeout=harness.PATIENCE)
        self.assertEqual(self.training.returncode, 0, said)
        self.assertNotIn("lost", said)
        return int(out)

    def expect_each_once(self, logged):
        numbers = self.samples("train_number")
        counts = Counter(int(sample.value) for sample in numbers)
        self.assertEqual({n: counts[n] for n in range(logged) if counts[n] != 1}, {}, logged)
        return numbers

    def test_brief_clock_jump_of_45_days_changes_nothing(self):
        """Expects that no data is deleted, late, or rejected, and that no new boot starts. The jump lasts until retention, which reads the clock
        every 10 s, has detected it."""
        self.start()
        self.train()
        self.wait_for_samples(2000)
        suspended = "pitwall_insights_retention_suspended"
        kept = "pitwall_insights_jobs"
        harness.wait_for("the history to contain the job", lambda: self.service.metric(kept) >= 1)
        before = self.service.metric(kept)
        self.jump(45 * 86400)
        harness.wait_for("retention to be suspended", lambda: self.service.metric(suspended) == 1)
        self.wait_for_samples(2000)
        self.jump(0)
        harness.wait_for("retention to be resumed", lambda: self.service.metric(suspended) == 0)
        self.wait_for_samples(2000)
        self.assertGreaterEqual(self.service.metric(kept), before)
        for reason in ("clock_ahead", "late", "duplicate"):
            self.assertEqual(self.dropped(reason), 0, reason)
        self.assertEqual(self.service.metric("pitwall_collector_boots_total"), 1)
        logged = self.finish()
        self.assertEqual(self.service.stop(), 0)
        self.expect_each_once(logged)

    def test_clock_jumps_during_training_lose_no_data(self):
        self.start()
        self.train()
        self.wait_for_samples(2000)
        self.wait_for_log_ahead(0)

        self.jump(-600)
        self.wait_for_log_ahead(600)
        self.wait_for_samples(2000)
        self.expect_log(r"wall clock is \S+ behind the log's append times")
        self.jump(0)  # forward by 10 min, so that the clock catches up
        self.wait_for_log_ahead(0)
        self.wait_for_samples(2000)
        self.expect_log("wall clock has caught up")

        self.jump(600)  # ahead of all earlier times, so every process follows
        self.wait_for_samples(2000)
        self.wait_for_log_ahead(0)
        self.jump(-3000)  # back by 1 h
        self.wait_for_log_ahead(3600)
        self.wait_for_samples(2000)
        self.assertEqual(self.dropped("clock_ahead"), 0)
        self.assertEqual(self.dropped("duplicate"), 0)

        # The service restarts after the jumps. The log continues after its last record, and the processor accepts data from the training process,
        # which is still running.
        self.assertEqual(self.service.stop(), 0)
        self.start()
        self.wait_for_samples(1000)
        self.assertEqual(self.dropped("clock_ahead"), 0)
        logged = self.finish()
        self.assertEqual(self.service.stop(), 0)
        self.assertGreater(logged, 500)

        numbers = self.expect_each_once(logged)
        for boot in {sample.boot for sample in numbers}:
            of_boot = sorted((sample for sample in numbers if sample.boot == boot), key=lambda sample: sample.sequence)
            times = [sample.at for sample in of_boot]
            self.assertEqual(times, sorted(times), "time goes backward within boot " + boot)
        # A sample must not be more than 5 s newer than its append time. Samples more than a minute ahead would be rejected.
        behind = [sample.at - sample.append for sample in numbers]
        self.assertLess(max(behind), 5)
        # The clock offset is a series that rules can read.
        offsets = [sample.value for sample in self.samples("pitwall_clock_offset_seconds")]
        for expected in (0, -600, -3600):
            self.assertTrue(any(abs(offset - expected) < 2 for offset in offsets), (expected, sorted(set(offsets))[:20]))


if __name__ == "__main__":
    if not LIBRARY:
        print("skipped: libfaketime is not installed (package faketime)")
        sys.exit(77)
    Clocks.binary, Clocks.dump = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
