#!/usr/bin/env python3
"""Tests hangs of real processes with pack:default and pack:hangs. The rank that the others wait for must be reported soon after T (see limit()), in
one incident. A healthy job that evaluates and saves checkpoints must not raise an issue.

hangs_test.py BINARY [--long]
"""
import os
import signal
import statistics
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import CLIENT, WatchedTest, wait_for, write  # noqa: E402

BINARY = None
LONG = False
STEP = 0.05
SLACK = 2  # additional seconds for a slow test machine

# Stub of the part of PyTorch that watch_collectives() needs: collectives between processes that share a file. Each rank writes its number and
# operation, and waits until the others have started the same one. If the operations differ, the ranks wait forever, as in gloo and NCCL.
TORCH = """
class Tensor:
    device = None
class compiler:
    is_compiling = staticmethod(lambda: False)
"""
DISTRIBUTED = """
import mmap, os, struct, time
class ProcessGroup: pass
class group: WORLD = None
class distributed_c10d: pass
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
path = os.environ["MEETING"]
fd = os.open(path, os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 16 * world)
seats = mmap.mmap(fd, 16 * world)
count = 0
def get_world_size(group=None): return world
def _meet(operation):
    global count
    count += 1
    seats[16 * rank:16 * rank + 16] = struct.pack("QQ", count, operation)
    for other in range(world):
        while True:
            number, theirs = struct.unpack("QQ", seats[16 * other:16 * other + 16])
            if number > count or number == count and theirs == operation: break
            time.sleep(0.002)
def all_reduce(tensor=None, group=None, async_op=False): _meet(1)
def broadcast(tensor=None, src=0, group=None, async_op=False): _meet(2)
"""
# The signal selects the rank's action in its next step.
RANK = """
import os, signal, sys, time
sys.path[:0] = sys.argv[1:3]
import torch.distributed as distributed, pitwall
step, busy = float(sys.argv[3]), float(sys.argv[4])
times = open(sys.argv[5], "w")
asked = []
for number, what in ((signal.SIGUSR1, "skip"), (signal.SIGUSR2, "sleep"), (signal.SIGHUP, "work"), (signal.SIGALRM, "declared")):
    signal.signal(number, lambda *_, what=what: asked.append(what))
pitwall.init(job=os.environ["PITWALL_JOB_ID"])
pitwall.watch_collectives()
began = time.monotonic()
for _ in pitwall.steps(range(1000000)):
    with pitwall.phase("forward"):
        time.sleep(step)
    what = asked.pop() if asked else ""
    if what == "sleep":
        time.sleep(1000)
    elif what == "work":
        until = time.monotonic() + busy
        while time.monotonic() < until:
            pass
    elif what == "declared":
        with pitwall.phase("eval"):
            time.sleep(busy)
        with pitwall.phase("checkpoint"):
            time.sleep(busy * 2 / 3)
    if what != "skip":
        distributed.all_reduce()
    distributed.broadcast()
    began, ended = time.monotonic(), began
    times.write("%f\\n" % (began - ended))
    times.flush()
"""


