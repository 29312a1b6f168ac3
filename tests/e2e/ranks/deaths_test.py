#!/usr/bin/env python3
"""End-to-end test of rank deaths with pack:default. The first cause must be reported within 3 s. Resulting deaths and canceled ranks must not be reported.

deaths_test.py BINARY FAKE_NVML
"""
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import CLIENT, PATIENCE, WatchedTest, wait_for, write  # noqa: E402

BINARY = NVML = None
SOON = 3   # maximum number of seconds until a death is reported
SLACK = 2  # additional seconds for a slow test machine

# Script for a rank that ends in the requested way.
RANK = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
import pitwall
def raises(*_):
    raise RuntimeError("asked for")
asked = []
signal.signal(signal.SIGUSR1, lambda *_: os._exit(3))
signal.signal(signal.SIGUSR2, raises)
signal.signal(signal.SIGHUP, lambda *_: asked.append(1))
pitwall.init(job=os.environ["PITWALL_JOB_ID"])
for _ in pitwall.steps(range(100000)):
    time.sleep(0.05)
    if asked:
        break
"""

# Launcher that starts the ranks and writes their PIDs. With "kills", it behaves like an elastic agent: after a rank fails, it terminates the other
# ranks and then exits.
LAUNCHER = """
import os, signal, subprocess, sys, time
script, client, pids, count, kills = sys.argv[1:6]
ranks = [subprocess.Popen([sys.executable, script, client], env=dict(os.environ, RANK=str(r), WORLD_SIZE=count))
         for r in range(int(count))]
with open(pids + ".new", "w") as out:
    out.write(" ".join(str(rank.pid) for rank in ranks))
os.rename(pids + ".new", pids)
# Until a parent collects the exit status, any process may read it. A parent that collects it immediately hides it from all others.
while True:
    time.sleep(0.3)
    if kills == "kills" and any(rank.poll() for rank in ranks):
        for rank in ranks:
            rank.terminate()
        for rank in ranks:
            rank.wait()
        sys.exit(1)
