#!/usr/bin/env python3
"""Runs real training jobs with PyTorch under `pitwall standalone` with the shipped packs. Each fault must be reported by its rule, without any other
issue.

trainings_test.py PITWALL PYTHON [TEST…]    PYTHON: an interpreter with torch
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import PATIENCE, Pitwall, wait_for, write

HERE = os.path.dirname(os.path.abspath(__file__))
BINARY = PYTHON = None
# The faults in toy.py, and the rule that must detect each of them.
FAULTS = {"vanishing": "VanishingGradient", "exploding": "ExplodingTensor", "overfit": "Overfit",
          "overtraining": "Overtraining", "flat": "LossNotDecreasing"}
TRAINING_PACKS = ("debugger-tensor", "training", "training-numerics", "hangs")


class Watched(unittest.TestCase):
    """A test case with a standalone process, its packs, and the training processes."""

    def start(self, packs, overrides="jobs: []\n"):
        self.work = tempfile.mkdtemp(prefix="pitwall-trainings-")
        self.addCleanup(shutil.rmtree, self.work)
        self.socket = os.path.join(self.work, "c.sock")
        self.pitwall = Pitwall(BINARY, os.path.join(self.work, "log"), "--data-dir", os.path.join(self.work, "data"),
                               "--rules", *["pack:" + pack for pack in packs],
                               "--overrides", write(os.path.join(self.work, "overrides.yaml"), overrides),
                               "--socket", self.socket, "--node", "gn07", "--interval", "500ms")
        self.addCleanup(self.pitwall.kill)
        self.addCleanup(self.show, "output:")
        self.processes = []
        self.addCleanup(self.end_processes)

    def end_processes(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()

    def run_script(self, script, *arguments, **environment):
        log = open(os.path.join(self.work, "training-%d.log" % len(self.processes)), "w+")
        self.addCleanup(log.close)
        process = subprocess.Popen([PYTHON, os.path.join(HERE, script)] + list(arguments), stdout=log, stderr=log,
                                   env=dict(os.environ, PITWALL_SOCKET=self.socket, **environment))
        process.log = log
        self.processes.append(process)
        return process

    def said(self, process):
        process.log.seek(0)
        return process.log.read()

    def show(self, title):
        print("\n%s" % title)
        for i in sorted(self.issues(), key=lambda i: i["started_at"]):
            print("  step %s %s %s: %s; incident %s%s" % (
                i.get("step", "-"), i["alert"], i["labels"].get("rank", ""), i["summary"], i["incident"][:8],
                " because of " + i["root_cause"][:8] if i.get("root_cause") else ""), flush=True)

    def issues(self, job=None):
        """Returns the last event of each issue, including ended ones."""
        done = subprocess.run([BINARY, "issues", "list", "--all", "--json", "--target", self.pitwall.grpc],
                              capture_output=True, text=True, check=True)
        events = [json.loads(line)["data"] for line in done.stdout.splitlines()]
        return [e for e in events if job is None or e["job"].get("name") == job]


def rules_of(issues, packs):
    return {i["alert"] for i in issues if i["rule"].split("/")[0] in packs}


class CpuBusy(threading.Thread):
    """Measures the load of all cores every second."""

    def __init__(self):
        super().__init__(daemon=True)
        self._over = threading.Event()
        self.shares = []

    @staticmethod
    def _read():
        with open("/proc/stat") as stat:
            times = [int(word) for word in stat.readline().split()[1:9]]
        return sum(times), times[3] + times[4]

    def run(self):
        total, idle = self._read()
        while not self._over.wait(1):
            now, now_idle = self._read()
            if now > total:
                self.shares.append(1 - (now_idle - idle) / (now - total))
            total, idle = now, now_idle

    def most_in_ten_seconds(self):
        self._over.set()
        self.join()
        return max((sum(self.shares[i:i + 10]) / 10 for i in range(max(1, len(self.shares) - 9))), default=0)


class Toys(Watched):
    PACKS = TRAINING_PACKS + ("fleet", "debugger-profiler", "starter")

    def finish(self, toys):
        for toy in toys:
            self.assertEqual(toy.wait(4 * PATIENCE), 0, self.said(toy))
        # A job ends a few seconds after its last Goodbye. Its rules are evaluated until it ends.
        time.sleep(8)

    def print_issues(self, fault):
        issues = self.issues(fault)
        lines = sorted((i["alert"], i.get("step"), i["labels"].get("tensor", ""), i["summary"]) for i in issues)
        print("\n%s:\n  %s" % (fault, "\n  ".join(map(str, lines)) or "nothing"), flush=True)
        return issues

    def test_1_healthy_run_raises_only_true_machine_issues(self):
        self.start(self.PACKS)
        busy = CpuBusy()
        busy.start()
        self.finish([self.run_script("toy.py", "none", "--step-seconds", "0.02")])
        issues = self.print_issues("none")
        self.assertEqual(rules_of(issues, TRAINING_PACKS), set())
        most = busy.most_in_ten_seconds()
        print("maximum CPU load over ten seconds: %.0f%%" % (100 * most), flush=True)
        for issue in issues:
            if issue["alert"] == "CPUSaturated":
                self.assertGreater(most, 0.85, issue["summary"])

    def test_2_each_fault_is_detected_by_its_rule(self):
        self.start(self.PACKS)
        steps = {"overtraining": "6000"}
        self.finish([self.run_script("toy.py", fault, "--steps", steps.get(fault, "2200")) for fault in FAULTS])
        for fault, rule in FAULTS.items():
            with self.subTest(fault=fault):
                self.assertEqual(rules_of(self.print_issues(fault), TRAINING_PACKS) & set(FAULTS.values()), {rule})


class Ranks(Watched):
    """Tests with four ranks over gloo. A step takes about 80 ms."""
    OVERRIDES = "jobs: []\n"

    def setUp(self):
        self.start(TRAINING_PACKS, self.OVERRIDES)
        self.control = os.path.join(self.work, "control.json")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        self.ranks = [self.run_script("ranks.py", self.control, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="4",
                                      MASTER_ADDR="127.0.0.1", MASTER_PORT=port, PITWALL_JOB="ranks",
                                      PITWALL_JOB_ID=self.id().rpartition(".")[2])
                      for rank in range(4)]
        for rank in self.ranks:
            wait_for("the ranks", lambda: "ready" in self.said(rank) or rank.poll() is not None)

    def switch(self, **what):
        write(self.control + ".new", json.dumps(what))
        os.replace(self.control + ".new", self.control)

    def found(self, alert, **labels):
        return [i for i in self.issues() if i["alert"] == alert and labels.items() <= i["labels"].items()]

    def step(self):
        """Returns the last step that rank 0 has printed."""
        return max([int(line.split()[1]) for line in self.said(self.ranks[0]).splitlines() if line.startswith("step ")] or [0])

    def wait_for_step(self, step):
        wait_for("step %d" % step, lambda: self.step() >= step)

class Slow(Ranks):
    def test_slow_rank_is_root_cause(self):
        self.wait_for_step(200)
        self.assertEqual(self.issues(), [])
        began = self.step()
        self.switch(slow={"2": 0.3})
        straggler = wait_for("StragglerRank", lambda: self.found("StragglerRank"))[0]
        wait_for("ThroughputRegress", lambda: self.found("ThroughputRegress"))
        wait_for("StepOutlier", lambda: self.found("StepOutlier"))
        self.assertEqual({i["labels"]["rank"] for i in self.found("StragglerRank")}, {"2"})
        # The ranks read the control file at their next step, and the last output of rank 0 may be one step old.
        self.assertLessEqual(straggler["step"], began + 12)
        for symptom in self.found("ThroughputRegress") + self.found("StepOutlier"):
            self.assertEqual(symptom["incident"], straggler["incident"])
        # An issue reported before its cause is linked to the cause a minute later; an issue reported after its cause is linked immediately.
        for symptom in self.found("ThroughputRegress"):
            self.assertTrue(symptom["root_cause"])

    def test_equally_slow_ranks_are_not_stragglers(self):
        self.wait_for_step(200)
        self.switch(slow={"all": 0.3})
        wait_for("SelfSlowdown", lambda: self.found("SelfSlowdown"))
        self.wait_for_step(self.step() + 60)
        self.assertEqual(self.found("StragglerRank"), [])


def key(issue):
    return issue["alert"], issue["labels"].get("rank"), issue["started_at"]


class SlowDdpRank(Watched):
    """Tests with DistributedDataParallel over gloo, watched by pitwall.watch(). own = step - wait identifies the slow rank, regardless of where it
    loses its time."""
    # A rank loses a third of a 100 ms step.
    LOST = 0.035

    def run_ranks(self, world):
        self.start(TRAINING_PACKS)
        self.control = os.path.join(self.work, "control.json")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        self.ranks = [self.run_script("ddp.py", self.control, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world),
                                      MASTER_ADDR="127.0.0.1", MASTER_PORT=port, PITWALL_JOB="ranks",
                                      PITWALL_JOB_ID=self.id().rpartition(".")[2])
                      for rank in range(world)]

    def step(self):
        return max([int(line.split()[1]) for line in self.said(self.ranks[0]).splitlines() if line.startswith("step ")] or [0])

    def stragglers(self):
        return [i for i in self.issues() if i["alert"] in ("StragglerRank", "StragglerByWait")]

    def lose(self, rank, where):
        write(self.control + ".new", json.dumps({"rank": rank, "where": where, "seconds": self.LOST}))
        os.replace(self.control + ".new", self.control)
        return time.monotonic(), self.step()

    def each_place(self, world):
        self.run_ranks(world)
        wait_for("step 120", lambda: self.step() >= 120)
        self.assertEqual(self.stragglers(), [])
        seen = set()
        for turn, where in enumerate(("gap", "dataloader", "forward", "backward", "optimizer")):
            rank = turn % world
            began, step = self.lose(rank, where)
            issue = wait_for("a straggler that loses time in " + where,
                             lambda: [i for i in self.stragglers() if key(i) not in seen and i["alert"] == "StragglerRank"])[0]
            print("\n%d ranks, %s: after %.1f s and %d steps: %s. %s" % (
                world, where, time.monotonic() - began, issue["step"] - step, issue["summary"], issue["description"]), flush=True)
            self.assertEqual(issue["labels"]["rank"], str(rank))
            self.lose(-1, "gap")
            wait_for("the straggler issue to end", lambda: all(i.get("ended_at") for i in self.stragglers()))
            self.assertEqual({i["labels"]["rank"] for i in self.stragglers() if key(i) not in seen}, {str(rank)})
            seen |= set(map(key, self.stragglers()))

    def test_slow_rank_of_two_is_reported(self):
        self.each_place(2)

    def test_slow_rank_of_three_is_reported(self):
        self.each_place(3)


class Hang(Ranks):
    OVERRIDES = """
jobs:
- match: {job: "*"}
  rules:
    hangs/hangs/CollectiveHang: {base_seconds: 5}
    hangs/hangs/CollectiveHang#2: {base_seconds: 5}
"""

    def test_killed_rank_is_reported(self):
        self.wait_for_step(60)
        self.ranks[3].kill()
        dead = wait_for("DeadRank", lambda: self.found("DeadRank"))
        self.assertEqual([i["labels"]["rank"] for i in dead], ["3"])

    def test_rank_missing_from_collective_is_reported(self):
        self.wait_for_step(60)
        self.switch(absent=1)
        hang = wait_for("CollectiveHang", lambda: self.found("CollectiveHang"))
        self.assertEqual([i["labels"].get("rank") for i in hang], ["1"])

    def test_rank_in_wrong_collective_is_reported(self):
        self.wait_for_step(60)
        self.switch(stuck=2)
        hang = wait_for("CollectiveHang", lambda: self.found("CollectiveHang"))
        self.assertEqual([i["labels"].get("rank") for i in hang], ["2"])


if __name__ == "__main__":
    BINARY, PYTHON = os.path.abspath(sys.argv.pop(1)), sys.argv.pop(1)
    unittest.main(verbosity=2)
