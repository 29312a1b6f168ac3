#!/usr/bin/env python3
"""Checks that equal.py detects a planted difference in events, snapshots, responses, segments, or speed, and ignores differences in human-readable
text and renamed fields."""
import json
import os
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import equal  # noqa: E402

EVENT = {"type": "io.pitwall.issue.found", "id": "a1", "time": "2026-01-01T00:00:00Z",
         "data": {"rule": "p/g/LossSpike", "value": 3.5, "labels": {"rank": "0"}, "summary": "The loss jumped", "parameters": {"steps": 20}}}


def changed(path, value):
    event = json.loads(json.dumps(EVENT))
    at = event
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return event


class EqualTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="pitwall-equal-test-")
        self.addCleanup(self.folder.cleanup)

    def binary(self, name, events):
        """Creates a program that prints these events regardless of its arguments."""
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\ncat <<'END'\n%sEND\n" % "".join(json.dumps(event) + "\n" for event in events))
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def events(self, base, new, renames=None):
        comparison = equal.Comparison(self.binary("base", base), self.binary("new", new), renames or {})
        return comparison.events(equal.all_recordings()[0])

    def test_same_events_are_equal(self):
        self.assertEqual(self.events([EVENT, EVENT], [EVENT, EVENT]), [])

    def test_one_changed_event_is_detected(self):
        for path, value in ((("data", "value"), 3.5000000000000004), (("id",), "a2"), (("data", "labels", "rank"), "1"), (("time",), "2026-01-01T00:00:00.000000001Z")):
            found = self.events([EVENT, EVENT], [EVENT, changed(path, value)])
            self.assertEqual(len(found), 1, found)
            self.assertIn("[2]." + ".".join(path), found[0])

    def test_missing_event_is_detected(self):
        self.assertEqual(self.events([EVENT, EVENT], [EVENT]), ["the whole: 3 elements, then 2"])

    def test_added_field_is_detected(self):
        self.assertEqual(len(self.events([EVENT], [changed(("data", "fresh"), 1)])), 1)

    def test_text_differences_are_ignored(self):
        self.assertEqual(self.events([EVENT], [changed(("data", "summary"), "The loss rose")]), [])

    def test_renames_apply_to_base(self):
        renamed = changed(("data", "rule"), "p/g/LossJump")
        self.assertEqual(len(self.events([EVENT], [renamed])), 1)
        self.assertEqual(self.events([EVENT], [renamed], {"LossSpike": "LossJump"}), [])

    def test_names_in_a_report_are_ignored(self):
        def of(route, name):
            return {route: {"sections": [{"blocks": [{"lines": [{"name": name, "y": [1]}]}]}]}}
        comparison = equal.Comparison("", "", {})
        self.assertEqual(comparison.compare([of("report of a", "median of the ranks"), of("report of a", "median of ranks")]), [])
        self.assertEqual(len(comparison.compare([of("rules of a", "p/g/A"), of("rules of a", "p/g/B")])), 1)

    def snapshots(self, *lines):
        binaries = []
        for name, line in zip(("base", "new"), lines):
            os.makedirs(os.path.join(self.folder.name, name), exist_ok=True)
            path = os.path.join(self.folder.name, name, "job_snapshots")
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n%s\n" % line)
            os.chmod(path, 0o755)
            binaries.append(os.path.join(self.folder.name, name, "pitwall"))
        return equal.Comparison(*binaries, {}).snapshots(equal.all_recordings()[0])

    def test_changed_snapshot_byte_is_detected(self):
        self.assertEqual(self.snapshots("echo 0 200 j 7 10 ab", "echo 0 200 j 7 10 ab"), [])
        self.assertEqual(len(self.snapshots("echo 0 200 j 7 10 ab", "echo 0 200 j 7 10 ac")), 1)

    def test_replay_without_snapshots_fails(self):
        self.assertEqual(len(self.snapshots("true", "true")), 1)
        self.assertEqual(len(self.snapshots("echo 0 200 j 7 10 ab; exit 1", "echo 0 200 j 7 10 ab; exit 1")), 1)

    def test_backtest_without_events_fails(self):
        self.assertEqual(len(self.events([], [])), 1)

    def test_log_lines_are_ignored(self):
        self.assertEqual(self.snapshots("echo old >&2; echo 0 200 j 7 10 ab", "echo new >&2; echo 0 200 j 7 10 ab"), [])

    def test_speed_ratio_of_nine_tenths_is_rejected(self):
        self.assertEqual(equal.faults_of_speed([(1.0, 1.0), (0.9, 1.0), (1.0, 1.02)]), [])
        self.assertEqual(len(equal.faults_of_speed([(1.8, 2.0)] * 10)), 1)

    def test_changed_segment_is_detected(self):
        digests = []
        for content in (b"segment", b"segmenu"):
            os.makedirs(os.path.join(self.folder.name, "insights"), exist_ok=True)
            with open(os.path.join(self.folder.name, "insights", "0-1.seg"), "wb") as file:
                file.write(content)
            digests.append({"segments": equal.digests(self.folder.name)})
        self.assertEqual(len(equal.Comparison("", "", {}).compare(digests)), 1)


if __name__ == "__main__":
    unittest.main()
