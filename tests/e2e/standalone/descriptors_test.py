#!/usr/bin/env python3
"""A server that runs out of file descriptors must not report live ranks as dead, and must recover once descriptors are available. It refuses to start
if the limit is too low. usage: descriptors_test.py PITWALL"""
import os
import resource
import signal
import subprocess
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402


class Descriptors(harness.ServiceTest):
    binary = None

    def limit(self, soft):
        _, hard = resource.prlimit(self.service.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.service.process.pid, resource.RLIMIT_NOFILE, (soft, hard))

    def test_limit_of_20_descriptors_fails_startup(self):
        done = subprocess.run(
            [self.binary, "standalone", "--data-dir", self.data, "--http-listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0"],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20)), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"open files: limit must be at least \d+ \(got 20\)")

    def test_server_recovers_after_descriptor_exhaustion(self):
        self.service = harness.Pitwall(
            self.binary, os.path.join(self.folder.name, "log"), "--data-dir", self.data, "--rules", "pack:training")
        self.training = harness.train(os.path.join(self.data, "collector.sock"), 100000, 100000)
        applied = "pitwall_processor_samples_total"
        harness.wait_for("samples", lambda: self.service.metric(applied) > 500)
        before = resource.prlimit(self.service.process.pid, resource.RLIMIT_NOFILE)[0]
        self.limit(3)  # descriptors that are already open stay open, but no new ones are available
        time.sleep(3)  # time for a dozen scans by the collector and for connection attempts of a rank
        # The server cannot accept connections on any of its listeners.
        subprocess.run([self.binary, "issues", "list", "--target", self.service.grpc], capture_output=True, timeout=60)
        with self.assertRaises(OSError):
            urllib.request.urlopen(self.service.http + "/metrics", timeout=3)
        self.limit(before)
        more = harness.wait_for("HTTP", self.metric_or_none)
        harness.wait_for("further samples", lambda: self.service.metric(applied) > more + 200)
        listed = subprocess.run(
            [self.binary, "issues", "list", "--target", self.service.grpc], capture_output=True, text=True, timeout=60)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertNotIn("ended without a goodbye", self.service.log())
        self.assertIsNone(self.training.poll())
        self.training.send_signal(signal.SIGKILL)
        self.training.wait()
        harness.wait_for("the real death", lambda: self.service.said("ended without a goodbye"))
        self.assertEqual(self.service.stop(), 0)

    def metric_or_none(self):
        try:
            return self.service.metric("pitwall_processor_samples_total")
        except OSError:
            return None


if __name__ == "__main__":
    Descriptors.binary = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
