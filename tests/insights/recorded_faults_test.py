#!/usr/bin/env python3
"""Tests the page with recorded faults from real training runs, using a real server and a real browser (checks 1 and 7 of the page).

* The sentence about the fault contains the fields of its event: subject, fault, start, cost, cause, and action.
* For each alert that a replay with all shipped packs raises, the link shows the evidence in a fresh browser.
* The same applies if only the job's rollups are left.

recorded_faults_test.py PITWALL
"""
import contextlib
import datetime
import json
import os
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
import urllib.request

import browser
import one_minute

sys.path.insert(0, os.path.join(one_minute.REPO, "tests", "e2e"))
import harness  # noqa: E402

BINARY = None
SEED, COUNT = 12, 12
# The load is newer than the recording. It starts at a fixed time, because the size of the load's history depends on the start time.
FINISHED, LOAD = "exit-3-2", ("--steps", "2600", "--duration", "20m", "--start", "2026-11-24T00:00:00Z")
PLACES = ("rank", "node", "gpu", "hw_id", "stage", "phase", "tensor", "collection", "worker")
COSTS = {"death": "that rank was lost", "hang": "no steps complete", "numerics": "no time lost", "optimization": "no time lost"}


def nanoseconds(text):
    whole, _, fraction = text.rstrip("Z").partition(".")
    return int(datetime.datetime.fromisoformat(whole + "+00:00").timestamp()) * 10 ** 9 + int((fraction + "000000000")[:9])


def get(served, path, **query):
    url = "%s/api/pitwall/v1%s?%s" % (served.address, path, urllib.parse.urlencode(dict(query, job=served.job)))
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


class Evidence(unittest.TestCase):
    """Base class for tests with a browser."""

    def assert_evidence_shown(self, served, event):
        """Opens an event's link and checks that the issue's chart shows the event's start times and its threshold."""
        data = event["data"]
        box = "#issue-%s .evidence" % event["id"]
        self.browser.open(served.link(event["id"]), box + " > .chart canvas[data-ready]")
        pending, firing = self.browser.all(box, "data-pending-ns", "data-firing-ns")[0]
        self.assertEqual((int(pending), int(firing)), (nanoseconds(data["active_since"]), nanoseconds(data["started_at"])))
        row, high, low, tall = self.browser.all(box + " > .chart canvas[data-ready]", "data-threshold-y", "data-y-max", "data-y-min", "data-plot-height")[0]
        if isinstance(data.get("threshold"), (int, float)):
            pixel = (float(high) - float(low)) / float(tall)
            self.assertLessEqual(abs(float(high) - float(row) * pixel - data["threshold"]), 1.01 * pixel)
        else:
            self.assertIsNone(row)
        self.assertEqual(self.browser.ask("faults"), [])


