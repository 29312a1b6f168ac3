#!/usr/bin/env python3
"""Tests `insights` processes that share jobs by partition, with a real Kafka broker. Each must respond like a process that keeps all jobs, report
missing data while another process is down, and continue with the directory of a process that kept everything.

run.sh runs it: insights_share_test.py BINARY
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import harness  # noqa: E402

BINARY = None
BROKER = os.environ.get("PITWALL_TEST_KAFKA")
START = 1767225600  # start of the load
JOBS = 6


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(url, path, method="GET"):
    """Returns (status, body)."""
    request = urllib.request.Request(url + path, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def targets():
    yield from ("/api/pitwall/v1/jobs", "/api/pitwall/v1/jobs?sort=name&order=asc&limit=3", "/api/pitwall/v1/job?job=share",
                "/api/pitwall/v1/job?job=nobody", "/api/v1/labels", "/api/v1/label/pitwall_job/values", "/api/v1/rules", "/api/v1/alerts")
    yield "/api/v1/series?" + urllib.parse.urlencode({"match[]": "train_loss", "start": START, "end": START + 200})
    for query in ("train_loss", "sum by (pitwall_job) (rate(system_cpu_time_seconds_total[1m]))", "topk(3, hw_power_watts)",
                  "quantile(0.9, hw_gpu_utilization_ratio)", "count(train_step)"):
        yield "/api/v1/query?" + urllib.parse.urlencode({"query": query, "time": START + 100})
        yield "/api/v1/query_range?" + urllib.parse.urlencode({"query": query, "start": START, "end": START + 120, "step": 7})
    for job in range(JOBS):
        for path in ("job?", "series?", "chart?match=train_loss&", "heatmap?match=hw_power_watts&", "steps?", "phases?", "operators?",
                     "resources?", "issues?", "rules?", "spans?limit=50&", "heatmap/steps?", "tensors?"):
            yield "/api/pitwall/v1/%sjob=share-%d" % (path, job)


def without_size(text):
    """Removes disk sizes, because they depend on when windows were written."""
    def walk(value):
        if isinstance(value, dict):
            return {key: walk(one) for key, one in value.items() if key != "bytes"}
        return [walk(one) for one in value] if isinstance(value, list) else value
    try:
        return walk(json.loads(text))
    except ValueError:
        return text


class InsightsShareTest(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp(prefix="pitwall-share-")
        cls.addClassCleanup(shutil.rmtree, cls.work)
        cls.ports = [free_port(), free_port()]
        cls.config = harness.write(os.path.join(cls.work, "peers.yaml"), json.dumps(
            {"insights": {"peers": ["http://127.0.0.1:%d" % port for port in cls.ports], "peer_timeout": "5s"}}))

    def insights(self, name, *flags):
        started = harness.Pitwall(BINARY, os.path.join(self.work, name + ".log"), "--data-dir", os.path.join(self.work, name),
                                  "--kafka", BROKER, *flags, service="insights")
        self.addCleanup(started.kill)
        return started

    def shared(self, index, name=None):
        return self.insights(name or "share%d" % index, "--config", self.config, "--share", "%d/2" % index, "--http-listen",
                             "127.0.0.1:%d" % self.ports[index])

    def assert_same(self, whole, *parts):
        count = 0
        for target in targets():
            status, body = ask(whole.http, target)
            for part in parts:
                self.assertEqual((status, without_size(body)), (lambda s, b: (s, without_size(b)))(*ask(part.http, target)), target)
                count += 1
        return count

    @staticmethod
    def seconds(process, target):
        began = time.monotonic()
        ask(process.http, target)
        return time.monotonic() - began

    def test_two_processes_respond_like_one(self):
        alone = self.insights("alone")
        one = self.shared(0)
        # Before the first record arrives, a peer that has not started is reported as missing.
        self.assertIn("jobs of peer 1 are missing", ask(one.http, "/api/pitwall/v1/jobs")[1])
        two = self.shared(1)
        load = subprocess.run([BINARY, "loadgen", "--brokers", BROKER, "--name", "share", "--jobs", str(JOBS), "--gpus", "2", "--cores", "4",
                               "--duration", "2m", "--start", str(START), "--duplicate", "0.05", "--fault", "death,job=1,rank=1"],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(load.returncode, 0, load.stderr)
        samples = "pitwall_insights_samples_total"

        def settled():
            lag = sum(p.metric("pitwall_insights_lag_records") for p in (alone, one, two))
            return lag == 0 and alone.metric(samples) > 10000 and alone.metric(samples) == one.metric(samples) + two.metric(samples)
        harness.wait_for("all to be read", settled)

        # Exactly one process keeps each job.
        kept = [p.metric("pitwall_insights_jobs") for p in (one, two)]
        self.assertEqual(sum(kept), JOBS)
        self.assertTrue(all(kept), kept)
        answers = self.assert_same(alone, one, two)
        print("\n%d responses of two processes (%d and %d jobs) equal those of one process" % (answers, *kept), flush=True)

        for what, target in (("job list", "/api/pitwall/v1/jobs"), ("one job", "/api/pitwall/v1/job?job=share-0"),
                             ("PromQL over all jobs", "/api/v1/query?query=train_loss&time=%d" % (START + 100))):
            times = [sorted(self.seconds(process, target) for _ in range(21))[10] * 1e3 for process in (alone, one, two)]
            print("%s: %.1f ms with one process, %.1f and %.1f ms with two" % (what, *times), flush=True)
        two.kill()
        status, jobs = ask(one.http, "/api/pitwall/v1/jobs")
        jobs = json.loads(jobs)
        self.assertEqual((status, len(jobs["jobs"])), (200, kept[0]))
        self.assertRegex(jobs["missing"][0], "^jobs of peer 1 are missing: peer 1 \\(http://127.0.0.1:%d\\) does not respond" % self.ports[1])
        there = {job["id"] for job in jobs["jobs"]}
        for job in range(JOBS):
            status, body = ask(one.http, "/api/pitwall/v1/job?job=share-%d" % job)
            self.assertEqual(status, 200 if "share-%d" % job in there else 503, body)
        query = json.loads(ask(one.http, "/api/v1/query?query=count(train_loss)&time=%d" % (START + 100))[1])
        self.assertEqual(query["status"], "success")
        self.assertIn("jobs of peer 1 are missing", query["warnings"][0])
        print("while peer 1 is down: %s" % jobs["missing"][0], flush=True)

        two = self.shared(1)
        harness.wait_for("peer 1 to be queried again", lambda: "missing" not in json.loads(ask(one.http, "/api/pitwall/v1/jobs")[1]))
        self.assert_same(alone, one, two)

        # The number of processes changes from one to two. The single process's directory becomes the directory of share 0.
        for p in (alone, one, two):
            self.assertEqual(p.stop(), 0)
        one = self.shared(0, "alone")
        two = self.shared(1, "empty")
        harness.wait_for("the log to be read again", lambda: two.metric("pitwall_insights_jobs") == kept[1] and
                         two.metric("pitwall_insights_lag_records") == 0)
        self.assertEqual(one.metric("pitwall_insights_jobs"), JOBS)  # the earlier jobs stay
        reference = self.insights("reference")
        harness.wait_for("the reference", lambda: reference.metric("pitwall_insights_jobs") == JOBS and
                         reference.metric("pitwall_insights_lag_records") == 0)
        self.assert_same(reference, one, two)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
