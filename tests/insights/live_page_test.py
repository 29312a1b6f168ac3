#!/usr/bin/env python3
"""Tests the page in a real browser, with a live standalone process and a training job with three ranks, one of which is slow (checks 3, 8, and 11 of
the page).

* A step appears on the timeline of all ranks within 2 s of its end by the rank's own clock (median of twelve steps).
* The slow rank is the first row of the heat map of ranks and steps. Clicking its cell lists the spans that the API returns for that rank and step.
* The page as of a past time has the same text as the live page had at that time, on all tabs, even if the job has continued since.

live_page_test.py PITWALL
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
import urllib.parse
import urllib.request

import browser

sys.path.insert(0, os.path.join(browser.REPO, "tests", "e2e"))
from harness import CLIENT, Pitwall, wait_for, write  # noqa: E402

BINARY = None
JOB, SLOW = "live-page", 2
# Elements to ignore: the line with the time, and controls that depend on the current state.
LEFT_OUT = [".past", ".asks"]
MARK_EACH, MARKS = 10, 12
# Rank 0 marks some steps with an extra phase, and reports the end of each marked step when the next step starts.
RANK = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import pitwall
pitwall.init(job=os.environ["PITWALL_JOB_ID"])
rank, marked = int(os.environ["RANK"]), None
for step in pitwall.steps(range(100_000)):
    if marked: print("%%s %%f" %% (marked, time.time()), flush=True)
    with pitwall.phase("forward"):
        time.sleep(0.12 if rank == %d else 0.06)
    marked = "mark-%%d;" %% step if rank == 0 and step %% %d == 0 else None
    with pitwall.phase("collective"):
        time.sleep(0.08 if rank != %d else 0.02)
    pitwall.log(loss=1 / (step + 1))
    if marked:
        with pitwall.phase(marked):  # the last phase of the step, which ends together with the step
            time.sleep(0.01)
""" % (SLOW, MARK_EACH, SLOW)
# Launcher for the ranks. The test kills it together with them, so that no process of the job remains.
LAUNCHER = """
import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, *sys.argv[1:]], env=dict(os.environ, RANK=str(rank), WORLD_SIZE="3")) for rank in range(3)]
for one in ranks: one.wait()
"""
# Selector that matches once the tab is drawn.
TABS = {"": "[data-incident], .incident.calm", "nodes": ".timeline canvas[data-ready]", "training": ".plots canvas[data-ready]", "rules": ".rulelist details",
        "differs": "#differs-title", "actions": "#notifications-title"}