class RecordedFaults(Evidence):
    @classmethod
    def setUpClass(cls):
        cls.running = contextlib.ExitStack()
        folder = cls.running.enter_context(tempfile.TemporaryDirectory(prefix="pitwall-faults-"))
        cls.served = {}
        for name in one_minute.chosen(SEED, COUNT):
            cls.served[name] = one_minute.Served(BINARY, name, folder, "all")
            cls.running.callback(cls.served[name].stop)
        # While the history is larger than its limit, it drops raw samples, beginning with the oldest finished job. This takes a few seconds and
        # happens during the other tests.
        cls.old = one_minute.Served(BINARY, FINISHED, cls.running.enter_context(tempfile.TemporaryDirectory(prefix="pitwall-faults-")), "default", LOAD,
                                    "insights: {retention: 876000h, max_bytes: 2600000}\n")
        cls.running.callback(cls.old.stop)
        cls.browser = browser.Browser()
        cls.running.callback(cls.browser.close)

    @classmethod
    def tearDownClass(cls):
        cls.running.close()

    def field(self, name, *attributes):
        found = self.browser.all("[data-incident] [data-field=%s]" % name, "", *attributes)
        self.assertEqual(len(found), 1, name)
        return found[0]

    def who(self, text, subject, incident, job):
        rank = subject["labels"].get("rank")
        others = {one["labels"]["rank"] for one in incident["issues"] if one["alert"] == subject["alert"] and one["labels"].get("rank", rank) != rank}
        if not rank or not others:
            self.assertEqual(text, ", ".join("%s %s" % (name, subject["labels"][name]) for name in PLACES if subject["labels"].get(name)) or "the whole job")
        elif text.startswith("all "):
            self.assertEqual((text, len(others) + 1), ("all (%d)" % job["ranks"], job["ranks"]))
        else:
            self.assertRegex(text, r"^rank %s( first, then|, as well as) rank" % rank)
            self.assertEqual(set(text.replace(",", " ").split()) & (others | {rank}), others | {rank})

    def cost(self, served, text, share, subject, incident, job):
        category, rank = subject["labels"].get("category", ""), subject["labels"].get("rank", "")
        alone = not [one for one in incident["issues"] if one["alert"] == subject["alert"] and one["labels"].get("rank", rank) != rank]
        if category in COSTS:
            self.assertEqual(text, "the job ended" if category == "death" and not rank else COSTS[category].replace("that rank", "rank %s" % rank))
        elif not rank or not alone or job["ranks"] < 2:
            self.assertEqual(text, "unknown (no single rank is responsible)")
        else:
            answer = get(served, "/what-if", rank=rank)
            if answer["computable"]:
                self.assertAlmostEqual(float(share), answer["saved_share"], places=12)
            else:
                self.assertEqual(text, "unknown: %s" % answer["reason"])

    def test_sentence_contains_fields_of_event(self):
        for name, served in self.served.items():
            with self.subTest(cell=name):
                self.browser.open(served.link(), "[data-incident]")
                found = get(served, "/issue", id=served.issue)
                event = found["events"][0]
                self.assertEqual(event["id"], served.issue)
                self.assertTrue(event["type"].endswith(".issue.found"))
                job, newest = get(served, "/job"), found["event"]["data"]
                incident = next(one for one in get(served, "/incidents")["incidents"] if found["id"] in [issue["id"] for issue in one["issues"]])
                self.who(self.field("who")[0], found, incident, job)
                self.assertEqual(self.field("what")[0], newest["summary"])
                onset, started = event["data"].get("onset_at", event["data"]["active_since"]), nanoseconds(event["data"]["started_at"])
                self.assertEqual(int(self.field("since", "data-ns")[1]), nanoseconds(onset))
                if started - nanoseconds(onset) >= 10 ** 9:
                    self.assertEqual(int(self.field("found", "data-ns")[1]), started)
                self.cost(served, *self.field("cost", "data-share"), found, incident, job)
                root = incident["root"]
                cause = self.field("cause")[0]
                self.assertTrue(cause.startswith(root["alert"] if root["id"] == found["id"] else "%s (%s)" % (root["summary"], root["alert"])), cause)
                self.assertEqual(get(served, "/actions")["actions"], [])
                self.assertEqual(self.field("action")[0], "none")
                self.assertEqual(self.field("suggestion")[0], newest["suggestion"])
                self.assertEqual(self.browser.ask("faults"), [])

    def first_of_each(self, names):
        seen = {}
        for name in names:
            for event in self.served[name].found:
                seen.setdefault(event["data"]["alert"], (self.served[name], event))
        return sorted(seen.items())

    def test_link_of_each_alert_shows_evidence(self):
        alerts = self.first_of_each(self.served)
        for alert, (served, event) in alerts:
            with self.subTest(alert=alert, cell=served.name):
                self.assert_evidence_shown(served, event)
        print("the page shows the evidence of %d alerts in %d recordings" % (len(alerts), len(self.served)))
        self.assertGreaterEqual(len(alerts), 12)

    def test_chart_query_returns_value_in_event(self):
        served, event = next((served, event) for alert, (served, event) in self.first_of_each(self.served) if alert == "CPUSaturated")
        box = "#issue-%s .evidence" % event["id"]
        self.browser.open(served.link(event["id"]), box + "[data-query*=system_cpu]")
        query = self.browser.all(box, "data-query")[0][0]
        self.assertIn('pitwall_job="%s"' % served.job, query)
        at = nanoseconds(event["data"]["started_at"]) / 1e9
        url = "%s/api/v1/query?%s" % (served.address, urllib.parse.urlencode({"query": query, "time": at}))
        with urllib.request.urlopen(url, timeout=60) as answer:
            (found,) = [float(one["value"][1]) for one in json.load(answer)["data"]["result"] if one["metric"].get("node") == event["data"]["labels"]["node"]]
        # The query uses the same engine and the same samples as the event.
        self.assertAlmostEqual(found, event["data"]["value"], places=6)

    def test_insights_alone_does_not_set_log_retention(self):
        # Retention must not apply when an old log is replayed for inspection.
        with open(os.path.join(self.old.data, "log", "topics", "pitwall.issues", "topic.conf")) as text:
            self.assertIn("retention_ms: -1\n", text.read())

    def test_z_link_shows_evidence_from_rollups(self):
        served = self.old
        harness.wait_for("raw samples to be dropped", lambda: get(served, "/job")["raw_from_ns"] is not None)
        alerts = {event["data"]["alert"]: event for event in served.found}
        self.assertTrue(alerts)
        for alert, event in sorted(alerts.items()):
            with self.subTest(alert=alert):
                self.assert_evidence_shown(served, event)
                self.assertRegex(self.browser.all("#issue-%s [data-rollups]" % event["id"], "")[0][0], r"was dropped on \d{4}-\d\d-\d\d; the chart uses rollups")
        self.assertNotEqual(get(served, "/chart", match="system_memory_usage_bytes", width=100)["tier"], "raw")


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
