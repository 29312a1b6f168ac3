#!/usr/bin/env python3
"""Attacks on the history and its HTTP server: a lost catalog, a FIFO in place of a segment, a query whose labels exhaust memory, queries that occupy
all threads, and clients that abandon their requests. usage: attacks_test.py PITWALL"""
import contextlib
import json
import os
import resource
import select
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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

MEMORY = 1 << 30  # additional address space in bytes, relative to the server when it is ready
BEGIN = int(time.time()) - 3000
JOB = "load-0"
ABANDONED = 200   # number of requests; each client address is limited to 64 connections
LONG_QUERY = " + ".join('count(count_values("v%d", {__name__=~".+"}))' % n for n in range(20))  # runs for a minute


class Attacks(unittest.TestCase):
    binary = original = None

    @classmethod
    def setUpClass(cls):
        """Creates a 25-minute log, and the history that insights builds from it. Each test gets a copy."""
        cls.base = tempfile.TemporaryDirectory()
        cls.original = os.path.join(cls.base.name, "original")
        subprocess.run([cls.binary, "loadgen", "--data-dir", cls.original, "--duration", "1500s", "--start", str(BEGIN), "--ticks", "--ranks", "2",
                        "--nodes", "1", "--gpus", "2", "--interval", "5s", "--step", "500ms"], check=True, capture_output=True)
        server = harness.Pitwall(cls.binary, os.path.join(cls.base.name, "log"), "--data-dir", cls.original, service="insights")
        try:
            harness.wait_for("segments", lambda: segments(cls.original))
            harness.wait_for("the job", lambda: JOB in harness.fetch(server.http + "/api/pitwall/v1/jobs")[1])
        finally:
            server.stop()

    @classmethod
    def tearDownClass(cls):
        cls.base.cleanup()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.data = os.path.join(self.folder.name, "data")
        shutil.copytree(self.original, self.data)
        self.server = None

    def tearDown(self):
        if self.server:
            self.server.kill()
        self.folder.cleanup()

    def start(self):
        self.server = harness.Pitwall(self.binary, os.path.join(self.folder.name, "log"), "--data-dir", self.data, service="insights")

    def connect(self):
        host, port = self.server.http[len("http://"):].split(":")
        return socket.create_connection((host, int(port)), timeout=10)

    def status_of(self, path, timeout=10):
        try:
            with urllib.request.urlopen(self.server.http + path, timeout=timeout) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def test_empty_catalog_deletes_no_segments(self):
        before = segments(self.data)
        for name in os.listdir(os.path.join(self.data, "insights")):
            if name.startswith("catalogue.db"):
                open(os.path.join(self.data, "insights", name), "w").close()
        self.start()
        self.assertEqual(before - segments(self.data), set())
        self.assertTrue(self.server.said("the catalog does not match the segments"), self.server.log())

    def test_fifo_in_place_of_segment_does_not_block(self):
        path = os.path.join(self.data, "insights", "segments", sorted(segments(self.data))[0])
        os.unlink(path)
        os.mkfifo(path)
        self.start()
        self.status_of("/api/v1/query_range?" + urllib.parse.urlencode(
            {"query": "train_loss", "start": BEGIN, "end": BEGIN + 1500, "step": 10}))
        self.assertEqual(self.status_of("/metrics")[0], 200)

    def test_query_that_expands_labels_is_rejected(self):
        """Nests label_replace() calls on one series. Each level repeats the label value eight times."""
        self.start()
        pid = self.server.process.pid
        with open("/proc/%d/statm" % pid) as pages:
            limit = int(pages.read().split()[0]) * resource.getpagesize() + MEMORY
        resource.prlimit(pid, resource.RLIMIT_AS, (limit, resource.prlimit(pid, resource.RLIMIT_AS)[1]))
        query = 'label_replace(vector(1),"x","%s","","")' % ("a" * 30)
        for _ in range(12):
            query = 'label_replace(%s,"x","$1$1$1$1$1$1$1$1","x","(.*)")' % query
        status, text = self.status_of("/api/v1/query?" + urllib.parse.urlencode({"query": query}), timeout=60)
        self.assertEqual(json.loads(text)["status"], "error", text[:200])
        self.assertIn("label_replace", text)
        self.assertEqual(self.status_of("/healthz")[0], 200)
        self.assertIsNone(self.server.process.poll())

    def send_long_query(self, connection):
        connection.sendall(("GET /api/v1/query_range?%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % urllib.parse.urlencode(
            {"query": LONG_QUERY, "start": BEGIN, "end": BEGIN + 1500, "step": 1})).encode())

    def assert_server_responds(self):
        for path in ("/readyz", "/healthz", "/metrics"):
            self.assertEqual(self.status_of(path, timeout=20)[0], 200, path)

    def test_health_endpoints_respond_during_long_queries(self):
        self.start()
        with contextlib.ExitStack() as open_connections:
            running = [open_connections.enter_context(self.connect()) for _ in range(16)]
            for connection in running:
                self.send_long_query(connection)
            time.sleep(2)  # time for the queries to start
            self.assert_server_responds()
            self.assertEqual(select.select(running, [], [], 0)[0], [], "some queries have already returned")

    def test_abandoned_requests_do_not_block_other_clients(self):
        self.start()
        for _ in range(ABANDONED):
            with self.connect() as connection:
                self.send_long_query(connection)
        self.assert_server_responds()


def segments(data):
    """Returns the names of the segment files."""
    folder = os.path.join(data, "insights", "segments")
    return {os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names}


if __name__ == "__main__":
    Attacks.binary = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
