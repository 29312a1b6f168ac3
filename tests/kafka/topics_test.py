#!/usr/bin/env python3
"""Tests the binary with a real broker that loses topics: a partition without a leader (one of two log directories goes offline), and topics deleted
and recreated under running services. Starts its own brokers.
usage: topics_test.py PITWALL TELEMETRY_DUMP [unittest arguments]"""
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "upgrade"))
import kept  # noqa: E402
from kept import harness  # noqa: E402

BROKER = os.path.join(harness.REPO, "deploy", "kafka", "broker.sh")
PARTITIONS = 2

# The script logs 0, 1, 2, … and a loss beyond the limit until it is stopped.
TRAINING = """
import signal, sys, time
sys.path.insert(0, sys.argv[1])
import pitwall
ending = []
signal.signal(signal.SIGTERM, lambda *_: ending.append(1))
pitwall.init(job=sys.argv[2], rank=0)
number = 0
while not ending:
    for step in pitwall.steps(range(1)):
        pitwall.log(number=float(number), loss=9.0)
    number += 1
    time.sleep(0.1)
pitwall.finish()
print(number)
"""


def murmur2(data):
    """Kafka's hash function, used to determine a job's partition."""
    m, mask = 0x5bd1e995, 0xffffffff
    h = 0x9747b28c ^ len(data)
    at = 0
    while at + 4 <= len(data):
        k = int.from_bytes(data[at:at + 4], "little") * m & mask
        h = h * m & mask ^ (k ^ k >> 24) * m & mask
        at += 4
    if at < len(data):
        h = (h ^ int.from_bytes(data[at:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


def partition_of(job):
    return (murmur2(job.encode()) & 0x7fffffff) % PARTITIONS


def job_of(partition, hint):
    return next(name for name in ("%s-%d" % (hint, n) for n in range(100)) if partition_of(name) == partition)


def text(value):
    return struct.pack(">h", len(value)) + value.encode()


def ask(hosts, api, version, body):
    """Sends one Kafka protocol request and returns the response body."""
    host, port = hosts.split(":")
    request = struct.pack(">hhi", api, version, 1) + text("topics_test") + body
    with socket.create_connection((host, int(port)), 30) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        answer = connection.makefile("rb")
        return answer.read(struct.unpack(">i", answer.read(4))[0])[4:]


def recreate(hosts, topic):
    """Deletes the topic and recreates it as the processor does."""
    answer = ask(hosts, 20, 1, struct.pack(">i", 1) + text(topic) + struct.pack(">i", 20000))
    assert answer[-2:] == b"\0\0", answer

    def make():
        body = struct.pack(">i", 1) + text(topic) + struct.pack(">ihi", PARTITIONS, 1, 0)
        body += struct.pack(">i", 1) + text("message.timestamp.type") + text("LogAppendTime")
        answer = ask(hosts, 19, 1, body + struct.pack(">ib", 20000, 0))
        at = 4 + 2 + len(topic)  # count, name
        return answer[at:at + 2] == b"\0\0"
    harness.wait_for("the topic again", make)


class Topics(unittest.TestCase):
    binary = dump = None

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.kafka = os.path.join(self.folder, "kafka")
        os.mkdir(self.kafka)
        self.services, self.trainings = [], []
        self.receiver = kept.Receiver()

    def tearDown(self):
        for training in self.trainings:
            training.kill()
            training.wait()
        for service in self.services:
            service.kill()
        self.broker("stop")
        self.receiver.close()
        shutil.rmtree(self.folder)

    def broker(self, verb, **environment):
        line = subprocess.run([BROKER, verb, self.kafka], env=dict(os.environ, **environment), check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        self.hosts = line.strip().partition("=")[2] or getattr(self, "hosts", "")

    def start(self):
        config = harness.write(os.path.join(self.folder, "config.yaml"), kept.CONFIG.format(
            data=os.path.join(self.folder, "data"), rules=kept.RULES, port=self.receiver.port))
        self.services.append(harness.Pitwall(self.binary, os.path.join(self.folder, "service.log"), "--config", config,
                                             "--kafka", self.hosts, "--executor"))
        return self.services[-1]

    def train(self, job):
        environment = dict(os.environ, PITWALL_SOCKET=os.path.join(self.folder, "data", "collector.sock"),
                           PITWALL_JOB_ID=job)
        self.trainings.append(subprocess.Popen([sys.executable, "-c", TRAINING, harness.CLIENT, job], env=environment,
                                               stdout=subprocess.PIPE, text=True))
        return self.trainings[-1]

    def end(self, training):
        training.terminate()
        return int(training.communicate(timeout=harness.PATIENCE)[0])

    def numbers(self, whole=True):
        """Returns the numbers in the log, keyed by job. Without `whole`, stops at the unreadable partition."""
        done = subprocess.run([self.dump, "kafka:" + self.hosts, "train_number"], stdout=subprocess.PIPE, text=True)
        if whole:
            done.check_returncode()
        found = {}
        for line in done.stdout.splitlines():
            batch = json.loads(line)
            if batch["kind"] == "batch":
                found.setdefault(batch["job"], []).extend(batch["values"])
        return found

    def issue_events(self, job):
        return [event for event in list(self.receiver.events) if event["data"]["job"]["id"].endswith(job)]

    def health(self, service):
        try:
            return harness.fetch(service.http + "/healthz")[1]
        except urllib.error.HTTPError as refused:
            return refused.read().decode()

    def test_running_services_use_recreated_topic(self):
        self.broker("start")
        service = self.start()
        first = job_of(0, "first")
        self.train(first)
        harness.wait_for("an issue of the first job", lambda: self.issue_events(first))
        decided = harness.wait_for("its decision", lambda: service.metric("pitwall_executor_actions_total"))
        recreate(self.hosts, "pitwall.issues")
        for name in ("notifier", "webhook", "executor"):
            harness.wait_for("%s to notice" % name, lambda: service.metric("pitwall_%s_log_resets_total" % name) > 0)
        self.assertIn("log_truncated", self.health(service))
        again = job_of(0, "again")
        self.train(again)
        harness.wait_for("an issue of the next job", lambda: self.issue_events(again))
        harness.wait_for("its decision", lambda: service.metric("pitwall_executor_actions_total") > decided)
        ids = [i for i, event in zip(self.receiver.ids, self.receiver.events) if event["type"].endswith("found")]
        self.assertEqual(len(ids), len(set(ids)), "sent again")
        # Unlike these readers, the processor stops if its input is recreated (docs/decisions/0022-store-a-log-mark-with-each-position.md).
        recreate(self.hosts, "pitwall.telemetry")
        harness.wait_for("the processor to stop reading", lambda: service.said("E processor: .*log_truncated: pitwall.telemetry"))

    def test_partition_without_leader_does_not_delay_others(self):
        self.broker("start")
        service = self.start()
        self.assertEqual(service.stop(), 0)
        self.broker("stop")
        # Partition 1 of the telemetry gets its own directory.
        second = os.path.join(self.kafka, "second")
        properties = os.path.join(self.kafka, "server.properties")
        with open(properties) as text:
            lines = text.read()
        harness.write(properties, re.sub(r"log\.dirs=(.*)", r"log.dirs=\1,%s" % second, lines)
                      + "log.flush.offset.checkpoint.interval.ms=500\nmetadata.log.dir=%s/data\n" % self.kafka)
        os.mkdir(second)
        with open(os.path.join(self.kafka, "data", "meta.properties")) as text:
            meta = text.read()
        harness.write(os.path.join(second, "meta.properties"), re.sub(r"directory\.id=.*\n", "", meta))
        shutil.move(os.path.join(self.kafka, "data", "pitwall.telemetry-1"), second)
        self.broker("start")
        self.assertEqual(os.listdir(second).count("pitwall.telemetry-1"), 1)
        service = self.start()
        jobs = {p: job_of(p, "leader") for p in range(PARTITIONS)}
        trainings = {p: self.train(job) for p, job in jobs.items()}
        harness.wait_for("both jobs", lambda: all(self.issue_events(job) for job in jobs.values()))
        before = {p: len(self.numbers().get(job, [])) for p, job in jobs.items()}
        # The directory is removed, and the broker takes it offline at the next write.
        shutil.move(second, second + ".gone")
        harness.write(second, "not a directory")
        harness.wait_for("the loss of the leader", lambda: service.metric("pitwall_collector_jobs_not_published") >= 1)
        time.sleep(8)  # longer than the idle timeout of a source
        now = self.numbers(whole=False)
        self.assertGreater(len(now[jobs[0]]), before[0] + 50, "the healthy partition continues")
        self.assertEqual(service.metric("pitwall_processor_dropped_total"), 0, "nothing is late")
        self.assertFalse([e for e in self.issue_events(jobs[0]) if e["type"].endswith("resolved")])
        os.remove(second)
        shutil.move(second + ".gone", second)
        self.broker("stop")
        self.broker("start")
        harness.wait_for("all lanes", lambda: service.metric("pitwall_collector_jobs_not_published") == 0)
        sent = {p: self.end(training) for p, training in trainings.items()}
        for p, job in jobs.items():
            harness.wait_for("all of " + job, lambda: len(set(self.numbers()[job])) == sent[p])
        found = self.numbers()
        for p, job in jobs.items():
            self.assertEqual(sorted(found[job]), list(range(sent[p])), job)


if __name__ == "__main__":
    Topics.binary, Topics.dump = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
