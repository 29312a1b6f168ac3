#!/usr/bin/env python3
"""Tests stack captures of real processes, requested by a user and by a rule. A capture must show the state of each rank.

capture_test.py BINARY
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import CLIENT, Pitwall, wait_for, write  # noqa: E402

BINARY = None

RULES = """
groups:
- name: e2e
  interval: 1s
  rules:
  - alert: LossHigh
    expr: train_loss > 5
    labels: {severity: warning}
    annotations: {summary: 'loss {{ $value }}', capture: stacks}
  - alert: RankStopped
    expr: pitwall_capture_state{state="stopped"} == 1
    labels: {severity: critical}
    annotations: {summary: 'rank {{ $labels.rank }} of {{ $labels.node }} is stopped'}
"""

# Script for a rank that stops making progress in its third step. The mode argument selects how it stops.
RANK = """
import ctypes, os, socket, sys, threading, time
sys.path.insert(0, sys.argv[1])
import pitwall
mode = sys.argv[2]
def healthy():
    time.sleep(0.03)
def loop():
    while True:
        pass
def sleeps():
    time.sleep(1000)
def locks():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
def receives():
    a, b = socket.socketpair()
    a.recv(1)
def native():
    ctypes.PyDLL(None).sleep(1000)  # sleeps with the interpreter lock held
def collects():
    with pitwall.phase("collective"):
        sleeps()
def loads():
    with pitwall.phase("dataloader"):
        sleeps()
def raises_loss():
    healthy()
    if os.path.exists(sys.argv[0] + ".go"):
        pitwall.log(loss=9.0)
pitwall.init(job=os.environ["PITWALL_JOB_ID"])
for step in pitwall.steps(range(100000)):
    if step < 3:
        # The client sends updates twice a second, so the last one is sent before the rank holds the interpreter lock.
        time.sleep(0.4 if mode == "native" else 0.03)
    elif mode in ("collects", "loads"):
        globals()[mode]()
    else:
        with pitwall.phase("forward"):
            globals()[mode]()