"""


def runs(pid):
    try:
        with open("/proc/%d/stat" % pid) as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Deaths(WatchedTest):
    """Tests with one job each. All jobs share one standalone process."""

    @classmethod
    def setUpClass(cls):
        cls.start(BINARY, "--rules", "pack:default")
        cls.right = {}  # job -> expected issues
        cls.rank = write(os.path.join(cls.work, "rank.py"), RANK)

    def launch(self, ranks, kills=""):
        self.job = self.id().rpartition(".")[2]
        pids = os.path.join(self.work, self.job)
        launcher = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, self.rank, CLIENT, pids, str(ranks), kills], stderr=subprocess.DEVNULL,
            env=dict(os.environ, PITWALL_SOCKET=os.path.join(self.work, "data", "collector.sock"),
                     PITWALL_JOB_ID=self.job))
        self.addCleanup(launcher.wait)
        self.addCleanup(launcher.kill)
        wait_for("the PIDs of the ranks", lambda: os.path.exists(pids))
        with open(pids) as text:
            self.pids = [int(word) for word in text.read().split()]
        self.addCleanup(self.send, signal.SIGKILL)
        # Each rank must have finished a step. A rank reports finished steps once a second.
        wait_for("the attempt", lambda: self.events("io.pitwall.job.changed", job_change="attempt_began"), PATIENCE)
        wait_for("all ranks", lambda: self.pitwall.metric("pitwall_collector_clients") >= ranks, PATIENCE)
        time.sleep(1)
        self.assertEqual(self.found(), [])

    def send(self, number, *ranks):
        for rank, pid in enumerate(self.pids):
            if ranks and rank not in ranks:
                continue
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        self.sent = time.monotonic()

    def events(self, kind, **data):
        return [e for _, e in self.watch.events(kind, **data) if e["job"].get("name", "") == self.job]

    def test_z_no_other_issue_is_reported(self):
        time.sleep(SOON + SLACK)
        for self.job, issues in self.right.items():
            with self.subTest(job=self.job):
                self.assertEqual(self.found(), issues)

    def found(self):
        """Returns (alert, rank, cause, severity) of each issue of the job in report order. Excludes issues caused by a busy test machine, and the
        power brake reported by the fake driver."""
        return [(i["alert"], i["labels"].get("rank"), i["labels"].get("cause"), i["severity"])
                for i in self.events("io.pitwall.issue.found") if i["labels"]["category"] not in ("bottleneck", "hardware")]

    def expect_issues(self, *issues):
        """Expects these issues within 3 s. test_z_no_other_issue_is_reported later checks that no other issue follows."""
        self.right[self.job] = list(issues)
        wait_for("an issue", lambda: self.found(), SOON + SLACK)
        took = time.monotonic() - self.sent
        print("\n%s: reported after %.1f s: %s" % (self.job, took, self.events("io.pitwall.issue.found")[0]["summary"]),
              flush=True)
        self.assertEqual(self.found(), list(issues))
        self.assertLess(took, SOON)

    def test_kill_9_of_one_of_two_is_reported(self):
        self.launch(2)
        self.send(signal.SIGKILL, 1)
        self.expect_issues(("RankDied", "1", "signal 9", "critical"))

    def test_kill_9_of_one_of_four_is_reported(self):
        self.launch(4)
        self.send(signal.SIGKILL, 2)
        self.expect_issues(("RankDied", "2", "signal 9", "critical"))

    def test_kill_15_of_one_rank_is_reported(self):
        self.launch(2)
        self.send(signal.SIGTERM, 0)
        self.expect_issues(("RankDied", "0", "signal 15", "critical"))

    def test_kill_15_of_all_ranks_is_a_cancellation(self):
        self.launch(4)
        self.send(signal.SIGTERM)
        self.expect_issues(("JobCancelled", None, None, "info"))

    def test_exit_without_goodbye_is_reported(self):
        self.launch(2)
        self.send(signal.SIGUSR1, 1)
        self.expect_issues(("RankDied", "1", "exit code 3", "critical"))

    def test_exception_is_reported(self):
        self.launch(2)
        self.send(signal.SIGUSR2, 1)
        self.expect_issues(("RankDied", "1", "exception", "critical"))

    def test_exception_of_the_only_rank_is_reported(self):
        self.launch(1)
        self.send(signal.SIGUSR2, 0)
        self.expect_issues(("RankDied", "0", "exception", "critical"))

    def test_kill_9_of_the_only_rank_is_reported(self):
        self.launch(1, "kills")
        self.send(signal.SIGKILL, 0)
        self.expect_issues(("RankDied", "0", "signal 9", "critical"))

    def test_goodbye_is_not_a_death(self):
        self.launch(2)
        self.send(signal.SIGHUP)
        self.right[self.job] = []
        wait_for("the ranks to end", lambda: not any(map(runs, self.pids)))

    def test_ranks_killed_by_launcher_are_not_reported(self):
        self.launch(4, "kills")
        self.send(signal.SIGKILL, 1)
        self.expect_issues(("RankDied", "1", "signal 9", "critical"))

    def test_ranks_killed_after_exception_are_not_reported(self):
        self.launch(4, "kills")
        self.send(signal.SIGUSR2, 3)
        self.expect_issues(("RankDied", "3", "exception", "critical"))


class DeathAfterXid(Deaths):
    """Tests with a fake driver that reports a GPU error just before a rank dies."""

    @classmethod
    def variables(cls):
        shutil.copy(NVML, os.path.join(cls.work, "libnvidia-ml.so.1"))
        cls.xid = os.path.join(cls.work, "xid")
        return {"LD_LIBRARY_PATH": cls.work, "FAKE_NVML_XID": cls.xid}

    def test_death_description_includes_xid(self):
        self.launch(2)
        write(self.xid + ".new", "0 79")
        os.rename(self.xid + ".new", self.xid)
        wait_for("the driver to report the XID", lambda: not os.path.exists(self.xid))
        time.sleep(1)  # the collector's next sample includes it
        self.send(signal.SIGKILL, 1)
        wait_for("the death", lambda: self.events("io.pitwall.issue.found", alert="RankDied"), SOON + SLACK)
        found = self.events("io.pitwall.issue.found", alert="RankDied")[0]
        self.assertIn("GPU 0 of this node reported XID 79 in the last 30 s.", found["description"])


def load_tests(loader, _, __):
    suite = loader.loadTestsFromTestCase(Deaths)
    suite.addTest(DeathAfterXid("test_death_description_includes_xid"))
    return suite


if __name__ == "__main__":
    BINARY, NVML = map(os.path.abspath, sys.argv[1:3])
    del sys.argv[1:3]
    unittest.main(verbosity=2)
