#!/usr/bin/env python3
"""Tests that the link for each alert in the shipped packs shows the evidence in a fresh browser (check 7 of the page).

The packs' own unit tests define the telemetry that raises an alert (shipped_alerts.py). It is written into a log, evaluated with all packs, and
served by `insights`.

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


class Served(one_minute.Served):
    """Server for the page of a log with alerts. Each alert's event identifies the alert's job."""

    def __init__(self, pitwall, name, data, folder, config="insights: {retention: 876000h}\n"):
        self.pitwall, self.name, self.data, self.folder, self.job = pitwall, name, data, folder, ""
        self.start(config)


class ShippedAlerts(recorded_faults_test.Evidence):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="pitwall-shipped-")
        cls.addClassCleanup(folder.cleanup)
        packs = ["pack:" + pack for pack in PACKS]
        rules = subprocess.run([BINARY, "rules", "list", "--json", *packs], check=True, capture_output=True, text=True).stdout
        cls.shipped = {rule["name"] for rule in json.loads(rules) if rule["kind"] == "alert"}
        cases = {alert: test for alert, test in shipped_alerts.firing_cases(BINARY).items() if alert in cls.shipped}
        cls.found = {}  # alert -> (event, server)
        for name, silent in (("shipped", False), ("silent", True)):
            telemetry, judged = os.path.join(folder.name, "telemetry-" + name), os.path.join(folder.name, name)
            os.mkdir(telemetry)
            lines = shipped_alerts.lines({alert: test for alert, test in cases.items() if shipped_alerts.falls_silent(test) == silent})
            subprocess.run([WRITER, telemetry], input="\n".join(lines) + "\n", text=True, check=True)
            events = subprocess.run([BINARY, "backtest", "--input", telemetry, "--rules", *packs, "--no-status", "--end-job", "--output", judged], check=True,
                                    capture_output=True, text=True).stdout
            served = Served(BINARY, name, judged, folder.name)
            cls.addClassCleanup(served.stop)
            # An event from the alert's own job is preferred.
            for event in map(json.loads, events.splitlines()):
                alert = event["data"].get("alert")
                if event["type"].endswith(".issue.found") and (alert not in cls.found or event["data"]["job"]["id"] == alert != cls.found[alert][0]["data"]["job"]["id"]):
                    cls.found[alert] = (event, served)
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def assert_all_evidence_shown(self):
        for alert, (event, served) in sorted(self.found.items()):
            with self.subTest(alert=alert):
                served.job = event["data"]["job"]["id"]
                self.assert_evidence_shown(served, event)

    def test_1_each_alert_is_raised(self):
        self.assertEqual(self.shipped - set(self.found), set())

    def test_2_each_link_shows_evidence(self):
        self.assert_all_evidence_shown()
        print("the page shows the evidence of %d of %d alerts" % (len(self.found), len(self.shipped)))


if __name__ == "__main__":
    WRITER = os.path.abspath(sys.argv.pop(2))
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
