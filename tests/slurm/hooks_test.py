#!/usr/bin/env python3
"""Tests the files that deploy/slurm's prolog and epilog write to the drop folder, with a real Slurm cluster and with Slurm responses that are hard to
provoke.

hooks_test.py
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import cluster
from cluster import Cluster
from harness import REPO, wait_for, write

CANCELLED = "JobId=17 JobName=x JobState=COMPLETING Reason=None Restarts=0 ExitCode=0:15 PreemptTime=None"


def hooks(work, more=""):
    """Returns the prolog and the epilog with their own settings, and the directory that they write to."""
    os.chmod(work, 0o755)
    os.mkdir(os.path.join(work, "jobs"), 0o755)
    settings = write(os.path.join(work, "slurm.env"), "PITWALL_DROP_DIR=%s/jobs\n%s" % (work, more))
    out = []
    for name in ("prolog", "epilog"):
        out.append(write(os.path.join(work, name), "#!/bin/sh\nPITWALL_SLURM_ENV=%s exec %s/deploy/slurm/%s \"$@\"\n"
                         % (settings, REPO, name)))
        os.chmod(out[-1], 0o755)
    return out


def end_of(path):
    """Returns the fields added by the epilog as a dictionary, or {} while the job is running."""
    with open(path) as text:
        lines = dict(line.partition("=")[::2] for line in text.read().splitlines() if not line.startswith("#"))
    return {key: lines[key] for key in ("ended", "cause", "exit_code", "signal", "oom_killed") if key in lines}


class RealSlurm(unittest.TestCase):
    def test_hooks_write_each_kind_of_end_on_real_slurm(self):
        reason = cluster.missing()
        if reason:
            print("NOTE: Slurm is not tested: " + reason, flush=True)
            self.skipTest(reason)
        work = tempfile.mkdtemp(prefix="pitwall-hooks-")
        self.addCleanup(shutil.rmtree, work, ignore_errors=True)
        slurm = Cluster(os.path.join(work, "slurm"), *hooks(work))
        self.addCleanup(slurm.stop)
        go = os.path.join(work, "go")
        wait = "while ! test -e %s; do sleep 0.1; done\n" % go
        expected = {
            "completes": (wait, {"ended": "completed", "exit_code": "0"}),
            "exits": (wait + "exit 3", {"ended": "failed", "exit_code": "3"}),
            "crashes": (wait + "kill -7 $$", {"ended": "failed", "signal": "7"}),
            "cancelled": ("exec sleep 1000", {"ended": "cancelled", "cause": "cancelled", "signal": "15"}),
            "ignores": ("trap '' TERM; while :; do sleep 1; done",
                        {"ended": "cancelled", "cause": "cancelled", "signal": "9"}),
            "requeued": ("exec sleep 1000", {"ended": "requeued", "cause": "requeued"}),
        }
        if slurm.memory_limits:
            expected["eats"] = (wait + "/usr/bin/python3 -c 'b = bytearray(2000 << 20)'",
                                {"ended": "failed", "exit_code": "0", "oom_killed": "true"})
        else:
            print("NOTE: no memory cgroups of version 1: out of memory is not tested", flush=True)
        numbers = {name: slurm.submit(name, script, "--uid=nobody", "--requeue") for name, (script, _) in expected.items()}
        wait_for("the jobs", lambda: all(slurm.field(n, "JobState") == "RUNNING" for n in numbers.values()))
        path = lambda name: os.path.join(work, "jobs", "slurm-" + numbers[name])
        # slurmctld may report a job as running before the job's prolog has finished.
        wait_for("the prologs", lambda: all(os.path.exists(path(name)) for name in numbers))
        with open(path("exits")) as text:
            self.assertEqual(text.read(), "# restarts=0\njob_id=pit-%s\nplatform=slurm\ncluster=pit\nkind=Job\nuid=%s\n"
                             "queue=gpu\nowner=uid:65534\n" % (numbers["exits"], numbers["exits"]))
        write(go, "")
        slurm.ask("scancel", numbers["cancelled"], numbers["ignores"])
        slurm.ask("scontrol", "requeue", numbers["requeued"])
        for name, (_, end) in expected.items():
            with self.subTest(job=name):
                actual = wait_for("the end of " + name, lambda: end_of(path(name)))
                if name in ("cancelled", "ignores"):
                    # If slurmctld ended a job, it records the exit status of the job's first process, its last process, or none.
                    self.assertIn(actual.pop("signal", None), (None, "9", "15"))
                    end.pop("signal")
                self.assertEqual(actual, end)


class ScontrolResponses(unittest.TestCase):
    """Tests the epilog alone, with a scontrol that returns configured responses."""

    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="pitwall-hooks-")
        self.addCleanup(shutil.rmtree, self.work)
        self.path = os.path.join(self.work, "jobs", "slurm-17")

    def run_hook(self, name, arguments=(), **variables):
        done = subprocess.run([os.path.join(self.work, name), *arguments], env=dict(
            {"SLURM_JOB_ID": "17", "SLURM_JOB_UID": "1000", "SLURM_CLUSTER_NAME": "c", "SLURMD_NODENAME": "n1",
             "SLURM_JOB_NODELIST": "n1"}, **variables), timeout=60)
        self.assertEqual(done.returncode, 0, "a failing hook drains the node")

    def ends(self, answer, later=None, **variables):
        """Returns the file written for this scontrol response, or None if the file does not exist. If `later` is set, scontrol returns it from the
        third call on."""
        shutil.rmtree(os.path.join(self.work, "jobs"), ignore_errors=True)
        hooks(self.work, "PITWALL_SLURM_SECONDS=%d\n" % (1 if later is None else 60))
        asked = write(os.path.join(self.work, "asked"), "")
        programs = os.path.join(self.work, "bin")
        os.makedirs(programs, exist_ok=True)
        fake = write(os.path.join(programs, "scontrol"), "#!/bin/sh\n[ \"$2\" = hostnames ] && { printf 'n1\\nn2\\n'; exit; }\n"
                     "echo >> %s\n[ $(wc -l < %s) -lt 3 ] || { cat <<'END'\n%s\nEND\nexit; }\n"
                     "cat <<'END'\n%s\nEND\n" % (asked, asked, answer if later is None else later, answer))
        os.chmod(fake, 0o755)
        with open(os.path.join(self.work, "slurm.env"), "a") as out:
            out.write("PATH=%s:$PATH\n" % programs)
        self.run_hook("prolog")
        self.assertTrue(os.path.exists(self.path))
        self.run_hook("epilog", **variables)
        wait_for("the output of the epilog", lambda: not os.path.exists(self.path) or end_of(self.path))
        return end_of(self.path) if os.path.exists(self.path) else None

    def test_end_is_derived_from_slurmctld_response(self):
        completing = "JobId=17 JobState=COMPLETING Reason=%s Restarts=%s ExitCode=%s"
        cancelled = {"ended": "cancelled", "cause": "cancelled", "signal": "15"}
        for answer, code, end in (
                (completing % ("TimeLimit", 0, "0:0"), "0:0", {"ended": "cancelled", "cause": "time limit"}),
                (completing % ("NodeDown", 0, "0:0"), "0:0", {"ended": "died", "cause": "node failure"}),
                (completing % ("None", 0, "0:15") + " PreemptTime=2026-01-01T00:00:00", "0:0",
                 {"ended": "cancelled", "cause": "preempted"}),
                ("JobId=17 JobState=CANCELLED Reason=None Restarts=0 ExitCode=0:15", "0:0",
                 {"ended": "cancelled", "cause": "cancelled", "signal": "15"}),
                ("JobId=17 JobState=CANCELLED Reason=None Restarts=0 ExitCode=0:0", "0:0",
                 {"ended": "cancelled", "cause": "cancelled"}),
                ("JobId=17 JobState=FAILED Reason=None Restarts=0 ExitCode=2:0", "0:0", {"ended": "failed", "exit_code": "2"}),
                (completing % ("None", 1, "0:0"), "0:0", {"ended": "requeued", "cause": "requeued"}),
                (CANCELLED, "0:0", cancelled),
                # The epilog must ignore a name that imitates a field.
                ("JobId=17 JobName=x Reason=TimeLimit " + completing[9:] % ("NonZeroExitCode", 0, "3:0"), "3:0",
                 {"ended": "failed", "exit_code": "3"}),
                ("JobId=17 JobName=x JobState=CANCELLED " + completing[9:] % ("NonZeroExitCode", 0, "3:0"), "3:0",
                 {"ended": "failed", "exit_code": "3"}),
                (CANCELLED + "\nJobState=FAILED Reason=TimeLimit", "0:0", cancelled)):
            with self.subTest(answer=answer):
                self.assertEqual(self.ends(answer, SLURM_JOB_EXIT_CODE2=code), end)

    def test_final_state_determines_job_end(self):
        state = "JobId=17 JobState=%s Reason=None Restarts=0 ExitCode=%s"
        completing = state % ("COMPLETING", "0:0")
        for later, end in (
                (state % ("CANCELLED", "0:9"), {"ended": "cancelled", "cause": "cancelled", "signal": "9"}),
                (state % ("CANCELLED", "0:0"), {"ended": "cancelled", "cause": "cancelled"}),
                (state % ("COMPLETED", "0:0"), {"ended": "completed", "exit_code": "0"}),
                (state % ("TIMEOUT", "0:0"), {"ended": "cancelled", "cause": "time limit"})):
            with self.subTest(later=later):
                self.assertEqual(self.ends(completing, later, SLURM_JOB_EXIT_CODE2="0:0"), end)

    def test_requeued_job_is_not_ended(self):
        """The second run has the same job number, and the report about the first run arrives late."""
        completing = "JobId=17 JobState=COMPLETING Reason=None Restarts=0 ExitCode=0:0"
        self.ends(completing, completing.replace("COMPLETING", "COMPLETED"), SLURM_JOB_EXIT_CODE2="0:0")
        again = "# restarts=1\njob_id=c-17\n"
        write(self.path, again)
        self.run_hook("epilog", arguments=("--await", "0"), SLURM_JOB_EXIT_CODE2="0:0")
        with open(self.path) as text:
            self.assertEqual(text.read(), again)

    def test_exit_code_determines_job_end_without_scontrol_response(self):
        self.assertEqual(self.ends("", SLURM_JOB_EXIT_CODE2="3:0"), {"ended": "failed", "exit_code": "3"})
        self.assertEqual(self.ends("", SLURM_JOB_EXIT_CODE2="0:125"), {"ended": "failed", "exit_code": "0", "oom_killed": "true"})
        self.assertIsNone(self.ends("", SLURM_JOB_EXIT_CODE2="0:0"), "it may have been canceled: its end is unknown")
        self.assertIsNone(self.ends(""), "a Slurm that gives no exit code")

    def test_only_first_node_writes_the_end(self):
        self.assertIsNone(self.ends(CANCELLED, SLURM_JOB_EXIT_CODE2="0:0", SLURMD_NODENAME="n2"))

    def test_hooks_without_collector_do_nothing(self):
        hooks(self.work)
        shutil.rmtree(os.path.join(self.work, "jobs"))
        self.run_hook("prolog")
        self.run_hook("epilog")
        self.assertFalse(os.path.exists(os.path.join(self.work, "jobs")))

    def test_files_of_ended_jobs_are_removed(self):
        self.ends(CANCELLED, SLURM_JOB_EXIT_CODE2="0:0")
        os.utime(self.path, (1, 1))
        runs = write(os.path.join(self.work, "jobs", "slurm-16"), "job_id=c-16\n")
        os.utime(runs, (1, 1))
        self.run_hook("prolog", SLURM_JOB_ID="18")
        self.assertEqual(sorted(os.listdir(os.path.join(self.work, "jobs"))), ["slurm-16", "slurm-18"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
