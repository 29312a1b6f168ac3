#!/usr/bin/env python3
"""Tests the parts of the demo that do not need a build: the progress display and the page check.

demo_test.py
"""
import http.server
import io
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import types
import unittest

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEMO = os.path.join(REPO, "deploy", "demo")
sys.path.insert(0, DEMO)
import demo  # noqa: E402
import progress  # noqa: E402


class BuildProgress(unittest.TestCase):
    def read(self, terminal, *timed_lines):
        """Returns the output for a list of (second, line)."""
        clock, out = [0.0], io.StringIO()
        reader = progress.Progress(out, terminal, lambda: clock[0])
        for second, line in timed_lines:
            clock[0] = second
            reader.read(line)
        reader.end_line()
        return out.getvalue()

    def test_progress_shows_steps_elapsed_and_remaining_time(self):
        self.assertEqual(progress.describe(34, 153, 72), "[34/153] 1:12 elapsed, about 4:12 left")
        self.assertEqual(progress.describe(3, 153, 5), "[3/153] 0:05 elapsed")  # too early for an estimate
        self.assertEqual(progress.describe(153, 153, 480), "[153/153] 8:00 elapsed")

    def test_without_terminal_progress_is_printed_every_15_seconds(self):
        output = self.read(False, *((second, "[%d/60] Building CXX object x.o\n" % second) for second in range(1, 61)))
        self.assertEqual([line.split()[0] for line in output.splitlines()], ["[1/60]", "[16/60]", "[31/60]", "[46/60]", "[60/60]"])

    def test_errors_are_passed_through(self):
        for terminal in (False, True):
            output = self.read(terminal, (1, "[1/9] Building CXX object x.o\n"), (2, "x.cc:1:1: error: no such thing\n"), (3, "ninja: build stopped\n"))
            self.assertIn("\nx.cc:1:1: error: no such thing\nninja: build stopped\n", output)

    def test_failed_build_fails_the_pipeline(self):
        script = "set -o pipefail; (echo '[1/2] x'; exit 3) | python3 '%s'" % os.path.join(DEMO, "progress.py")
        done = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("[1/2]", done.stdout)


class FailedDownload(unittest.TestCase):
    """Runs demo.sh in a tree with scripts in place of the tools. Packages and configuration succeed, and the build takes a long time."""

    def write(self, path, text):
        path = os.path.join(self.tree, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            out.write("#!/bin/bash\n" + text)
        os.chmod(path, 0o755)

    def run_demo(self, download, build):
        with tempfile.TemporaryDirectory(prefix="pitwall-demo-") as self.tree:
            for name in ("demo.sh", "demo/progress.py"):
                os.makedirs(os.path.dirname(os.path.join(self.tree, "deploy", name)), exist_ok=True)
                shutil.copy(os.path.join(REPO, "deploy", name), os.path.join(self.tree, "deploy", name))
            self.write("deploy/install-deps.sh", '[[ $1 == --packages ]] && exit 0\n' + download)
            self.write("services/web/toolchain.sh", "exit 0\n")
            self.write("bin/cmake", '[[ $1 == --preset ]] && exit 0\n' + build)
            return subprocess.run([os.path.join(self.tree, "deploy", "demo.sh")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=60, env=dict(os.environ, PATH=os.path.join(self.tree, "bin") + ":" + os.environ["PATH"]))

    def test_failed_download_stops_the_build(self):
        done = self.run_demo("echo 'no such registry'; exit 1\n", "exec sleep 600\n")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("no such registry", done.stdout)
        self.assertIn("a download failed", done.stdout)

    def test_failed_build_stops_the_download(self):
        done = self.run_demo("exec sleep 600\n", "echo 'x.cc:1:1: error: no such thing'; exit 1\n")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("x.cc:1:1: error: no such thing", done.stdout)
        self.assertIn("the build failed", done.stdout)


class PageCheck(unittest.TestCase):
    def fault_of(self, status, kind, body):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return demo.Demo.page_fault(types.SimpleNamespace(page="http://127.0.0.1:%d" % server.server_port))

    def test_server_without_page_fails_with_reason(self):
        self.assertIsNone(self.fault_of(200, "text/html; charset=utf-8", b"<html>"))
        self.assertEqual(self.fault_of(503, "text/plain", b"page: built without\n"), "503 page: built without")
        self.assertEqual(self.fault_of(200, "text/plain", b"x"), "its type is text/plain")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
