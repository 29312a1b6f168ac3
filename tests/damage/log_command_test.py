#!/usr/bin/env python3
"""log_command_test.py PITWALL: end-to-end test of `pitwall log` on damaged data directories. Pitwall must detect, count, and repair the damage. Also
tests file modes."""
import glob
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
from harness import Pitwall, fetch, wait_for  # noqa: E402

BINARY = None


def run(*arguments):
    return subprocess.run([BINARY] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                          timeout=60)


class LogCommand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Creates a data directory with a few seconds of clock ticks. Its directories have the modes of an earlier version."""
        cls.root = tempfile.mkdtemp(prefix="pitwall-log-")
        cls.whole = os.path.join(cls.root, "whole")
        os.mkdir(cls.whole, 0o755)
        os.chmod(cls.whole, 0o755)
        os.mkdir(cls.whole + "/log", 0o755)
        os.chmod(cls.whole + "/log", 0o755)
        pitwall = Pitwall(BINARY, os.path.join(cls.root, "first.log"), "--data-dir", cls.whole)
        try:
            wait_for("records", lambda: pitwall.metric("pitwall_processor_clock_ticks_total") >= 3)
            cls.metrics = fetch(pitwall.http + "/metrics")[1]
            assert pitwall.stop() == 0, pitwall.log()
        finally:
            pitwall.kill()
        cls.first_log = pitwall.log()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root)

    def copy(self, name):
        path = os.path.join(self.root, name)
        shutil.copytree(self.whole, path, ignore=shutil.ignore_patterns("*.sock"))
        return path

    def segment(self, data):
        return max(glob.glob(data + "/log/topics/pitwall.telemetry/*/*.seg"), key=os.path.getsize)

    def test_files_are_readable_only_by_their_owner(self):
        for folder, _, files in os.walk(self.whole + "/log"):
            self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode) & 0o077, 0, folder)
            for name in files:
                path = os.path.join(folder, name)
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600, path)
        self.assertEqual(stat.S_IMODE(os.stat(self.whole).st_mode) & 0o066, 0)
        self.assertIn("accessible to other users", self.first_log)

    def test_check_of_undamaged_directory_finds_no_damage(self):
        checked = run("log", "check", self.whole)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.assertIn("0 findings", checked.stdout)
        repaired = run("log", "repair", self.whole)
        self.assertEqual(repaired.returncode, 0, repaired.stderr)
        self.assertIn("nothing to repair", repaired.stdout)

    def test_invalid_usage_is_rejected(self):
        for arguments in ([], ["check"], ["check", "a", "b"], ["fix", "a"], ["check", "a", "--dry-run"], ["check", "a", "--no"]):
            self.assertEqual(run("log", *arguments).returncode, 2, arguments)
        self.assertEqual(run("log", "check", os.path.join(self.root, "nothing")).returncode, 2)
        helped = run("log", "--help")
        self.assertEqual(helped.returncode, 0)
        self.assertIn("quarantine", helped.stdout)

    def test_deleted_segment_is_reported_and_repaired(self):
        data = self.copy("deleted")
        path = self.segment(data)
        os.remove(path)
        refused = run("standalone", "--data-dir", data, "--http-listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(path, refused.stderr)
        self.assertIn("`pitwall log repair %s/log`" % data, refused.stderr)
        verified = run("backtest", "--format", "log", "--input", data, "--verify")
        self.assertNotEqual(verified.returncode, 0)
        self.assertIn("not verified", verified.stdout)
        self.assertIn("pitwall log check", verified.stdout)
        checked = run("log", "check", data, "--json")
        self.assertEqual(checked.returncode, 1, checked.stderr)
        found = json.loads(checked.stdout)
        self.assertFalse(found["startable"])
        self.assertEqual([d["kind"] for d in found["damage"]], ["segment_missing"])
        self.assertEqual(found["damage"][0]["topic"], "pitwall.telemetry")
        self.assertEqual(found["damage"][0]["from_offset"], 0)
        self.assertEqual(run("log", "repair", data, "--dry-run").returncode, 1)
        self.assertEqual(run("log", "check", data).returncode, 1)
        repaired = run("log", "repair", data)
        self.assertEqual(repaired.returncode, 0, repaired.stderr)
        self.assertIn("are lost; readers will receive an error", repaired.stdout)
        self.assertEqual(run("log", "check", data).returncode, 0)
        pitwall = Pitwall(BINARY, os.path.join(self.root, "repaired.log"), "--data-dir", data)
        try:
            in_use = run("log", "repair", data)
            self.assertEqual(in_use.returncode, 2)
            self.assertIn("in use", in_use.stderr)
        finally:
            pitwall.kill()

    def test_damaged_journal_can_be_recovered(self):
        data = self.copy("journal")
        path = glob.glob(data + "/log/commits/*.journal")[0]
        with open(path, "r+b") as journal:
            journal.write(bytes(os.path.getsize(path)))
        refused = run("standalone", "--data-dir", data, "--http-listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0")
        self.assertIn("pitwall log repair", refused.stderr)
        self.assertEqual(run("log", "repair", data).returncode, 0)
        self.assertTrue(glob.glob(data + "/log/quarantine/*/commits/*.journal"))
        # The committed positions were lost with the journal, so the operator must confirm that reading starts over.
        pitwall = Pitwall(BINARY, os.path.join(self.root, "journal.log"), "--data-dir", data, "--accept-log-reset")
        try:
            self.assertEqual(pitwall.stop(), 0)
        finally:
            pitwall.kill()

    def test_repairs_are_counted(self):
        data = self.copy("healed")
        path = data + "/log/topics/pitwall.telemetry/topic.conf"
        os.remove(path)
        pitwall = Pitwall(BINARY, os.path.join(self.root, "healed.log"), "--data-dir", data)
        try:
            self.assertIn('pitwall_log_damage_total{healed="true",kind="topic_file",topic="pitwall.telemetry"} 1',
                          fetch(pitwall.http + "/metrics")[1])
            self.assertTrue(os.path.exists(path))
            self.assertIn("rewritten from the commit journal", pitwall.log())
            fetch(pitwall.http + "/healthz")
        finally:
            pitwall.kill()

    def test_metrics_of_undamaged_log_are_zero(self):
        for name in ("pitwall_log_failed_flushes_total 0", "pitwall_log_suspended_partitions 0"):
            self.assertIn(name, self.metrics)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
