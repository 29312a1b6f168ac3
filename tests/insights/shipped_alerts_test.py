#!/usr/bin/env python3
"""The link of each alert of the shipped packs renders its evidence in a browser that has seen nothing (check 7 of the page).

The packs' own unit tests say what telemetry raises an alert (shipped_alerts.py): it is written into a log, judged by all packs, and served by `insights`.

shipped_alerts_test.py PITWALL WRITE_TELEMETRY
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import browser
import one_minute
import recorded_faults_test
import shipped_alerts

BINARY = WRITER = None
PACKS = ["across-runs", "debugger-compat-loss", "debugger-compat-tensor", "debugger-compat", "debugger-profiler", "debugger-tensor", "debugger-xgboost", "default", "derive",
         "fleet", "gpu", "hangs", "starter", "summary", "training-numerics", "training"]
# What a log of samples alone does not raise: several attempts, a rank that is gone, a first step that other series do not have.
LEFT_OUT = {"DeadRank", "NoProgress", "PoorWeightInitialization"}


class Served(one_minute.Served):
    """The log of all alerts behind the page; each alert's event names its job."""

    def __init__(self, pitwall, data, folder):
        self.pitwall, self.name, self.data, self.folder, self.job = pitwall, "shipped", data, folder, ""
        self.start("insights: {retention: 876000h}\n")


class ShippedAlerts(recorded_faults_test.Evidence):
    @classmethod
    def setUpClass(cls):
        if not browser.ready():
            raise unittest.SkipTest("the page is not built: services/insights/page/toolchain.sh install")
        folder = tempfile.TemporaryDirectory(prefix="pitwall-shipped-")
        cls.addClassCleanup(folder.cleanup)
        told, judged = os.path.join(folder.name, "told"), os.path.join(folder.name, "judged")
        os.mkdir(told)
        packs = ["pack:" + pack for pack in PACKS]
        rules = subprocess.run([BINARY, "rules", "list", "--json", *packs], check=True, capture_output=True, text=True).stdout
        cls.shipped = {rule["name"] for rule in json.loads(rules) if rule["kind"] == "alert"}
        cases = {alert: test for alert, test in shipped_alerts.firing_cases().items() if alert in cls.shipped}
        subprocess.run([WRITER, told], input="\n".join(shipped_alerts.lines(cases)) + "\n", text=True, check=True)
        events = subprocess.run([BINARY, "backtest", "--input", told, "--rules", *packs, "--no-status", "--end-job", "--output", judged], check=True,
                                capture_output=True, text=True).stdout
        # Its own job's, where that has one.
        cls.found = {}
        for event in map(json.loads, events.splitlines()):
            alert = event["data"].get("alert")
            if event["type"].endswith(".issue.found") and (alert not in cls.found or event["data"]["job"]["id"] == alert != cls.found[alert]["data"]["job"]["id"]):
                cls.found[alert] = event
        cls.served = Served(BINARY, judged, folder.name)
        cls.addClassCleanup(cls.served.stop)
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def test_each_is_raised(self):
        self.assertEqual(self.shipped - set(self.found), LEFT_OUT)

    def test_each_link_renders_its_evidence(self):
        for alert, event in sorted(self.found.items()):
            with self.subTest(alert=alert):
                self.served.job = event["data"]["job"]["id"]
                self.shows_evidence(self.served, event)
        print("%d alerts have their evidence on the page" % len(self.found))


if __name__ == "__main__":
    WRITER = os.path.abspath(sys.argv.pop(2))
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
