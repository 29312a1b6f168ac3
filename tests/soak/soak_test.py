#!/usr/bin/env python3
"""Long run of `pitwall standalone` while jobs come and go. Memory must level off, no data may be delayed or lost, and a replay must equal the live
run.

soak_test.py BINARY; $PITWALL_SOAK_MINUTES (default 60, at least 2). One training job runs throughout. Short jobs run alongside it, one after
another, each with its own name.
"""
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLIENT = os.path.join(REPO, "clients", "python", "src")
MINUTES = float(os.environ.get("PITWALL_SOAK_MINUTES", "60"))
BINARY = None

# The rules are evaluated often, over windows of up to 30 s.
RULES = """
groups:
- name: soak
  interval: 200ms
  rules:
  - {alert: LossHigh, expr: "train_loss > 5", needs: [train_loss], labels: {severity: warning}}
  - {alert: SlowSteps, expr: "quantile_over_time(0.9, train_step_duration_seconds[30s]) > 0.2"}
  - {alert: Busy, expr: "avg by (node) (avg_over_time(system_cpu_utilization_ratio{mode!='idle'}[10s])) > 0.9", for: 5s}
- name: steps
  clock: step
  interval: 1
  rules:
  - {alert: LossNotFinite, expr: "train_loss != train_loss", needs: [train_loss], labels: {severity: critical}}
"""
TRAINING = """
import math, sys, time
import pitwall
pitwall.init(job=sys.argv[1])
end = time.monotonic() + float(sys.argv[2])
step = 0
while time.monotonic() < end:
    for _ in pitwall.steps(range(100)):
        with pitwall.phase("forward"):
            time.sleep(0.02)
        pitwall.log(loss=9.0 if (step // 50) % 2 else 1.0, step=step)
        step += 1
pitwall.finish()
"""


class Soak(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="pitwall-soak-")
        rules = os.path.join(self.work, "rules.yaml")
        with open(rules, "w") as out:
            out.write(RULES)
        self.socket = os.path.join(self.work, "c.sock")
        self.data = os.path.join(self.work, "data")
        self.log = os.path.join(self.work, "pitwall.log")
        self.children = []
        self.pitwall = subprocess.Popen(
            [BINARY, "standalone", "--data-dir", self.data, "--rules", rules, "--socket", self.socket, "--interval", "200ms",
             "--http-listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0"], stderr=open(self.log, "w"))
        deadline = time.monotonic() + 60
        while not re.search(r"standalone: ready\n", self.text()):
            self.assertIsNone(self.pitwall.poll(), self.text())
            self.assertLess(time.monotonic(), deadline, "pitwall was not ready within a minute")
            time.sleep(0.1)
        self.http = re.search(r"http://[\d.:]+/metrics", self.text()).group(0)

    def tearDown(self):
        for process in self.children + [self.pitwall]:
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.work)

    def text(self):
        with open(self.log) as log:
            return log.read()

    def train(self, name, seconds):
        process = subprocess.Popen([sys.executable, "-c", TRAINING, name, str(seconds)],
                                   env=dict(os.environ, PITWALL_SOCKET=self.socket, PYTHONPATH=CLIENT))
        self.children.append(process)
        return process

    def metrics(self):
        with urllib.request.urlopen(self.http, timeout=30) as response:
            text = response.read().decode()
        values = {}
        for line in text.splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
        return values

    def rss_mib(self):
        with open("/proc/%d/status" % self.pitwall.pid) as status:
            return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) / 1024

    def test_memory_levels_off_and_no_data_is_lost(self):
        seconds = MINUTES * 60
        begin = time.monotonic()
        long_one = self.train("long", seconds)
        short, shorts, rss, lags = None, 0, [], []
        while time.monotonic() - begin < seconds:
            if short is None or short.poll() is not None:
                shorts += 1
                short = self.train("short-%d" % shorts, min(20, seconds / 6))
            self.assertIsNone(self.pitwall.poll(), "pitwall exited:\n" + self.text()[-4000:])
            values = self.metrics()
            rss.append(self.rss_mib())
            lags.append(sum(v for k, v in values.items() if k.startswith("pitwall_processor_lag_records")))
            time.sleep(1)
        self.assertEqual(long_one.wait(60), 0)
        short.wait(60)
        values = self.metrics()
        quarter = len(rss) // 4
        early, late = statistics.median(rss[quarter:2 * quarter]), statistics.median(rss[-quarter:])
        print("soak: %d short jobs, resident memory %.0f MiB in the second quarter, %.0f MiB in the last, maximum lag %d records"
              % (shorts, early, late, max(lags)), flush=True)
        # Some growth is expected because windows fill and jobs from the last half hour are kept. Growth with each job is not expected.
        self.assertLess(late, early * 1.25 + 24)
        self.assertLess(statistics.median(lags), 100)
        lost = {k: v for k, v in values.items() if v and ("_dropped_total" in k or "append_failures" in k)}
        self.assertEqual(lost, {}, "counters of lost or dropped data")
        self.assertGreater(sum(v for k, v in values.items() if k.startswith("pitwall_processor_events_total")), 10 * MINUTES)
        self.pitwall.send_signal(signal.SIGTERM)
        self.assertEqual(self.pitwall.wait(60), 0)
        verified = subprocess.run([BINARY, "backtest", "--verify", "--input", self.data], stdout=subprocess.PIPE, text=True)
        print(verified.stdout, flush=True)
        self.assertEqual(verified.returncode, 0)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2, warnings="ignore")
