#!/usr/bin/env python3
"""Tests jobs on a real Slurm cluster with the prolog and epilog in deploy/slurm: deaths, cancellations, the end of each job, and stops by the
executor.

jobs_test.py BINARY [--long] --long: also tests a job that exceeds its time limit. Slurm checks limits every half minute.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import cluster
from cluster import Cluster
from harness import CLIENT, PATIENCE, REPO, Pitwall, Watch, fetch, wait_for, write

BINARY = None
LONG = False
USER = "nobody"
UID = 65534
STRANGER = "daemon"  # neither the jobs' user nor SlurmUser, root, or an operator

# The script acts according to its mode when the file named after its job appears.
RANK = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
import pitwall
mode, go = sys.argv[2:4]
if mode == "ignores":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if mode == "raises":
    def raises(*_):
        raise RuntimeError("asked to end")
    signal.signal(signal.SIGTERM, raises)
pitwall.init()
for _ in pitwall.steps(range(100000)):
    time.sleep(0.05)
    pitwall.log(loss=float(mode[5:]) if mode.startswith("loss=") and os.path.exists(go) else 1.0)
    if not os.path.exists(go):
        continue
    if mode == "finishes":
        break
    if mode == "exits" and os.environ.get("SLURM_PROCID", "0") == os.environ.get("EXITS", "0"):
        os._exit(3)
    if mode == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "eats":
        eaten = [bytearray(64 << 20) for _ in range(40)]
"""

CONFIG = """
collector:
  drop_dir: %(work)s/jobs
  socket: %(own)s/collector.sock
executor:
  budget: 1
  cool_down: 1s
  policies:
  - {rule: "*/LossHigh", mode: live, grace: 20s}
  - {rule: "*/LossHuge", mode: dry_run}
  exempt:
  - {job: "keep-*"}
  slurm: {enabled: true, cluster: pit}
"""

RULES = """
groups:
- name: stops
  interval: 1s
  rules:
  - {alert: LossHigh, expr: train_loss > 5 and train_loss < 50}
  - {alert: LossHuge, expr: train_loss > 50}
"""


