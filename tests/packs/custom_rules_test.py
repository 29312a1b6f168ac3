#!/usr/bin/env python3
"""custom_rules_test.py PITWALL: tests that the examples in docs/custom-rules.md work.

The commands run on the log of a synthetic job (page.py).
"""
import json
import os
import signal
import subprocess
import sys
import unittest

from page import PageTest
from harness import CLIENT, Pitwall, wait_for, write

TRAINING = """
import sys, time
sys.path.insert(0, sys.argv[1])
import pitwall
pitwall.init(job=sys.argv[2])
for number in range(int(sys.argv[3])):
    with pitwall.step():
        time.sleep(0.005)
        pitwall.log(grad_norm=1.0 if number < 150 else 4.0)
pitwall.finish()
"""


class CustomRules(PageTest):
    PAGE = "custom-rules.md"
    INPUTS = {"monday.csv": "\n".join(["time,step,grad_norm"] + [
        "%d,%d,%s" % (1700000000 + s, s, 1.0 if s < 150 else 3.1) for s in range(170)]) + "\n"}

    def test_1_rule_is_checked_and_tested(self):
        self.assertIn("no errors", self.run_command("pitwall rules check --strict"))
        self.assertIn("GradNormHigh", self.run_command("pitwall rules check --explain"))
        self.assertTrue(self.run_command("pitwall rules test").rstrip().endswith("6 passed, 0 failed"))

    def test_2_backtest_finds_the_fault(self):
        events = [json.loads(line) for line in self.run_command("pitwall backtest").splitlines()]
        self.assertEqual([(e["type"], e["data"]["step"]) for e in events], [("io.pitwall.issue.found", 159)])
        self.assertEqual(events[0]["data"]["labels"]["rank"], "0")

    def test_3_rule_runs_live_and_override_takes_effect(self):
        rules = os.path.join(self.work, "grad.yaml")
        socket = os.path.join(self.work, "c.sock")
        config = write(os.path.join(self.work, "pitwall.yaml"), "rules: {files: [%s], overrides: %s}\n" % (
            rules, write(os.path.join(self.work, "none.yaml"), "jobs: []\n")))
        pitwall = Pitwall(self.BINARY, os.path.join(self.work, "log"), "--data-dir", os.path.join(self.work, "data"), "--config", config,
                          "--socket", socket)
        self.addCleanup(pitwall.kill)

        def train(job):
            subprocess.run([sys.executable, "-c", TRAINING, CLIENT, job, "200"], check=True,
                           env=dict(os.environ, PITWALL_SOCKET=socket))

        def found(job):
            listed = subprocess.run([self.BINARY, "issues", "list", "--all", "--json", "--target", pitwall.grpc],
                                    capture_output=True, text=True, check=True).stdout
            return [e for e in map(json.loads, listed.splitlines()) if e["data"]["job"]["name"] == job]

        train("big-one")
        wait_for("an issue", lambda: found("big-one"))
        write(config, "rules: {files: [%s], overrides: %s}\n" % (rules, os.path.join(self.work, "overrides.yaml")))
        pitwall.process.send_signal(signal.SIGHUP)
        wait_for("the new rules", lambda: pitwall.said(r"reload: rule set \w+ becomes active"))
        train("big-two")
        train("small")
        wait_for("an issue of the job without override", lambda: found("small"))
        self.assertEqual(found("big-two"), [])


if __name__ == "__main__":
    PageTest.BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