class Hangs(WatchedTest):
    """Tests with one job each. The jobs share one standalone process, train in parallel, and receive their signals at the same time."""

    JOBS = {  # job -> number of ranks, (rank, signal) that triggers the fault
        "stopped": (2, (1, signal.SIGSTOP)),
        "asleep": (2, (1, signal.SIGUSR2)),
        "asleep_of_three": (3, (2, signal.SIGUSR2)),
        "skipped": (3, (1, signal.SIGUSR1)),
        "evaluates": (2, (0, signal.SIGHUP)),
        "healthy": (2, (0, signal.SIGALRM)),
        "aborted": (2, (0, signal.SIGSTOP)),
    }

    @classmethod
    def setUpClass(cls):
        cls.busy = 60 if LONG else 24
        cls.longer = {"asleep_of_three": 0.5} if LONG else {}
        cls.start(BINARY, "--rules", *os.environ.get("HANGS_RULES", "pack:default pack:hangs").split())
        torch = os.path.join(cls.work, "lib", "torch")
        os.makedirs(torch)
        write(os.path.join(torch, "__init__.py"), TORCH)
        write(os.path.join(torch, "distributed.py"), DISTRIBUTED)
        script = write(os.path.join(cls.work, "rank.py"), RANK)
        cls.ranks = {}
        cls.addClassCleanup(cls.end_ranks)
        for job, (count, _) in cls.JOBS.items():
            cls.ranks[job] = [
                subprocess.Popen(
                    [sys.executable, script, CLIENT, os.path.dirname(torch), str(cls.longer.get(job, STEP)), str(cls.busy),
                     os.path.join(cls.work, "times-%s-%d" % (job, rank))],
                    stderr=subprocess.DEVNULL,
                    env=dict(os.environ, PITWALL_SOCKET=os.path.join(cls.work, "data", "collector.sock"), PITWALL_JOB_ID=job,
                             RANK=str(rank), WORLD_SIZE=str(count), MEETING=os.path.join(cls.work, "meeting-" + job)))
                for rank in range(count)]
        wait_for("the ranks", lambda: cls.pitwall.metric("pitwall_collector_clients") == sum(map(len, cls.ranks.values())))
        for job in cls.JOBS:
            wait_for("the attempt of " + job, lambda: cls.events("io.pitwall.job.changed", job, job_change="attempt_began"))
        # The first steps wait for ranks that are still starting, so they must not count toward the 99th percentile.
        wait_for("a hundred steps", lambda: all(len(cls.steps(job, rank)) > 105 for job in cls.JOBS for rank in range(cls.JOBS[job][0])))
        cls.sent = time.monotonic()
        for job, (_, (rank, number)) in cls.JOBS.items():
            os.kill(cls.ranks[job][rank].pid, number)

    @classmethod
    def steps(cls, job, rank):
        """Returns the duration of each step in seconds."""
        with open(os.path.join(cls.work, "times-%s-%d" % (job, rank))) as lines:
            return [float(line) for line in lines if line.endswith("\n")]

    @classmethod
    def end_ranks(cls):
        for rank in sum(cls.ranks.values(), []):
            rank.kill()
            rank.wait()

    @classmethod
    def events(cls, kind, job, **data):
        """Returns (arrival time, data) of each matching event."""
        return [(when, e) for when, e in cls.watch.events(kind, **data) if e["job"].get("name", "") == job]

    def found(self, job):
        """Returns {(alert, rank, severity): report time} for the issues of the job in report order. Excludes issues caused by a busy test machine."""
        return {(i["alert"], i["labels"].get("rank"), i["severity"]): when
                for when, i in self.events("io.pitwall.issue.found", job) if i["labels"]["category"] != "bottleneck"}

    def limit(self, job):
        """Returns T, computed from the ranks' step durations, and the goal of ten seconds plus twenty steps."""
        slowest = [0, 0]
        for rank in range(self.JOBS[job][0]):
            steps = sorted(self.steps(job, rank)[-100:])
            slowest = max(slowest[0], statistics.median(steps)), max(slowest[1], steps[-2])
        return 10 + max(10 * slowest[0], 3 * slowest[1]), 10 + 20 * slowest[0]

    def expect_issue(self, job, issue, times=1):
        """Expects the issue within T * times. With times=1, it may also take as long as the goal."""
        limit, goal = self.limit(job)
        wait_for("%s of %s" % (issue, job), lambda: issue in self.found(job), 60)
        took = self.found(job)[issue] - self.sent
        print("\n%s: %s after %.1f s (T %.1f, goal %.1f): %s" % (
            job, issue[0], took, limit, goal,
            [i["summary"] for _, i in self.events("io.pitwall.issue.found", job) if i["alert"] == issue[0]][0]), flush=True)
        self.assertLess(took, max(times * limit, goal if times == 1 else 0) + SLACK)

    def expect_one_incident(self, job, root):
        found = [i for _, i in self.events("io.pitwall.issue.found", job) if i["labels"]["category"] != "bottleneck"]
        self.assertEqual(len({i["incident"] for i in found}), 1, found)
        self.assertEqual(found[0]["alert"], root)

    def test_a_stopped_rank_is_reported(self):
        self.expect_issue("stopped", ("CollectiveHang", "1", "critical"))

    def test_b_rank_asleep_before_a_collective_is_reported(self):
        self.expect_issue("asleep", ("HangSuspected", "1", "warning"))
        self.expect_issue("asleep_of_three", ("HangSuspected", "2", "warning"))

    def test_b_skipped_collective_is_reported(self):
        self.expect_issue("skipped", ("CollectiveMismatch", "1", "critical"))

    def test_c_death_after_hang_joins_its_incident(self):
        self.expect_issue("aborted", ("CollectiveHang", "0", "critical"))
        self.ranks["aborted"][1].send_signal(signal.SIGABRT)  # as the watchdog of PyTorch does
        wait_for("the death", lambda: ("RankDied", "1", "critical") in self.found("aborted"), 10)
        self.ranks["aborted"][0].kill()                       # as the launcher then does with the other ranks
        ended = wait_for("the end of the hang", lambda: self.events("io.pitwall.issue.resolved", "aborted", alert="CollectiveHang"))
        self.assertEqual((ended[0][1]["end_reason"], ended[0][1]["end_detail"]), ("attempt_ended", "died"))
        self.expect_one_incident("aborted", "CollectiveHang")

    def test_d_issue_is_critical_at_twice_the_limit(self):
        self.expect_issue("asleep", ("CollectiveHang", "1", "critical"), 2)
        self.expect_issue("asleep_of_three", ("CollectiveHang", "2", "critical"), 2)

    def test_e_undeclared_evaluation_raises_a_warning(self):
        wait_for("the issue to end", lambda: self.events("io.pitwall.issue.resolved", "evaluates", alert="HangSuspected"), self.busy + 15)
        self.assertEqual(list(self.found("evaluates")), [("HangSuspected", "0", "warning")], self.events("io.pitwall.issue.found", "evaluates"))
        self.assertEqual(self.events("io.pitwall.issue.resolved", "evaluates")[0][1]["end_reason"], "cleared")

    def test_f_no_other_issue_is_reported(self):
        wait_for("the healthy job's next step", lambda: time.monotonic() > self.sent + self.busy * 5 / 3 + 2)
        self.assertEqual(list(self.found("healthy")), [])
        self.assertEqual(list(self.found("stopped")), [("CollectiveHang", "1", "critical")])
        self.assertEqual(list(self.found("skipped")), [("CollectiveMismatch", "1", "critical")])
        self.assertEqual(list(self.found("asleep")), [("HangSuspected", "1", "warning"), ("CollectiveHang", "1", "critical")])
        self.expect_one_incident("asleep", "HangSuspected")


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    LONG = "--long" in sys.argv
    if LONG:
        sys.argv.remove("--long")
    unittest.main(verbosity=2)