"""

ZOO = ["healthy", "healthy", "loop", "sleeps", "locks", "receives", "native", "collects", "collects", "loads"]
STOPPED = 1
STATES = ["busy", "stopped", "busy", "blocked", "blocked", "blocked", "blocked", "collective", "collective", "loader"]
FUNCTIONS = {2: "loop", 3: "sleeps", 4: "locks", 5: "receives", 7: "collects", 9: "loads"}


class Captures(unittest.TestCase):
    """Tests that share one standalone process. The job `zoo` has one rank in each state."""

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="pitwall-e2e-")
        cls.addClassCleanup(shutil.rmtree, cls.work)
        cls.data = os.path.join(cls.work, "data")
        token = write(os.path.join(cls.work, "act"), "act-token-of-a-test\n")
        config = write(os.path.join(cls.work, "pitwall.yaml"), "grpc: {act_token_file: %s}\n" % token)
        cls.pitwall = Pitwall(BINARY, os.path.join(cls.work, "log"), "--config", config, "--data-dir", cls.data, "--rules",
                              write(os.path.join(cls.work, "e2e.yaml"), RULES))
        cls.addClassCleanup(cls.pitwall.stop)
        cls.script = write(os.path.join(cls.work, "rank.py"), RANK)
        cls.ranks = cls.launch("zoo", ZOO)
        wait_for("all ranks", lambda: cls.pitwall.metric("pitwall_collector_clients") >= len(ZOO))
        time.sleep(1.5)  # time for three steps and for the client's phase updates, which are sent twice a second
        cls.ranks[STOPPED].send_signal(signal.SIGSTOP)

    @classmethod
    def launch(cls, job, modes, world=None):
        ranks = []
        for rank, mode in enumerate(modes):
            env = dict(os.environ, PITWALL_SOCKET=os.path.join(cls.data, "collector.sock"), PITWALL_JOB_ID=job,
                       RANK=str(rank), WORLD_SIZE=str(world or len(modes)))
            ranks.append(subprocess.Popen([sys.executable, cls.script, CLIENT, mode], env=env))
            cls.addClassCleanup(ranks[-1].wait)
            cls.addClassCleanup(ranks[-1].kill)
        return ranks

    def capture(self, *flags, fails=False):
        begin = time.monotonic()
        done = subprocess.run([BINARY, "capture", *flags, "--socket", os.path.join(self.data, "collector.sock"),
                               "--target", self.pitwall.grpc], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.seconds = time.monotonic() - begin
        self.assertEqual(done.returncode, 1 if fails else 0, done.stdout + done.stderr)
        self.said = done.stderr
        return done.stdout

    def test_each_rank_is_classified_by_its_state(self):
        captured = [json.loads(line)["data"] for line in self.capture("zoo", "--json").splitlines()]
        self.assertLess(self.seconds, 8)
        self.assertEqual([c["rank"] for c in captured], list(range(len(ZOO))))
        self.assertEqual([c["state"] for c in captured], STATES)
        for rank, function in FUNCTIONS.items():
            with self.subTest(function):
                thread = captured[rank]["threads"][0]
                self.assertTrue(thread["main"])
                self.assertTrue(any(f.startswith(function + " (" + self.script + ":") for f in thread["frames"]), thread)
                self.assertEqual(captured[rank]["source"], "client")
                self.assertEqual(captured[rank]["pid"], self.ranks[rank].pid)
        for rank, why in ((STOPPED, "stopped"), (6, "native code holds the interpreter")):
            self.assertEqual(captured[rank]["source"], "system")
            self.assertIn(why, captured[rank]["why_system"])
            self.assertGreater(captured[rank]["step_plus_one"], 0)  # the step of its last update
        self.assertIn("stopped", captured[STOPPED]["threads"][0]["system"])
        self.assertGreater(captured[2]["cpu_share"], 0.1)
        self.assertLess(captured[3]["cpu_share"], 0.05)
        # The captured state is also a series that rules can read.
        self.issue("RankStopped", "zoo", rank="1")

    def test_ranks_with_equal_stacks_are_grouped(self):
        text = self.capture("zoo", "--rank", "7,8", "--rank", "3")
        self.assertIn("\nranks 7, 8: collective, by its client\n", text)
        self.assertIn("\nrank 3: blocked, by its client\n", text)
        self.assertIn("\n      sleeps (", text)
        self.assertNotIn("rank 0 ", text)

    def test_healthy_job_is_captured(self):
        self.launch("healthy", ["healthy", "healthy"])
        wait_for("the job", lambda: self.jobs("healthy"))
        text = wait_for("both ranks", lambda: self.both("healthy"))
        self.assertIn("rank 0 on ", text)
        self.assertIn("rank 1 on ", text)
        self.assertNotIn("blocked", text)

    def both(self, job):
        done = subprocess.run([BINARY, "capture", job, "--data-dir", self.data], stdout=subprocess.PIPE, text=True)
        return done.stdout if done.returncode == 0 else None

    def jobs(self, job):
        listed = subprocess.run([BINARY, "jobs", "list", "--json", "--target", self.pitwall.grpc], stdout=subprocess.PIPE,
                                text=True).stdout
        return '"%s"' % job in listed

    def test_unknown_ranks_and_jobs_are_reported(self):
        self.launch("short", ["healthy"], world=3)
        wait_for("the job", lambda: self.jobs("short"))
        text = self.capture("short", "--timeout", "6s", fails=True)
        self.assertIn("\nranks 1, 2: no reply; ", text)
        self.capture("none", fails=True)
        self.assertIn("not found on node", self.said)
        token = os.path.join(self.work, "act")
        for job, cause in (("nosuch", 'job "nosuch": not found'), ("zo", "must be a complete ID")):
            done = subprocess.run([BINARY, "capture", job, "--timeout", "60s", "--token-file", token,
                                   "--target", self.pitwall.grpc], stderr=subprocess.PIPE, text=True, timeout=40)
            self.assertEqual(done.returncode, 1)
            self.assertIn(cause, done.stderr)
        done = subprocess.run([BINARY, "capture", "zoo", "--rank", "x"], stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--rank: must be a non-negative integer", done.stderr)

    def test_capture_requires_ownership_or_token(self):
        empty = write(os.path.join(self.work, "token"), "guess\n")
        done = subprocess.run([BINARY, "capture", "zoo", "--token-file", empty, "--target", self.pitwall.grpc],
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("token that has the act role", done.stderr)

    def test_issue_shows_capture_requested_by_rule(self):
        before = self.pitwall.metric("pitwall_collector_clients")
        self.launch("lossy", ["raises_loss", "sleeps"])
        wait_for("both ranks", lambda: self.pitwall.metric("pitwall_collector_clients") >= before + 2)
        time.sleep(1)  # rank 1 is asleep in its fourth step by then
        write(self.script + ".go", "")
        issue = self.issue("LossHigh", "lossy")
        show = [BINARY, "issues", "show", issue["id"], "--target", self.pitwall.grpc]

        def shown():
            text = subprocess.run(show, stdout=subprocess.PIPE, text=True).stdout
            return text if "capture       job lossy" in text and "rank 1: no answer" not in text else None
        text = wait_for("the capture", shown)
        self.assertIn("requested by rule e2e/e2e/LossHigh", text)
        self.assertIn("rank 1: blocked, by its client", text)
        self.assertIn(" sleeps (", text)
        lines = subprocess.run(show + ["--json"], stdout=subprocess.PIPE, text=True).stdout.splitlines()
        captures = [json.loads(line) for line in lines if '"io.pitwall.capture.taken"' in line]
        self.assertEqual(sorted(c["data"]["rank"] for c in captures), [0, 1])
        self.assertEqual({c["data"]["issue"] for c in captures}, {issue["id"]})
        from_log = subprocess.run([BINARY, "issues", "show", issue["id"], "--data-dir", self.data], stdout=subprocess.PIPE,
                                  text=True).stdout
        self.assertIn("rank 1: blocked, by its client", from_log)
        self.assertGreaterEqual(self.pitwall.metric("pitwall_capture_requests_total"), 1)

    def issue(self, alert, job, **labels):
        def found():
            lines = subprocess.run([BINARY, "issues", "list", "--all", "--json", "--rule", alert, "--job", job, "--target",
                                    self.pitwall.grpc], stdout=subprocess.PIPE, text=True).stdout.splitlines()
            issues = [json.loads(line) for line in lines]
            return next((i for i in issues if labels.items() <= i["data"]["labels"].items()), None)
        return wait_for("%s of %s" % (alert, job), found)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main()
