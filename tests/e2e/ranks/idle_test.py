#!/usr/bin/env python3
"""Tests idle processes in live runs with pack:default. Idle time outside a loop is not a fault. Idle time in a declared phase, or in a frozen
process, is a fault.

idle_test.py BINARY [--long]      --long: also tests a process that spins in native code, which takes a minute to report
"""
import os
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import CLIENT, WatchedTest, wait_for, write  # noqa: E402

BINARY = None
LONG = False
IDLE = 26  # seconds that a rank idles; HangSuspected would be reported after 10 s, HangIdle after 19 s
SOON = 20  # seconds from the fault to the issue: the limit of 10 s and 20 steps, plus an allowance for a loaded machine

RANK = """
import ctypes, os, sys, time
sys.path.insert(0, sys.argv[1])
import pitwall
what, idle = sys.argv[2], float(sys.argv[3])
pitwall.init(job=what)
def loop():
    for _ in pitwall.steps(range(120)):
        with pitwall.phase("forward"):
            time.sleep(0.02)
        yield
def over():
    print(time.monotonic(), flush=True)
    time.sleep(idle)
if what == "exports":
    list(loop())
    over()
elif what == "notebook":
    list(loop())
    time.sleep(idle / 2)
    list(loop())
    over()
elif what == "raises":
    try:
        for _ in loop():
            {}["lr"]
    except KeyError:
        pass
    over()
elif what == "finishes":
    list(loop())
    pitwall.finish()
    over()
elif what == "barrier":
    list(loop())
    with pitwall.phase("collective"):
        over()
elif what == "by-hand":
    for _ in range(120):
        with pitwall.step():
            time.sleep(0.02)
    over()
else:
    for i, _ in enumerate(pitwall.steps(range(10**9))):
        time.sleep(0.02)
        if i == 120:
            print(time.monotonic(), flush=True)
            if what == "sleeps":
                ctypes.PyDLL(None).sleep(1000)
            if what == "spins":
                sum(range(10**15))  # runs in C with the GIL held
            if what == "stops":
                os.kill(os.getpid(), 19)
"""


class Idle(WatchedTest):
    """Tests with one job each. All jobs share one standalone process and run in parallel."""

    JOBS = ["exports", "notebook", "raises", "finishes", "barrier", "by-hand", "sleeps", "stops"]

    @classmethod
    def setUpClass(cls):
        cls.start(BINARY, "--rules", *os.environ.get("IDLE_RULES", "pack:default").split())
        script = write(os.path.join(cls.work, "rank.py"), RANK)
        cls.ranks = {}
        cls.addClassCleanup(cls.end_ranks)
        environment = dict(os.environ, PITWALL_SOCKET=os.path.join(cls.work, "data", "collector.sock"))
        for job in cls.JOBS + (["spins"] if LONG else []):
            idle = 10 * IDLE if job in ("barrier", "by-hand") else IDLE
            with open(os.path.join(cls.work, job), "w") as out:
                cls.ranks[job] = subprocess.Popen([sys.executable, script, CLIENT, job, str(idle)], stdout=out,
                                                  stderr=subprocess.DEVNULL, env=dict(environment, PITWALL_JOB_ID=job))

    @classmethod
    def end_ranks(cls):
        for rank in cls.ranks.values():
            rank.kill()
            rank.wait()

    @classmethod
    def issues(cls, job):
        """Returns (arrival time, data) for each issue of the job. Excludes issues caused by a busy test machine."""
        return [(when, e) for when, e in cls.watch.events("io.pitwall.issue.found")
                if e["job"].get("name", "") == job and e["labels"]["category"] != "bottleneck"]

    def began(self, job):
        """Returns the monotonic time at which the job became idle."""
        def read():
            with open(os.path.join(self.work, job)) as lines:
                return lines.read().strip()
        return float(wait_for("the loop of " + job, read))

    def reported(self, job, alert, soon=SOON):
        began = self.began(job)
        when, issue = wait_for("%s of %s" % (alert, job), lambda: [
            (when, issue) for when, issue in self.issues(job) if issue["alert"] == alert], soon + 60)[0]
        print("\n%s: %s after %.1f s: %s" % (job, alert, when - began, issue["summary"]), flush=True)
        self.assertLess(when - began, soon)
        return issue

    def alerts(self, job):
        return [issue["alert"] for _, issue in self.issues(job)]

    def test_a_stopped_rank_is_reported_with_its_state(self):
        issue = self.reported("stops", "RankFrozen")
        self.assertIn("(pid %d) is stopped (state T); no heartbeat for" % self.ranks["stops"].pid, issue["summary"])

    def test_a_rank_sleeping_with_gil_held_is_reported(self):
        issue = self.reported("sleeps", "RankFrozen", SOON + 10)  # the process's CPU rate is 0 only after ten seconds
        self.assertIn("(pid %d) is asleep in native code (state S); no heartbeat for" % self.ranks["sleeps"].pid, issue["summary"])

    def test_b_barrier_after_loop_is_watched(self):
        self.reported("barrier", "HangSuspected")

    def test_b_manual_loop_is_still_watched(self):
        self.reported("by-hand", "HangSuspected")

    def test_c_process_outside_its_loop_raises_no_issue(self):
        for job in ("exports", "notebook", "raises", "finishes"):
            self.assertEqual(self.ranks[job].wait(4 * IDLE), 0)
            self.assertEqual(self.alerts(job), [], job)

    def test_d_frozen_ranks_raise_one_issue_each(self):
        wait_for("a minute", lambda: time.monotonic() > max(self.began("stops"), self.began("sleeps")) + 66)
        self.assertEqual(self.alerts("stops"), ["RankFrozen"])
        self.assertEqual(self.alerts("sleeps"), ["RankFrozen"])

    def test_e_spinning_rank_is_reported_after_a_minute(self):
        if not LONG:
            self.skipTest("takes a minute; run with --long")
        issue = self.reported("spins", "RankSpinning", 60 + SOON)
        self.assertIn("(pid %d, state R) runs native code without a heartbeat" % self.ranks["spins"].pid, issue["summary"])
        self.assertEqual(self.alerts("spins"), ["RankSpinning"])


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    LONG = "--long" in sys.argv
    if LONG:
        sys.argv.remove("--long")
    unittest.main(verbosity=2)
