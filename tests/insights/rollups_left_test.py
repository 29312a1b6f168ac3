#!/usr/bin/env python3
"""Tests alert links for old jobs whose raw samples and spans were dropped, so that only rollups are left. Each link must open its issue with a chart
and a note.

The packs' own unit tests define the telemetry that raises an alert (shipped_alerts.py). The history drops raw samples of ended jobs, starting with
the least recently seen job, while it is larger than insights.max_bytes (at least 1 MiB). A noisy job that ends last makes the history exceed this
size. A window counts toward the size once it is sealed, ten seconds after the job's end. Retention runs every ten seconds.

rollups_left_test.py PITWALL WRITE_TELEMETRY
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

import browser
import recorded_faults_test
import shipped_alerts
import shipped_alerts_test

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import harness  # noqa: E402

BINARY = WRITER = None
# One alert for each kind of issue. The job has the same name as the alert.
KINDS = {"CollectiveHang": "hang", "StragglerRank": "straggler", "LossNotFinite": "numerics", "RankDied": "death", "CPUSaturated": "bottleneck", "HostLeak": "memory",
         "XidResetGpu": "hardware"}
PACKS = ["default", "training", "fleet", "gpu"]
NOISE, SERIES, TICKS = "zz-noise", 40, 9000  # random numbers, which compress badly: 3 MB of samples and 1.6 MB of rollups
MAX_BYTES = 3_000_000  # less than all data, but more than the rollups


def noise():
    """Returns the telemetry of a job that ends after all others."""
    draw = random.Random(1)
    labels = [("series", str(i)) for i in range(SERIES)]
    lines = [["source", NOISE, "node@b", "node", "-1", "b"]] + [["series", "system_noise_ratio", "%s=%s" % one] for one in labels]
    return lines, [(shipped_alerts.BEGAN_NS + i * 10 ** 9, ["%r" % draw.random() for _ in range(SERIES)]) for i in range(TICKS)]


class RollupsLeft(recorded_faults_test.Evidence):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="pitwall-rollups-")
        cls.addClassCleanup(folder.cleanup)
        cases = {alert: test for alert, test in shipped_alerts.firing_cases(BINARY).items() if alert in KINDS}
        telemetry, judged = os.path.join(folder.name, "telemetry"), os.path.join(folder.name, "judged")
        os.mkdir(telemetry)
        lines = shipped_alerts.lines(cases)
        number = sum(line.startswith("source\t") for line in lines)
        heads = next(i for i, line in enumerate(lines) if not line.startswith(("source\t", "series\t")))
        head, ticks = noise()
        rest = []
        for begin in range(0, TICKS, 600):
            some = ticks[begin:begin + 600]
            rest += ["batch\t%d\t%d\t" % (number, some[-1][0])] + ["\t".join(["tick", str(at), "-"] + row) for at, row in some]
        rest.append("goodbye\t%d\t%d" % (number, ticks[-1][0] + 10 ** 9))
        lines = lines[:heads] + ["\t".join(words) for words in head] + lines[heads:] + rest
        subprocess.run([WRITER, telemetry], input="\n".join(lines) + "\n", text=True, check=True)
        events = subprocess.run([BINARY, "backtest", "--input", telemetry, "--rules", *("pack:" + pack for pack in PACKS), "--no-status", "--end-job", "--output", judged],
                                check=True, capture_output=True, text=True).stdout
        cls.found = {}
        for event in map(json.loads, events.splitlines()):
            alert = event["data"].get("alert")
            if event["type"].endswith(".issue.found") and event["data"]["job"]["id"] == alert:
                cls.found.setdefault(alert, event)
        cls.served = shipped_alerts_test.Served(BINARY, "judged", judged, folder.name, "insights: {retention: 876000h, max_bytes: %d}\n" % MAX_BYTES)
        cls.addClassCleanup(cls.served.stop)
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def of(self, job):
        self.served.job = job
        return recorded_faults_test.get(self.served, "/job")

    def test_each_link_opens_its_issue(self):
        self.assertEqual(set(self.found), set(KINDS))
        for alert in KINDS:
            harness.wait_for("raw samples of %s to be dropped" % alert, lambda alert=alert: self.of(alert)["raw_from_ns"] is not None)
        for alert, event in sorted(self.found.items()):
            with self.subTest(alert=alert):
                self.assertEqual(event["data"]["labels"]["category"], KINDS[alert])
                job = self.of(alert)
                self.assertGreaterEqual(int(job["raw_from_ns"]), int(job["last_ns"]), "raw samples of the job must be dropped completely")
                self.assert_evidence_shown(self.served, event)
                box = "#issue-%s" % event["id"]
                (note,), = self.browser.all(box + " [data-rollups]", "")
                self.assertRegex(note, r"^Raw data was dropped on \d{4}-\d\d-\d\d; the chart uses rollups\.$")
                (text,), = self.browser.all(box, "")
                issue = recorded_faults_test.get(self.served, "/issue", id=event["id"])
                for part in (issue["summary"], alert):
                    self.assertIn(part, text)
                self.assertEqual(self.browser.all("[data-incident] [data-field=suggestion]", "")[0][0], issue["event"]["data"]["suggestion"])
        # All other data still exists, because dropping the samples freed enough space.
        self.assertLess(int(self.of(NOISE)["raw_from_ns"] or 0), int(self.of(NOISE)["last_ns"]))


if __name__ == "__main__":
    WRITER = os.path.abspath(sys.argv.pop(2))
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
