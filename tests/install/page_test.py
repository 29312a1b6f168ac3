#!/usr/bin/env python3
"""Tests the web page as served by the built binary, by the binary in the Debian package, and by the binary in the wheel.

page_test.py BINARY BUILD
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import served_page

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPO, "tests", "e2e"))
from harness import Pitwall  # noqa: E402

TOOLS = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pitwall", "auditwheel-6.7", "bin")
BINARY = BUILD = None


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        raise AssertionError("%s: exit status %d\n%s" % (" ".join(command), done.returncode, done.stdout))
    return done.stdout


class ServedPage(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="pitwall-page-")
        self.addCleanup(shutil.rmtree, self.work)

    def assert_served_by(self, program, **variables):
        pitwall = Pitwall(program, os.path.join(self.work, "log"), "--data-dir", os.path.join(self.work, "data"), variables=variables)
        self.addCleanup(pitwall.kill)
        self.assertGreaterEqual(len(served_page.check(pitwall.http)), 2)
        self.assertEqual(pitwall.stop(), 0)

    def test_binary_serves_page(self):
        self.assert_served_by(BINARY)

    def test_package_serves_page_and_lists_its_libraries(self):
        run("cpack", "-G", "DEB", "-B", self.work, cwd=BUILD)
        (package,) = glob.glob(os.path.join(self.work, "pitwall_*.deb"))
        for library in ("libc6", "libssl3", "librdkafka1"):
            self.assertIn(library, run("dpkg-deb", "--field", package, "Depends"))
        root = os.path.join(self.work, "root")
        run("dpkg-deb", "--extract", package, root)
        self.assert_served_by(os.path.join(root, "usr", "bin", "pitwall"))

    def test_wheel_serves_page(self):
        self.assertTrue(os.access(os.path.join(TOOLS, "auditwheel"), os.X_OK), "no auditwheel in %s; run deploy/install-deps.sh tests" % TOOLS)
        run(sys.executable, os.path.join(REPO, "deploy", "wheel.py"), BINARY, "--out", self.work, env=dict(os.environ, PATH=TOOLS + ":" + os.environ["PATH"]))
        (wheel,) = glob.glob(os.path.join(self.work, "*.whl"))
        root = os.path.join(self.work, "root")
        run(os.path.join(TOOLS, "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore", "--no-index",
            "--target", root, wheel)
        self.assert_served_by(os.path.join(root, "bin", "pitwall"), PYTHONPATH=root)


if __name__ == "__main__":
    BINARY, BUILD = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=sys.argv[:1], verbosity=2)
