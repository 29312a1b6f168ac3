#!/usr/bin/env python3
"""`insights` mirrors raw series to a real Prometheus using remote write. A query must return the same samples after the receiver was down, responded
with 500, and was killed and restarted, and after `insights` itself was killed.

run.sh runs it: remote_write_test.py BINARY
"""
import http.server
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
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import harness  # noqa: E402

BINARY = None
BROKER = os.environ.get("PITWALL_TEST_KAFKA")
METRIC = "pitwall_insights_remote_write_"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Prometheus:
    def __init__(self, work):
        self.work = work
        self.port = free_port()
        self.url = "http://127.0.0.1:%d" % self.port
        self.config = harness.write(os.path.join(work, "prometheus.yml"), "global: {}\n")
        self.process = None

    def start(self):
        with open(os.path.join(self.work, "prometheus.log"), "a") as log:
            self.process = subprocess.Popen(
                ["prometheus", "--config.file=" + self.config, "--storage.tsdb.path=" + os.path.join(self.work, "tsdb"),
                 "--web.listen-address=127.0.0.1:%d" % self.port, "--web.enable-remote-write-receiver", "--storage.tsdb.retention.time=10y"],
                stdout=log, stderr=log)
        harness.wait_for("Prometheus", self.ready)

    def ready(self):
        try:
            return harness.fetch(self.url + "/-/ready")
        except OSError:
            return None

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class Gate(threading.Thread):
    """Proxy in front of a receiver that forwards requests or returns configured responses, some of them slowly."""

    def __init__(self, target):
        super().__init__(daemon=True)
        gate = self
        self.target, self.answer, self.delay, self.refused = target, None, 0, 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                time.sleep(gate.delay)
                status = gate.answer
                if status is None:
                    request = urllib.request.Request(gate.target + self.path, body, {k: self.headers[k] for k in self.headers if k.startswith(
                        ("Content-T", "Content-E", "X-"))})
                    try:
                        with urllib.request.urlopen(request, timeout=20) as response:
                            status = response.status
                    except urllib.error.HTTPError as error:
                        status = error.code
                    except OSError:
                        status = 502
                else:
                    gate.refused += 1
                self.send_response(status)
                if status == 429:
                    self.send_header("Retry-After", "1")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        self.start()

    def run(self):
        self.server.serve_forever()


def raw(url, end, seconds):
    """Returns {series: samples in the range}, as stored by a server."""
    query = urllib.parse.urlencode({"query": '{pitwall_job!=""}[%ds]' % seconds, "time": end})
    data = json.loads(harness.fetch(url + "/api/v1/query?" + query)[1])["data"]["result"]
    return {json.dumps(series["metric"], sort_keys=True): series["values"] for series in data}


class RemoteWriteTest(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="pitwall-remote-")
        self.addCleanup(shutil.rmtree, self.work)
        self.prometheus = Prometheus(self.work)
        self.addCleanup(self.prometheus.kill)
        self.gate = Gate(self.prometheus.url)
        self.addCleanup(self.gate.server.shutdown)
        self.config = harness.write(os.path.join(self.work, "remote.yaml"), json.dumps(
            {"insights": {"remote_write": {"url": self.gate.url + "/api/v1/write"}}}))

    def insights(self):
        started = harness.Pitwall(BINARY, os.path.join(self.work, "insights.log"), "--data-dir", os.path.join(self.work, "data"), "--kafka",
                                  BROKER, "--config", self.config, service="insights")
        self.addCleanup(started.kill)
        return started

    def load(self, start, name):
        done = subprocess.run([BINARY, "loadgen", "--brokers", BROKER, "--name", name, "--jobs", "3", "--gpus", "2", "--cores", "2",
                               "--duration", "1m", "--start", str(start), "--fault", "death,job=0,rank=1"],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def settled(self, insights):
        return (METRIC + "lag_records " in harness.fetch(insights.http + "/metrics")[1] and insights.metric("pitwall_insights_lag_records") == 0 and insights.metric(METRIC + "lag_records") == 0 and
                insights.metric(METRIC + "behind_seconds") == 0)

    def test_no_sample_is_missing_after_all_faults(self):
        start = int(time.time()) - 400
        insights = self.insights()  # the receiver is down
        self.load(start, "down")
        harness.wait_for("retries", lambda: insights.metric(METRIC + "retries_total") > 0)
        self.prometheus.start()
        harness.wait_for("the receiver to have all", lambda: self.settled(insights) and insights.metric(METRIC + "samples_total") > 0)

        self.gate.answer, self.gate.delay = 500, 0.05
        self.load(start + 70, "errors")
        harness.wait_for("responses with 500", lambda: self.gate.refused > 2)
        self.gate.answer = 429
        before = self.gate.refused
        harness.wait_for("responses with 429", lambda: self.gate.refused > before + 1)
        self.gate.answer, self.gate.delay = None, 0

        # Both processes are killed during the transfer.
        self.load(start + 140, "killed")
        self.prometheus.kill()
        insights.kill()
        self.load(start + 210, "meanwhile")
        insights = self.insights()
        self.prometheus.start()
        harness.wait_for("all to be sent", lambda: self.settled(insights))

        ours, theirs = raw(insights.http, start + 300, 320), raw(self.prometheus.url, start + 300, 320)
        count = sum(map(len, ours.values()))
        self.assertGreater(count, 50000)
        self.assertEqual(sorted(theirs), sorted(ours))
        for series, samples in ours.items():
            self.assertEqual(theirs[series], samples, series)
        # 30 s after its end, a series must be absent on both sides.
        query = "count by (pitwall_job) (train_loss)"
        for at in (start + 50, start + 100, start + 290):
            answers = [json.loads(harness.fetch(url + "/api/v1/query?" + urllib.parse.urlencode({"query": query, "time": at}))[1])["data"]
                       for url in (insights.http, self.prometheus.url)]
            self.assertEqual(*answers)
        dropped = {reason: self.dropped(insights, reason) for reason in ("refused", "repeated", "behind", "no_schema", "ahead", "merged")}
        # Prometheus drops resent samples, and all but the last sample in each millisecond. This is not data loss, because the samples above equal the
        # history.
        self.assertEqual({**dropped, "repeated": 0, "merged": 0}, dict.fromkeys(dropped, 0))
        print("\n%d samples of %d series are equal in Prometheus; it rejected %d resent samples" %
              (count, len(ours), dropped["repeated"]), flush=True)

    @staticmethod
    def dropped(insights, reason):
        text = harness.fetch(insights.http + "/metrics")[1]
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if line.startswith(METRIC + 'dropped_samples_total{reason="%s"}' % reason))


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
