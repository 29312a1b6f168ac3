#!/usr/bin/env python3
"""Tests the kernel's out-of-memory killer in a real cgroup. An OOM kill of a rank is reported as such, and an OOM kill of its worker is not
attributed to the rank.

oom_test.py BINARY

The tests need root and a memory controller that allows new cgroups (version 1 or 2). Otherwise they are skipped, with the reason.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import CLIENT, Pitwall, wait_for, write  # noqa: E402

BINARY = None
LIMIT = 96 << 20

# Runs as `rank.py CLIENT HOW JOB`: joins the cgroup in $GROUP and sends Hello. With HOW "self", the rank allocates memory until it is killed. With
# "worker", a child process does so, and the rank continues for a while and exits with code 3.
RANK = """
import os, sys, time
with open(os.path.join(os.environ["GROUP"], "cgroup.procs"), "w") as procs:
    procs.write(str(os.getpid()))
sys.path.insert(0, sys.argv[1])
import pitwall
pitwall.init(job="oom", job_id=sys.argv[3], rank=0, world_size=1)
def train(steps):
    for step in steps:
        with pitwall.step(step):
            time.sleep(0.05)
def allocate():
    held = []
    while True:
        held.append(bytearray(os.urandom(1 << 20)))
train(range(20))
if sys.argv[2] == "self":
    allocate()
worker = os.fork()
if worker == 0:
    with open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")
    allocate()
_, status = os.waitpid(worker, 0)
print("worker ended by", os.WTERMSIG(status), flush=True)
train(range(20, 40))
os._exit(3)
"""


def make_group():
    """Creates a cgroup with a memory limit and returns its directory. Raises SkipTest with the reason if that is not possible."""
    if os.geteuid() != 0:
        raise unittest.SkipTest("only root can create cgroups")
    name = "pitwall-oom-%d" % os.getpid()
    reasons = []
    for root, limit in (("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/unified", "memory.max"),
                        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
        if not os.path.exists(os.path.join(root, "cgroup.procs")):
            continue
        folder = os.path.join(root, name)
        try:
            os.mkdir(folder)
        except OSError as error:
            reasons.append("%s: %s" % (root, error.strerror))
            continue
        try:
            with open(os.path.join(folder, limit), "w") as out:
                out.write(str(LIMIT))
            swap = os.path.join(folder, "memory.swap.max")
            if os.path.exists(swap):
                with open(swap, "w") as out:
                    out.write("0")
            return folder
        except OSError as error:
            os.rmdir(folder)
            reasons.append("%s: no memory limit (%s)" % (root, error.strerror))
    raise unittest.SkipTest("cannot create a cgroup with a memory limit: %s" % ("; ".join(reasons) or "no cgroup file system is mounted"))


class OutOfMemory(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="pitwall-oom-")
        self.addCleanup(shutil.rmtree, self.work)
        self.group = make_group()
        self.addCleanup(self.remove_group)
        self.pitwall = Pitwall(BINARY, os.path.join(self.work, "log"), "--data-dir", os.path.join(self.work, "data"))
        self.addCleanup(self.pitwall.stop)
        self.rank = write(os.path.join(self.work, "rank.py"), RANK)

    def remove_group(self):
        def removed():
            try:
                os.rmdir(self.group)
            except FileNotFoundError:
                pass
            except OSError:
                return False
            return True
        wait_for("the cgroup to be empty", removed)

    def run_rank(self, how, reaped):
        """Runs the rank until it ends, and returns the collector's log line about its end. If `reaped`, a shell collects the exit status immediately,
        so that no other process can read it."""
        job = "oom-%s-%s" % (how, "reaped" if reaped else "left")
        command = [sys.executable, self.rank, CLIENT, how, job]
        if reaped:
            command = ["sh", "-c", '"$@"; true', "sh"] + command
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=dict(
            os.environ, GROUP=self.group, PITWALL_SOCKET=os.path.join(self.work, "data", "collector.sock")))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        with open(os.path.join(self.work, "log"), errors="replace") as log:
            def said():
                log.seek(0)
                return [line for line in log if "ended without a goodbye" in line and '"%s"' % job in line]
            return wait_for("the end of the rank to be reported", said, 40)[-1]

    def test_oom_kill_of_a_rank_is_reported(self):
        for reaped in (False, True):
            with self.subTest(reaped=reaped):
                self.assertIn("by the out-of-memory killer", self.run_rank("self", reaped))

    def test_oom_kill_of_worker_is_not_attributed_to_rank(self):
        for reaped in (False, True):
            with self.subTest(reaped=reaped):
                line = self.run_rank("worker", reaped)
                self.assertNotIn("out-of-memory", line)
                if not reaped:
                    self.assertIn("exit code 3", line)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    result = unittest.main(verbosity=2, exit=False).result
    skipped = len(result.skipped) == result.testsRun
    sys.exit(77 if skipped else 0 if result.wasSuccessful() else 1)
