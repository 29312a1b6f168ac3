#!/usr/bin/env python3
"""A client logs steps without promises, so its rows wait forever. Data beyond its job's memory share must be rejected and reported, and another job
must be evaluated as before. usage: memory_test.py PITWALL DUMP_TOPIC"""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

sys.path.insert(0, harness.CLIENT)
from pitwall import _wire  # noqa: E402
from pitwall._identity import identify  # noqa: E402

CONFIG = """
processor:
  job_memory: 16777216
  partitions: 1
memory:
  budget: 268435456
"""
RULES = harness.step_rules("""
  - alert: HighLoss
    expr: max_over_time(train_loss[5]) > 5
""", group="g")
ROWS = 500
BATCHES = 600  # 300,000 rows need about 30 MB without the limit of 4 MiB


class Memory(unittest.TestCase):
    binary = dump = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.data = os.path.join(self.folder.name, "data")
        self.socket = os.path.join(self.data, "collector.sock")
        self.training = None
        path = lambda name, text: harness.write(os.path.join(self.folder.name, name), text)
        self.service = harness.Pitwall(
            self.binary, os.path.join(self.folder.name, "log"), "--config", path("config.yaml", CONFIG), "--data-dir", self.data,
            "--rules", path("rules.yaml", RULES))

    def tearDown(self):
        self.service.kill()
        if self.training and self.training.poll() is None:
            self.training.kill()
            self.training.wait()
        self.folder.cleanup()

    def resident(self):
        with open("/proc/%d/statm" % self.service.process.pid) as text:
            return int(text.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def events(self):
        done = subprocess.run([self.dump, self.data, "pitwall.issues"], stdout=subprocess.PIPE, check=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    @staticmethod
    def drain(connection):
        try:
            while connection.recv(65536):
                pass
        except OSError:
            pass  # the test has closed the connection

    def flood(self):
        """Acts like a broken or hostile client. Each value has a new step, and no step is ever promised."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(self.socket)
        connection.settimeout(30)
        identity = identify({}, job="hostile", job_id="hostile", rank=0, world_size=1)
        begin = time.time_ns()
        connection.sendall(_wire.frame(_wire.hello(identity, os.urandom(16).hex(), begin, os.getpid())))
        # The collector closes the connection of a client that does not read its responses, so a thread reads them.
        threading.Thread(target=self.drain, args=(connection,), daemon=True).start()
        step = 0
        for batch in range(1, BATCHES + 1):
            now, items = time.time_ns(), []
            for row in range(ROWS):
                step += 1
                items.append(_wire.value("train_loss", _wire.labels(2, ()), 9.0, now - (ROWS - row) * 1000, step + 1, "train"))
            connection.sendall(_wire.frame(_wire.update(batch, items, now, [], 0, "", 0, 0, "")))
            time.sleep(0.005)
        return connection

    def test_steps_without_promises_affect_only_their_job(self):
        self.training = harness.train(self.socket, 100000, 100000)
        found = r'^pitwall_issues_open\{[^}]*HighLoss[^}]*\} [1-9]'
        harness.wait_for("an issue of the healthy job", lambda: re.search(
            found, harness.fetch(self.service.http + "/metrics")[1], re.M))
        before = self.resident()
        connection = self.flood()
        limited = r'^pitwall_processor_dropped_total\{[^}]*reason="limit"[^}]*\} [1-9]'
        harness.wait_for("dropped rows to be counted", lambda: re.search(
            limited, harness.fetch(self.service.http + "/metrics")[1], re.M))
        evaluated = self.service.metric("pitwall_processor_rule_evaluations_total")
        harness.wait_for("evaluations to continue", lambda: self.service.metric(
            "pitwall_processor_rule_evaluations_total") > evaluated + 20)
        self.assertEqual(harness.fetch(self.service.http + "/healthz")[1], "ok\n")
        self.assertEqual(self.service.metric("pitwall_memory_budget_bytes"), 268435456)
        grown = self.resident() - before
        # The status of step rules is updated every 5 s of job time, even without steps. After the job becomes silent, clock ticks advance job time.
        harness.wait_for("the error to be reported", lambda: any(
            e["type"] == "io.pitwall.rule.status" and e["data"]["status"] == "Error" for e in self.events()))
        connection.close()
        self.assertEqual(self.service.stop(), 0)
        events = self.events()
        errors = [e["data"] for e in events if e["type"] == "io.pitwall.rule.status" and e["data"]["status"] == "Error"]
        print("resident memory grew by %d MiB" % (grown >> 20))
        self.assertEqual({e["job"]["id"] for e in errors}, {"hostile"}, errors)
        # The speed of the machine determines which share is exhausted first: rows of steps, or rows above the job's watermark.
        self.assertRegex(json.dumps(errors), r"more than [0-9.]+ MiB|steps without promises")
        issues = [e["data"]["job"]["id"] for e in events if e["type"] == "io.pitwall.issue.found"]
        self.assertTrue(issues and "hostile" not in issues, issues)


if __name__ == "__main__":
    Memory.binary, Memory.dump = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
