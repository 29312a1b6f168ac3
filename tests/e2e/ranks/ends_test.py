#!/usr/bin/env python3
"""End-to-end test of job ends: kill -9 of one rank, of all ranks, and also of the launcher; restarts; and the time until each is reported.

ends_test.py BINARY [--long]      --long: also tests a restart after the grace period of two minutes
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import CLIENT, PATIENCE, Pitwall, wait_for, write  # noqa: E402

BINARY = None
LONG = False
SOON = 3  # maximum number of seconds until a death is reported

RULES = """
groups:
- name: g
  interval: 1s
  rules:
  - alert: Trains
    expr: max(train_step) > 0
    labels: {severity: warning}
  - alert: CPUBusy
    expr: avg(system_cpu_utilization_ratio) > 0.01
    for: 5s
    labels: {severity: warning}
"""

RANK = """
import sys, time
sys.path.insert(0, sys.argv[1])
import pitwall
pitwall.init(job="ends")
for _ in pitwall.steps(range(100000)):
    time.sleep(0.05)
"""

# Launcher that starts two ranks and writes their PIDs. On SIGUSR1, it restarts them.
LAUNCHER = """
import os, signal, subprocess, sys, time
ranks = []
def start(*_):
    ranks[:] = [subprocess.Popen([sys.executable, sys.argv[1], sys.argv[2]],
                                 env=dict(os.environ, RANK=str(r), WORLD_SIZE="2")) for r in range(2)]
    with open(sys.argv[3] + ".new", "w") as out:
        out.write(" ".join(str(rank.pid) for rank in ranks))
    os.rename(sys.argv[3] + ".new", sys.argv[3])
signal.signal(signal.SIGUSR1, start)
start()
while True:
    time.sleep(0.2)
    for rank in ranks:
        rank.poll()
"""


class Ends(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="pitwall-e2e-")
        self.addCleanup(shutil.rmtree, self.work)
        rules = write(os.path.join(self.work, "rules.yaml"), RULES)
        self.pitwall = Pitwall(BINARY, os.path.join(self.work, "log"), "--data-dir", os.path.join(self.work, "data"),
                               "--rules", rules)
        self.addCleanup(self.pitwall.stop)
        self.lines = os.path.join(self.work, "watch")
        with open(self.lines, "w") as out:
            watch = subprocess.Popen([BINARY, "issues", "watch", "--from-start", "--target", self.pitwall.grpc],
                                     stdout=out)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        self.pids = os.path.join(self.work, "pids")
        self.rank = write(os.path.join(self.work, "rank.py"), RANK)
        self.launchers = []
        self.addCleanup(self.kill_launchers)

    def kill_launchers(self):
        for launcher in self.launchers:
            if launcher.poll() is None:
                self.kill_ranks()
                launcher.kill()
                launcher.wait()

    def print_lines(self):
        with open(self.lines) as lines:
            print(lines.read())

    def launch(self):
        if os.path.exists(self.pids):
            os.remove(self.pids)
        self.launchers.append(subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, self.rank, CLIENT, self.pids],
            env=dict(os.environ, PITWALL_SOCKET=os.path.join(self.work, "data", "collector.sock"),
                     PITWALL_JOB_ID="ends")))
        wait_for("the PIDs of the ranks", lambda: os.path.exists(self.pids))

    def kill_ranks(self, *which):
        with open(self.pids) as pids:
            for rank, pid in enumerate(pids.read().split()):
                if which and rank not in which:
                    continue
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        print("%s  ---  kill -9 of %s" % (time.strftime("%H:%M:%S"), "ranks %s" % (which,) if which else "all ranks"))

    def reported(self, pattern, count=1):
        with open(self.lines) as lines:
            return len(re.findall(pattern, lines.read())) >= count

    def expect_soon(self, pattern, count=1, patience=SOON, slack=2):
        """Expects a matching report within `patience` seconds; `slack` allows for a slow test machine."""
        began = time.monotonic()
        wait_for(pattern, lambda: self.reported(pattern, count), patience + slack)
        print("%s  ---  reported after %.1f s: %s" % (time.strftime("%H:%M:%S"), time.monotonic() - began, pattern))

    def test_ends_and_restarts_are_reported_in_time(self):
        self.addCleanup(self.print_lines)
        self.launch()
        self.expect_soon("job ends: attempt 1 began", patience=PATIENCE)
        wait_for("an issue", lambda: self.reported("FOUND +Trains"))
        self.kill_ranks(1)
        self.expect_soon("job ends: rank 1 on .* (was killed by signal 9|ended without a goodbye)")
        self.assertFalse(self.reported("ended: died"))
        self.kill_ranks(0)
        self.expect_soon("job ends: rank 0 on .*")
        self.expect_soon("job ends: attempt 1 ended: died")
        time.sleep(8)  # longer than CPUBusy's `for`, within which any report about the dead ranks would arrive
        self.assertFalse(self.reported("job ends: ended"))

        self.launchers[-1].send_signal(signal.SIGUSR1)  # a restart within the grace period
        self.expect_soon("job ends: attempt 2 began", patience=PATIENCE)
        wait_for("both ranks", lambda: self.pitwall.metric("pitwall_collector_clients") == 2)
        time.sleep(2)
        self.launchers[-1].kill()
        self.launchers[-1].wait()
        self.kill_ranks()
        self.expect_soon("job ends: attempt 2 ended: died")
        self.expect_soon("job ends: ended: died", patience=2 * SOON)

        self.launch()  # the job has already ended
        self.expect_soon("job ends: attempt 3 began", patience=PATIENCE)
        if LONG:
            wait_for("both ranks", lambda: self.pitwall.metric("pitwall_collector_clients") == 2)
            time.sleep(2)
            self.kill_ranks()
            self.expect_soon("job ends: attempt 3 ended: died")
            self.expect_soon("job ends: ended: died", count=2, patience=125, slack=10)
            self.launchers[-1].send_signal(signal.SIGUSR1)
            self.expect_soon("job ends: attempt 4 began", patience=PATIENCE)
        for flags in (["--all"], ["--all", "--json"]):
            listed = subprocess.run([BINARY, "issues", "list", "--job", "ends", "--target", self.pitwall.grpc] + flags,
                                    capture_output=True, text=True, check=True).stdout
            if "--json" not in flags:
                print(listed)
        self.assertNotIn('"end_reason":"cleared"', listed)


if __name__ == "__main__":
    LONG = "--long" in sys.argv
    if LONG:
        sys.argv.remove("--long")
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
