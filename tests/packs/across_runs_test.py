#!/usr/bin/env python3
"""across_runs_test.py PITWALL: tests that the examples in docs/across-runs.md work, both on logs of synthetic jobs and live.

The commands run exactly as on the page (page.py).
"""
import json
import os
import signal
import subprocess
import sys
import unittest

from page import PageTest
from harness import CLIENT, Pitwall, wait_for

TRAINING = """
import sys, time
sys.path.insert(0, sys.argv[1])
import pitwall
pitwall.init(job="bert", job_id=sys.argv[2], config={"lr": 0.1, "layers": [1, 2]})
for number in range(160):
    with pitwall.step():
        time.sleep(float(sys.argv[3]))
        pitwall.log(loss=1.0)
pitwall.finish()
"""


def log(seconds, loss):
    return "\n".join(["time,step,loss,seconds"] + [
        "%.3f,%d,%g,%g" % (1700000000 + step * seconds, step, loss(step), seconds) for step in range(1, 701)]) + "\n"


class AcrossRuns(PageTest):
    PAGE = "across-runs.md"
    INPUTS = {"monday.csv": log(0.2, lambda step: 2 - step / 700),
              "resnet-tuesday.csv": log(0.25, lambda step: 2 - step / 700 if step < 400 else 1.7),
              "resnet-same.csv": log(0.201, lambda step: 2.01 - step / 700)}

    def test_1_finished_run_is_summarized(self):
        self.run_command("mkdir runs")
        self.run_command("pitwall baseline --format csv")
        with open(os.path.join(self.work, "runs", "monday.yaml"), encoding="utf-8") as file:
            summary = file.read()
        self.assertIn('run: "monday"\njob: "monday.csv"\nended: 170000014', summary)
        self.assertIn('match: {"job": "resnet*"}\n', summary)
        self.assertIn('- {name: "run:train_throughput:p75", labels: {"unit": "steps"}, value: 5}\n', summary)
        # The mean of steps 481..500 is 2 - 490.5 / 700.
        self.assertRegex(summary, r'name: "train_loss", mode: "train", labels: {}, points: "10:[0-9.]+ .* 500:1\.29928')

    def backtest(self, name):
        command = self.command("pitwall backtest --format csv").replace("resnet-tuesday.csv", name).split()
        done = subprocess.run([self.BINARY] + command[1:], cwd=self.work, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [(e["data"]["step"], e["data"]["alert"]) for e in map(json.loads, done.stdout.splitlines())
                if e["type"] == "io.pitwall.issue.found"]

    def test_2_later_run_is_compared(self):
        # The throughput is 0.8 of its initial value. The rule evaluates it for 20 steps, starting at step 101 (the 100th step). The loss is 1.7 from
        # step 400 on.
        found = dict((alert, step) for step, alert in self.backtest("resnet-tuesday.csv"))
        self.assertEqual(found.pop("SlowerThanEarlierRuns"), 120)
        self.assertGreater(found["LossAboveEarlierRuns"], 500)
        self.assertLess(found.pop("LossAboveEarlierRuns"), 620)
        self.assertEqual(found, {})
        self.assertEqual(self.backtest("resnet-same.csv"), [])

    def test_3_custom_rules_compare_runs(self):
        self.run_command("mkdir own-runs")
        self.run_command("pitwall baseline --rules kept.yaml")
        events = [json.loads(line)["data"] for line in self.run_command("pitwall backtest --rules own.yaml").splitlines()]
        # The loss is 1.7 from step 400 on. Monday's worst loss in the 20 steps up to k is 2 - (k - 19) / 700. From step 504 on, 1.3 times this loss
        # is below 1.7.
        self.assertEqual([(e["alert"], e["step"]) for e in events], [("LossFarAboveEarlierRuns", 510)])

    def test_4_live_run_is_compared(self):
        runs = os.path.join(self.work, "live-runs")
        os.mkdir(runs)
        socket, data = os.path.join(self.work, "c.sock"), os.path.join(self.work, "data")
        pitwall = Pitwall(self.BINARY, os.path.join(self.work, "log"), "--data-dir", data, "--rules", "pack:training",
                          "pack:across-runs", "--baseline", runs, "--socket", socket)
        self.addCleanup(pitwall.kill)

        def train(job_id, seconds):
            subprocess.run([sys.executable, "-c", TRAINING, CLIENT, job_id, str(seconds)], check=True,
                           env=dict(os.environ, PITWALL_SOCKET=socket))

        def listed(job_id, *flags):
            out = subprocess.run([self.BINARY, "issues", "list", "--all", "--json", "--target", pitwall.grpc, *flags],
                                 capture_output=True, text=True, check=True).stdout
            return [e["data"] for e in map(json.loads, out.splitlines()) if e["data"]["job"]["id"] == job_id]

        train("bert-1", 0.02)
        out = os.path.join(runs, "bert-1.yaml")

        def summarized():
            # The last batches may not have been written yet.
            done = subprocess.run([self.BINARY, "baseline", "--input", data, "--job", "bert-1", "--out", out],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                return None
            with open(out, encoding="utf-8") as file:
                text = file.read()
            return text if " 150:1" in text else None

        summary = wait_for("the summary of the finished run", summarized)
        self.assertRegex(summary, r'match: {"job": "bert", "config_hash": "[0-9a-f]{12}"}')
        pitwall.process.send_signal(signal.SIGHUP)
        wait_for("the new rule set", lambda: pitwall.said(r"reload: rule set \w+ becomes active"))
        train("bert-2", 0.04)
        slow = wait_for("the issue", lambda: [e for e in listed("bert-2") if e["alert"] == "SlowerThanEarlierRuns"])
        self.assertEqual(slow[0]["labels"]["unit"], "steps")
        self.assertEqual([e for e in listed("bert-1") if e["alert"] == "SlowerThanEarlierRuns"], [])


if __name__ == "__main__":
    PageTest.BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
