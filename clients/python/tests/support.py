"""Shared helpers for the client tests: a collector and a client per test, scripts in separate processes, and a fake clock."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TESTS = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.environ.get("PITWALL_SOURCES") or os.path.join(os.path.dirname(TESTS), "src")  # PITWALL_SOURCES: a build with _native
sys.path[:0] = [path for path in (SOURCES, TESTS) if path not in sys.path]

import pitwall  # noqa: E402
from fake_collector import FakeCollector  # noqa: E402
from pitwall._client import client  # noqa: E402


class FakeTime:
    """Clock that advances by one unit per call."""

    def __init__(self):
        self.now = 1000

    def __call__(self):
        self.now += 1
        return self.now


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.path = os.path.join(self.folder, "collector.sock")
        self._collectors = []

    def tearDown(self):
        pitwall.finish(timeout=0.2)
        for collector in self._collectors:
            collector.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def collector(self, **options):
        self._collectors.append(FakeCollector(self.path, **options))
        return self._collectors[-1]

    def start(self, collector=None, **options):
        """Calls init() with this test's socket. If a collector is given, waits for the Hello."""
        before = len(collector.messages("hello")) if collector else 0
        pitwall.init(**dict({"job": "demo", "socket": self.path}, **options))
        if collector:
            collector.wait_for(lambda c: len(c.messages("hello")) > before)

    def recorder(self):
        return client.recorder

    def script(self, text, check=True, **environment):
        """Runs Python code in a separate process with the socket and the package set up."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PITWALL_", "SLURM_"))}
        env.update({"PYTHONPATH": SOURCES, "PITWALL_SOCKET": self.path}, **environment)
        done = subprocess.run([sys.executable, "-c", text], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=60)
        if check:
            self.assertEqual(done.returncode, 0, done.stderr)
        return done
