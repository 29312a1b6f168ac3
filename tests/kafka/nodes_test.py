#!/usr/bin/env python3
"""Tests one job on two nodes with a real broker. Each node has its own collector, and the ranks wait for each other at each step. The test first
loses a whole node, then only a collector. Runs under tests/kafka/run.sh.
usage: nodes_test.py PITWALL [unittest arguments]"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import harness  # noqa: E402

LOST_WITHIN = 10   # maximum seconds until a lost node is reported
SLACK = 4          # allowance for the test machine
# Each of two FIFOs carries the steps of one rank. A step ends when the peer's step has ended.
RANK = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import pitwall
mine, other = (os.open(path, os.O_RDWR) for path in sys.argv[2:4])
pitwall.init(job=os.environ["PITWALL_JOB_ID"])
for _ in pitwall.steps(range(100000)):
    time.sleep(0.1)
    os.write(mine, b".")
    os.read(other, 1)
"""


class Nodes(unittest.TestCase):
    binary = None

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="pitwall-nodes-")
        cls.addClassCleanup(shutil.rmtree, cls.work)
        hosts = os.environ["PITWALL_TEST_KAFKA"]
        cls.log = ("--kafka", hosts)
        cls.processor = cls.service("processor", "--rules", "pack:default")
        cls.lines = os.path.join(cls.work, "watch")
        with open(cls.lines, "w") as out:
            watch = subprocess.Popen([cls.binary, "issues", "watch", "--json", "--from-start", "--target",
                                      cls.service("notifier").grpc], stdout=out)
        cls.addClassCleanup(watch.wait)
        cls.addClassCleanup(watch.kill)

    @classmethod
    def service(cls, name, *flags, node=""):
        data = os.path.join(cls.work, name + node)
        started = harness.Pitwall(cls.binary, data + ".log", "--data-dir", data, *cls.log, *flags, service=name)
        cls.addClassCleanup(started.kill)
        return started

    def collector(self, node):
        return self.service("collector", "--node", node, node=node)

    def train(self):
        """Starts a job with a rank on each node. Returns the collectors and processes once both ranks have finished steps."""
        self.job = self.id().rpartition(".")[2]
        fifos = [os.path.join(self.work, "%s-%d" % (self.job, rank)) for rank in (0, 1)]
        for fifo in fifos:
            os.mkfifo(fifo)
        collectors, ranks = [], []
        for rank, node in enumerate(("left", "right")):
            name = self.job.replace("test_", "") + "-" + node
            collectors.append(self.collector(name))
            ranks.append(subprocess.Popen(
                [sys.executable, "-c", RANK, harness.CLIENT, fifos[rank], fifos[1 - rank]],
                env=dict(os.environ, RANK=str(rank), WORLD_SIZE="2", PITWALL_JOB_ID=self.job,
                         PITWALL_SOCKET=os.path.join(self.work, "collector" + name, "collector.sock"))))
            self.addCleanup(ranks[-1].wait)
            self.addCleanup(ranks[-1].kill)
        harness.wait_for("the attempt", lambda: self.events("job.changed", job_change="attempt_began"))
        time.sleep(12)  # the ranks' own steps as a baseline
        return collectors, ranks

    def events(self, kind, **data):
        with open(self.lines) as lines:
            events = [json.loads(line) for line in lines.read().splitlines() if line.endswith("}")]
        return [e["data"] for e in events if e["type"] == "io.pitwall." + kind and e["data"]["job"]["id"].endswith(self.job) and
                data.items() <= e["data"].items()]

    def found(self):
        """Excludes issues caused by a busy test machine, because they are not faults of the job."""
        return [(e["alert"], e["labels"].get("node")) for e in self.events("issue.found")
                if e["labels"]["category"] not in ("bottleneck", "slow")]

    def check_capture(self):
        """Captures both ranks through pitwall.control and pitwall.captures, as a person with access to the broker would."""
        asked = subprocess.run([self.binary, "capture", self.job, "--brokers", os.environ["PITWALL_TEST_KAFKA"], "--timeout", "20s", "--json"],
                               capture_output=True, text=True, timeout=60)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        answers = [json.loads(line)["data"] for line in asked.stdout.splitlines()]
        self.assertEqual(sorted(answer["rank"] for answer in answers), [0, 1], asked.stdout + asked.stderr)

    def silence(self, at, *arguments):
        done = subprocess.run([self.binary, "silence", *arguments, "--url", at.http, "--token-file", self.token], capture_output=True, text=True,
                              timeout=harness.PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()] if "--json" in arguments else done.stdout

    def test_silences_are_shared_through_the_log(self):
        """Tests pitwall.silences: a silence set on one notifier also applies to another notifier and survives a kill."""
        self.token = harness.write(os.path.join(self.work, "token"), "act-token-of-a-test")
        config = harness.write(os.path.join(self.work, "notifier.yaml"), "http: {act_token_file: %s}\n" % self.token)
        first, second = (self.service("notifier", "--config", config, node=node) for node in ("-1", "-2"))
        added, = self.silence(first, "add", 'severity="info"', "--duration", "1h", "--author", "ada", "--comment", "a test", "--json")
        listed = lambda at: [one["id"] for one in self.silence(at, "list", "--json")]
        harness.wait_for("the silence at the other", lambda: listed(second) == [added["id"]])
        first.kill()
        first = self.service("notifier", "--config", config, node="-3")
        self.assertEqual(listed(first), [added["id"]])
        self.silence(second, "expire", added["id"])
        harness.wait_for("its end at the one", lambda: listed(first) == [])

    def test_telemetry_and_node_losses_are_both_reported(self):
        (_, right), (_, peer) = self.train()
        self.assertEqual(self.found(), [])
        self.check_capture()
        node = self.job.replace("test_", "") + "-right"
        right.kill()
        harness.wait_for("the silence", self.found, 30)
        self.assertEqual(self.found(), [("NodeSilent", node)])
        right = self.collector(node)
        harness.wait_for("its end", lambda: self.events("issue.resolved", alert="NodeSilent"), 30)
        time.sleep(3)  # by then, the spooled data has arrived
        right.kill()
        peer.kill()
        lost = time.monotonic()
        harness.wait_for("the loss", lambda: len(self.found()) > 1, LOST_WITHIN + SLACK)
        print("\nreported after %.1f s: %s" % (time.monotonic() - lost, self.events("issue.found")[1]["summary"]), flush=True)
        self.assertEqual(self.found(), [("NodeSilent", node), ("NodeLost", node)])


if __name__ == "__main__":
    Nodes.binary = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