class LivePage(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="pitwall-live-page-")
        cls.data, cls.marks = os.path.join(cls.work, "data"), os.path.join(cls.work, "marks")
        cls.browser = browser.Browser()
        cls.browser.ask("faults")  # the first request builds and starts the browser
        cls.serve("standalone")
        cls.script, cls.launcher, cls.running = write(os.path.join(cls.work, "rank.py"), RANK), write(os.path.join(cls.work, "launcher.py"), LAUNCHER), None
        cls.train()
        cls.job = wait_for("the job", lambda: next((job["id"] for job in cls.get("/jobs")["jobs"] if job["name"] == JOB and job["ranks"] == 3), None))

    @classmethod
    def tearDownClass(cls):
        cls.kill_job()
        cls.pitwall.kill()
        cls.browser.close()
        shutil.rmtree(cls.work)

    @classmethod
    def train(cls):
        with open(cls.marks, "a") as marks:
            cls.running = subprocess.Popen([sys.executable, cls.launcher, cls.script, CLIENT], stdout=marks, start_new_session=True,
                                           env=dict(os.environ, PITWALL_SOCKET=os.path.join(cls.work, "c.sock"), PITWALL_JOB_ID=JOB))

    @classmethod
    def kill_job(cls):
        """Kills the ranks and the launcher together."""
        if cls.running:
            os.killpg(cls.running.pid, signal.SIGKILL)
            cls.running.wait()
        cls.running = None

    @classmethod
    def serve(cls, service):
        more = ["--socket", os.path.join(cls.work, "c.sock")] if service == "standalone" else []
        cls.pitwall = Pitwall(BINARY, os.path.join(cls.work, service + ".log"), "--data-dir", cls.data, *more, service=service)

    @classmethod
    def get(cls, path, **query):
        if path != "/jobs":
            query["job"] = cls.job
        with urllib.request.urlopen("%s/api/pitwall/v1%s?%s" % (cls.pitwall.http, path, urllib.parse.urlencode(query)), timeout=60) as answer:
            return json.load(answer)

    def open(self, query, selector):
        self.browser.open("%s/jobs/%s?%s" % (self.pitwall.http, urllib.parse.quote(self.job, safe=""), query), selector)

    def test_1_step_is_visible_within_two_seconds(self):
        self.open("tab=nodes&range=15m", ".timeline canvas[data-ready]")
        self.browser.ask("watch", "ul.legend:has(+ .readout)", pattern="mark-\\d+;")
        # Steps marked before the page was opened do not count.
        old = set(self.browser.ask("seen"))
        wait_for("marked steps on the timeline", lambda: len(set(self.browser.ask("seen")) - old) >= MARKS)
        seen = self.browser.ask("seen")
        with open(self.marks) as lines:
            ended = {name: float(at) for name, at in (line.split() for line in lines)}
        lags = sorted(seen[name] - ended[name] for name in set(seen) - old)
        print("a step appears on the timeline %.2f s after its end (median of %s)" % (statistics.median(lags), ", ".join("%.2f" % lag for lag in lags)))
        self.assertGreater(lags[0], 0, "a mark must not be visible before its step ends")
        self.assertLessEqual(statistics.median(lags), 2, lags)
        self.assertEqual(self.browser.ask("faults"), [])

    def test_2_slow_rank_is_first_and_click_lists_its_spans(self):
        wait_for("60 steps", lambda: self.get("/heatmap/steps", width=500, basis="own")["to_step"] >= 60)
        self.open("tab=nodes", "table[aria-label='Slowest ranks']")
        self.assertEqual(self.browser.all("table[aria-label='Slowest ranks'] tbody th", "")[0][0], "Rank %d" % SLOW)
        box = ".grid-map canvas[aria-label^=Slowness]"
        self.browser.ask("click", box, at={"x": 400, "y": 5})
        self.browser.ask("wait", "tr[data-span]")
        title = self.browser.all("#ran-title", "")[0][0]
        rank, first, _, last = re.fullmatch(r"Events: rank (\d+), steps? (\d+)( to (\d+))?", title).groups()
        self.assertEqual(int(rank), SLOW)
        spans = self.get("/spans", rank=rank, mode="train", from_step=first, to_step=int(last or first) + 1, limit=1000)["spans"]
        wanted = ["%s %s %s %s" % row for row in zip(spans["rank"], spans["kind"], spans["name"], spans["start_ns"])]
        self.assertGreaterEqual(len(wanted), 3)  # the step and its two phases
        self.assertEqual(sorted(row[0] for row in self.browser.all("tr[data-span]", "data-span")), sorted(wanted))

    def texts(self, more, without=()):
        """Returns {tab: its text}."""
        out = {}
        for tab, ready in TABS.items():
            self.open("%stab=%s" % (more, tab), ready)
            out[tab] = self.browser.ask("text", "main", without=LEFT_OUT + list(without))
        return out

    def newest(self):
        """Returns the latest time in the job's history, in ns."""
        times = [self.get("/job")["last_ns"], self.get("/job")["ended_ns"]] + [rule["since_ns"] for rule in self.get("/rules")["rules"]]
        return max(int(at) for at in times if at)

    def test_3_page_as_of_a_time_matches_live_page(self):
        # The log ends while the job is running, so the live state is the state at the end of the history. No process sends data afterwards.
        self.assertEqual(self.pitwall.stop(), 0, self.pitwall.log())
        self.kill_job()
        self.serve("insights")
        # A rule may be evaluated at a tick after the last sample. The live state includes the result of that evaluation.
        then = self.newest()
        live, as_of = self.texts(""), self.texts("at=%s&" % then)
        for tab, text in live.items():
            self.assertEqual(as_of[tab], text, tab)
        self.assertEqual(self.pitwall.stop(), 0)

    def test_4_later_attempts_do_not_change_the_page(self):
        self.serve("standalone")
        self.train()
        wait_for("another attempt", lambda: self.get("/job")["attempt_count"] > 1)
        wait_for("30 steps of the attempt", lambda: self.get("/phases", last=30)["steps"] == 30)
        # The attempt has ended, and all of its ticks have been evaluated.
        self.kill_job()
        wait_for("the job's end", lambda: self.get("/job")["state"] == "ended")
        then = self.newest()
        # The verdict of a rule is its last status before the ranks' data ended. If another attempt follows, the verdict is known only up to the end
        # of the attempt.
        rules = ["section:has(> header > #rules-title)"]
        live = self.texts("", rules)
        self.assertIn("died", live[""])
        self.pitwall.stop()
        self.serve("standalone")
        self.train()
        wait_for("the next attempt", lambda: self.get("/job")["attempt_count"] > 2 and self.get("/job")["state"] == "running")
        wait_for("30 steps of the attempt", lambda: self.get("/heatmap/steps", width=500, basis="own")["to_step"] >= 30)
        self.open("", "#details-title")
        self.assertNotEqual(self.browser.ask("text", "main", without=LEFT_OUT + rules), live[""])
        as_of = self.texts("at=%s&" % then, rules)
        for tab, text in live.items():
            self.assertEqual(as_of[tab], text, tab)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