class Jobs(unittest.TestCase):
    """Each test uses its own job. All jobs run at the same time, on one Slurm cluster and one standalone process."""

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="pitwall-slurm-")
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        os.chmod(cls.work, 0o755)
        for name in ("jobs", "go"):
            os.mkdir(os.path.join(cls.work, name), 0o755)
        shutil.copytree(CLIENT, os.path.join(cls.work, "client"))
        cls.rank = write(os.path.join(cls.work, "rank.py"), RANK)
        settings = write(os.path.join(cls.work, "slurm.env"), "PITWALL_DROP_DIR=%s/jobs\n" % cls.work)
        hooks = []
        for name in ("prolog", "epilog"):
            hook = write(os.path.join(cls.work, name), "#!/bin/sh\nPITWALL_SLURM_ENV=%s exec %s/deploy/slurm/%s\n"
                         % (settings, REPO, name))
            os.chmod(hook, 0o755)
            hooks.append(hook)
        cls.slurm = Cluster(os.path.join(cls.work, "slurm"), *hooks)
        cls.addClassCleanup(cls.slurm.stop)
        write(os.path.join(cls.work, "rules.yaml"), RULES)
        cls.pitwall = cls.executor(BINARY, cls.work)
        cls.stranger = os.path.join(cls.work, "stranger")
        os.mkdir(cls.stranger)
        shutil.chown(cls.stranger, STRANGER, STRANGER)
        # The job's user may not be able to read the build directory.
        cls.weak = cls.executor(shutil.copy(BINARY, os.path.join(cls.work, "pitwall")), cls.stranger, user=STRANGER)
        cls.watch = Watch(BINARY, cls.pitwall.grpc)
        cls.addClassCleanup(cls.watch.stop)
        cls.numbers = {}
        modes = {"finishes": "finishes", "exits": "exits", "crashes": "crashes", "cancelled": "loops", "ignores": "ignores",
                 "raises": "raises", "requeued": "loops", "dies-first": "crashes-one",
                 "stop-weak": "loss=9", "stop-live": "loss=9", "stop-dry": "loss=99", "keep-me": "loss=9", "stop-late": "loss=9"}
        if cls.slurm.memory_limits:
            modes["eats"] = "eats"
        if LONG:
            modes["limit"] = "loops"
        for name, mode in modes.items():
            cls.numbers[name] = cls.start(name, mode)
        for name in modes.keys() - {"stop-weak"}:
            wait_for("a step of %s" % name, lambda: cls.events("io.pitwall.job.changed", name, job_change="attempt_began"))
        if LONG:
            cls.slurm.ask("scontrol", "update", "JobId=" + cls.numbers["limit"], "TimeLimit=1")

    @classmethod
    def executor(cls, binary, own, *flags, user=None):
        """Returns a standalone process with its state in the directory `own`."""
        config = write(os.path.join(own, "pitwall.yaml"), CONFIG % {"work": cls.work, "own": own})
        started = Pitwall(binary, os.path.join(own, "log"), "--config", config, "--data-dir", os.path.join(own, "data"),
                          "--rules", "pack:default", "--rules", os.path.join(cls.work, "rules.yaml"), "--executor", *flags, user=user,
                          variables={"SLURM_CONF": cls.slurm.conf, "PATH": cluster.PATH})
        cls.addClassCleanup(started.stop)
        return started

    @classmethod
    def start(cls, name, mode):
        run = "/usr/bin/python3 %s %s/client" % (cls.rank, cls.work)
        go = os.path.join(cls.work, "go", name)
        environment = "export PITWALL_SOCKET=%s/collector.sock\n" % (cls.stranger if name == "stop-weak" else cls.work)
        options = ["--uid=" + USER] if name != "requeued" else ["--uid=" + USER, "--requeue"]
        if mode == "crashes-one":
            script = "EXITS=1 srun -n2 --overlap %s exits %s" % (run, go)
            options.append("-n2")
        elif mode in ("loops", "ignores", "raises"):
            script = "exec %s %s %s" % (run, mode, go)
        else:
            script = "%s %s %s\nexit $?" % (run, mode, go)
        return cls.slurm.submit(name, environment + script, *options)

    @classmethod
    def events(cls, kind, job, **data):
        return [e for _, e in cls.watch.events(kind, **data) if e["job"]["id"] == "pit-" + cls.numbers[job]]

    def go(self, name):
        write(os.path.join(self.work, "go", name), "")
        self.began = time.monotonic()

    def cancel(self, name):
        self.began = time.monotonic()
        self.slurm.ask("scancel", self.numbers[name])

    def found(self, name):
        return [(i["alert"], i["labels"].get("rank"), i["labels"].get("cause"))
                for i in self.events("io.pitwall.issue.found", name)
                if i["labels"].get("category") == "death"]

    def ended(self, name, patience=PATIENCE):
        """Returns (detail, words) for the end of the job."""
        end = wait_for("the end of %s" % name, lambda: self.events("io.pitwall.job.changed", name, job_change="ended"),
                       patience)[0]
        return end["end_detail"], end.get("summary", "")

    def check_reports(self, name, *issues, ended, patience=PATIENCE):
        if issues:
            wait_for("an issue of %s" % name, lambda: self.found(name), patience)
            print("\n%s: reported after %.1f s: %s" % (name, time.monotonic() - self.began, self.found(name)[0]), flush=True)
        self.assertEqual(self.ended(name, patience), ended)
        self.assertEqual(self.found(name), list(issues))

    def test_finished_job_is_completed(self):
        self.go("finishes")
        self.check_reports("finishes", ended=("completed", "exit code 0"))

    def test_exit_code_3_is_reported(self):
        self.go("exits")
        self.check_reports("exits", ("RankDied", "0", "exit code 3"), ended=("died", "exit code 3"))

    def test_crash_is_reported(self):
        self.go("crashes")
        self.check_reports("crashes", ("RankDied", "0", "signal 11"), ended=("died", "signal 11"))

    def test_scancel_is_a_cancellation(self):
        self.cancel("cancelled")
        self.check_reports("cancelled", ("JobCancelled", None, None), ended=("cancelled", "cancelled"))

    def test_scancel_of_process_that_ignores_it_is_a_cancellation(self):
        self.cancel("ignores")
        self.check_reports("ignores", ("JobCancelled", None, None), ended=("cancelled", "cancelled"))

    def test_scancel_turned_into_exception_is_a_cancellation(self):
        self.cancel("raises")
        self.check_reports("raises", ("JobCancelled", None, None), ended=("cancelled", "cancelled"))

    def test_scancel_after_death_is_reported_as_death(self):
        self.go("dies-first")
        wait_for("the death", lambda: self.found("dies-first"))
        self.assertEqual(self.found("dies-first"), [("RankDied", "1", "exit code 3")])
        time.sleep(6)  # time until a person notices the death and cancels the job
        self.cancel("dies-first")
        self.check_reports("dies-first", ("RankDied", "1", "exit code 3"), ended=("cancelled", "cancelled"))

    def test_out_of_memory_is_reported(self):
        if not self.slurm.memory_limits:
            print("\nNOTE: memory cgroups of version 1 are missing, so jobs have no limits and out of memory is not tested", flush=True)
            self.skipTest("jobs have no memory limits")
        self.go("eats")
        self.check_reports("eats", ("RankDied", "0", "out of memory"), ended=("died", "out of memory"))

    def test_requeue_ends_the_attempt(self):
        self.began = time.monotonic()
        self.slurm.ask("scontrol", "requeue", self.numbers["requeued"])
        end = wait_for("the end of the attempt",
                       lambda: self.events("io.pitwall.job.changed", "requeued", job_change="attempt_ended"))[0]
        self.assertEqual(end["end_detail"], "cancelled")
        wait_for("the issue", lambda: self.found("requeued"))
        self.assertEqual(self.found("requeued"), [("JobCancelled", None, None)])
        self.slurm.ask("scancel", self.numbers["requeued"])

    def actions(self, name, own=None):
        done = subprocess.run([BINARY, "actions", "list", "--data-dir", os.path.join(own or self.work, "data"), "--json"],
                              stdout=subprocess.PIPE, text=True, timeout=60)
        records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return [r["data"] | {"type": r["type"].rpartition(".")[2]} for r in records if r["data"]["job"]["id"] == "pit-" + self.numbers[name]]

    def act(self, name, kind, own=None):
        return wait_for("%s of %s" % (kind, name), lambda: [a for a in self.actions(name, own) if a["type"] == kind])

    def test_stop_by_executor_happens_once(self):
        """Expects a dry run, an exemption, and a budget each to prevent a stop that a live policy would execute."""
        for name in ("stop-dry", "keep-me"):
            self.go(name)
        dry = self.act("stop-dry", "decided")[0]
        self.assertEqual(dry["mode"], "dry_run")
        self.assertIn("is RUNNING as uid:%d" % UID, dry["why"])
        self.assertIn("exempt", self.act("keep-me", "refused")[0]["why"])
        self.go("stop-live")
        done = self.act("stop-live", "done")[0]
        self.assertEqual(done["effect"], "scancel sent; the job is CANCELLED")
        self.assertEqual(self.ended("stop-live")[0], "stopped")
        self.assertEqual(self.slurm.field(self.numbers["stop-live"], "JobState"), "CANCELLED")
        self.go("stop-late")
        self.assertIn("budget", self.act("stop-late", "refused")[0]["why"])
        for name in ("stop-dry", "keep-me", "stop-late"):
            self.assertEqual(self.slurm.field(self.numbers[name], "JobState"), "RUNNING", name)
        self.assertEqual([a["type"] for a in self.actions("stop-live")], ["decided", "done"])
        self.assertEqual(self.found("stop-live"), [("JobCancelled", None, None)])

    def test_unauthorized_stop_is_refused(self):
        """Expects slurmctld to refuse the stop, because the executor runs as a user without permission for the job."""
        self.go("stop-weak")
        why = self.act("stop-weak", "refused", self.stranger)[0]["why"]
        print("\nstop-weak: refused: %s" % why, flush=True)
        self.assertIn("ccess/permission denied", why)
        self.assertIn("run the executor as SlurmUser, root, or a Slurm operator", why)
        self.assertEqual(self.slurm.field(self.numbers["stop-weak"], "JobState"), "RUNNING")
        # The executor does not retry the stop before the job ends, and does not report that end as its own stop.
        read = "pitwall_executor_events_total"
        before = self.weak.metric(read)
        self.slurm.ask("scancel", self.numbers["stop-weak"])
        wait_for("the end of the issue", lambda: self.weak.metric(read) > before)
        self.assertEqual([a["type"] for a in self.actions("stop-weak", self.stranger)], ["decided", "refused"])
        api = lambda path: json.loads(fetch("%s/api/pitwall/v1/%s?job=pit-%s" % (self.weak.http, path, self.numbers["stop-weak"]))[1])
        actions = wait_for("actions of the API", lambda: api("actions")["actions"])
        end = wait_for("the end of the job", lambda: api("job")["end_detail"])
        self.assertEqual(end, "cancelled")
        self.assertEqual([a["type"].rpartition(".")[2] for a in actions], ["decided", "refused"])

    def test_z_time_limit_is_reported(self):
        if not LONG:
            self.skipTest("--long only")
        self.began = time.monotonic()
        self.check_reports("limit", ("JobCancelled", None, None), ended=("cancelled", "time limit"), patience=180)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    LONG = "--long" in sys.argv
    if LONG:
        sys.argv.remove("--long")
    reason = cluster.missing()
    if reason:
        print("NOTE: Slurm is not tested: " + reason)
        sys.exit(77)
    unittest.main(verbosity=2)
