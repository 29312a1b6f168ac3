#!/usr/bin/env python3
"""Tests how ranks end in live runs with pack:default. Each combination of a way to start a process and a way to end it must produce the correct issue
and end detail.

end_routes_test.py BINARY
"""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import CLIENT, PATIENCE, WatchedTest, wait_for, write  # noqa: E402

BINARY = None
AT_ONCE = 4    # maximum number of concurrent jobs
ENDS_S = 100   # maximum seconds until a job's end; a failed job waits one minute for a restart

# Script for a rank with 20 steps: RANK.py LAUNCHER END. LAUNCHER is "plain" or a start method of multiprocessing.
RANK = """
import atexit, multiprocessing, os, signal, sys, time
from multiprocessing import util

def crash():
    os.kill(os.getpid(), signal.SIGSEGV)

def finish(end):
    if end == "exception":
        raise ValueError("boom")
    if end == "replaced_hook":
        sys.excepthook = lambda *_: None
        raise ValueError("boom")
    if end == "system_exit":
        raise SystemExit(3)
    if end == "system_exit_text":
        raise SystemExit("bad flag")
    if end == "exit":
        exit(3)
    if end == "caught_exit":
        try:
            sys.exit(3)
        except SystemExit:
            pass
    if end == "signal":
        os.kill(os.getpid(), signal.SIGKILL)
    if end.startswith("immediate_0"):
        os._exit(0)
    if end == "immediate_3":
        os._exit(3)
    if end.startswith("exec"):
        os.execv("/bin/true", ["true"])

def rank(end):
    sys.path.insert(0, os.environ["CLIENT"])
    if end == "teardown_crash":  # crashes after the client has sent its Goodbye
        if multiprocessing.parent_process() is None:
            atexit.register(crash)
        else:
            util.Finalize(None, crash, exitpriority=-1000)
    import pitwall
    pitwall.init(job=os.environ["JOB"])
    for step in pitwall.steps(range(20)):
        time.sleep(0.02)
        if step == 10 and end.endswith("_in_loop"):
            time.sleep(0.3)  # by then, the collector has received the loop
            finish(end)
    finish(end)

if __name__ == "__main__":
    launcher, end = sys.argv[1:]
    if launcher == "plain":
        rank(end)
    else:
        worker = multiprocessing.get_context(launcher).Process(target=rank, args=(end,))
        worker.start()
        worker.join()
"""

# Maps each END to the summary of the only issue, after "Rank 0 on <node> ". None means that the job completed.
ENDS = {
    "return": None,
    "caught_exit": None,
    "immediate_0": None,
    "exec": None,
    "exception": "failed: ValueError: boom",
    "replaced_hook": "failed: ValueError: boom",
    "system_exit": "exited with code 3",
    "system_exit_text": "exited with code 1",
    "exit": "exited with code 3",
    "signal": "was killed (SIGKILL)",
    "immediate_3": "exited with code 3",
    "teardown_crash": "crashed (SIGSEGV, segmentation fault)",
    "immediate_0_in_loop": "exited with status 0",
    "exec_in_loop": "exited with status 0",
}
LAUNCHERS = ("plain", "fork", "forkserver", "spawn")


class EndRoutes(WatchedTest):
    @classmethod
    def setUpClass(cls):
        cls.start(BINARY, "--rules", "pack:default")
        script = cls.script = write(os.path.join(cls.work, "rank.py"), RANK)
        cells = [(launcher, end) for end in ENDS for launcher in LAUNCHERS]
        while cells:
            now, cells = cells[:AT_ONCE], cells[AT_ONCE:]
            # The shell is the launcher and ends together with the rank.
            for process in [subprocess.Popen(["sh", "-c", '"$@"; true', "sh", sys.executable, script, *cell],
                                             stderr=subprocess.DEVNULL, env=cls.environment(*cell)) for cell in now]:
                process.wait(PATIENCE)

    @classmethod
    def environment(cls, launcher, end):
        job = "%s-%s" % (end, launcher)
        return dict(os.environ, CLIENT=CLIENT, JOB=job, PITWALL_JOB_ID=job,
                    PITWALL_SOCKET=os.path.join(cls.work, "data", "collector.sock"))

    def events(self, kind, job):
        return [e for _, e in self.watch.events(kind) if e["job"]["id"] == job]

    def ended(self, job):
        return [e["end_detail"] for e in self.events("io.pitwall.job.changed", job) if e["job_change"] == "ended"]

    def found(self, job):
        """Returns (alert, part of the summary) of the issues. Excludes issues caused by a busy test machine."""
        return [(e["alert"], e["summary"].partition(" on ")[2].partition(" ")[2])
                for e in self.events("io.pitwall.issue.found", job) if e["labels"]["category"] not in ("bottleneck", "hardware")]

    def check(self, end):
        for launcher in LAUNCHERS:
            with self.subTest(launcher=launcher):
                job = "%s-%s" % (end, launcher)
                details = wait_for("the end of " + job, lambda: self.ended(job), ENDS_S)
                found = self.found(job)
                if ENDS[end] is None:
                    self.assertEqual((details, found), (["completed"], []))
                    continue
                self.assertEqual([alert for alert, _ in found], ["RankDied"])
                self.assertTrue(found[0][1].startswith(ENDS[end]), found)
                self.assertIn(details[0], ("failed", "died"))

    def test_torchrun_restart_starts_next_attempt(self):
        """Starts two runs from one launcher process, without a job ID that identifies them as one job."""
        environment = self.environment("torchrun", "restart")
        del environment["PITWALL_JOB_ID"]
        launcher = ("import os, subprocess, sys\n"
                    "for count, end in enumerate(('system_exit', 'return')):\n"
                    "  subprocess.call([sys.executable, sys.argv[1], 'plain', end],\n"
                    "                  env=dict(os.environ, TORCHELASTIC_RESTART_COUNT=str(count)))\n")
        subprocess.run([sys.executable, "-c", launcher, self.script], env=environment, timeout=PATIENCE, check=True)

        def changes():
            return [(e["job"]["id"], e["job_change"], e.get("attempt")) for _, e in self.watch.events("io.pitwall.job.changed")
                    if e["job"].get("name") == "restart-torchrun"]
        wait_for("the end", lambda: any(change == "ended" for _, change, _ in changes()), ENDS_S)
        self.assertEqual(len({job for job, _, _ in changes()}), 1)
        self.assertEqual([attempt for _, change, attempt in changes() if change == "attempt_began"], [1, 2])


def _test_of(end):
    return lambda self: self.check(end)


for _end in ENDS:
    setattr(EndRoutes, "test_" + _end, _test_of(_end))


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
