#!/usr/bin/env python3
"""Replays the stored recordings of real training runs through the packs. Every issue that was reported before must still be reported, and no new
wrong issue may appear.

recordings_test.py PITWALL [--update]

--update writes the current verdicts of the packs to recordings/recordings.json, after a rule has been fixed. Review the diff before you commit it.
--update never replaces a recording. To replace one, leave "first" unchanged and add the reason to the entry: "replaced": {its sha256: reason}.
"""
import concurrent.futures
import os
import sys
import unittest

import recordings
from cells import CELLS, judge

BINARY = None
UPDATE = False
ALWAYS = 1e12
# The manifest contains the verdicts for these packs as of the last update of the entry.
PACKS = ("all", "default")


def verdicts(name, entry, covered):
    """Returns {packs: the parts of the verdict that are stored in the manifest}."""
    said = {}
    for which in PACKS:
        told = recordings.replay(BINARY, os.path.join(recordings.KEPT, name + ".tar.xz"), which, entry.get("until", ALWAYS))
        verdict = judge(CELLS[name], told, entry["began"], covered[which])
        said[which] = {key: verdict[key] for key in ("named", "wrong", "incidents", "rank", "root", "seconds") if key in verdict}
    return said


class Recordings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.entries = recordings.manifest()

    def test_replaced_recordings_have_a_reason(self):
        for name, entry in self.entries.items():
            with self.subTest(cell=name):
                path = os.path.join(recordings.KEPT, name + ".tar.xz")
                self.assertIn(name, CELLS)
                self.assertEqual(recordings.digest(path), entry["sha256"], "the recording was replaced without an entry")
                self.assertLessEqual(os.path.getsize(path), recordings.MAX_BYTES)
                if entry["sha256"] != entry["first"]:
                    why = entry.get("replaced", {}).get(entry["sha256"], "")
                    self.assertGreater(len(why), 20, "the recording was replaced without a reason; add \"replaced\": {sha256: reason}")
        self.assertLessEqual(sum(os.path.getsize(os.path.join(recordings.KEPT, name + ".tar.xz")) for name in self.entries),
                             recordings.MAX_TOTAL)
        kept = {name[:-7] for name in os.listdir(recordings.KEPT) if name.endswith(".tar.xz")}
        self.assertEqual(kept, set(self.entries))

    def test_verdicts_do_not_get_worse(self):
        covered = {which: recordings.alerts_of(BINARY, which) for which in PACKS}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            said = dict(zip(self.entries, pool.map(lambda item: verdicts(*item, covered), self.entries.items())))
        if UPDATE:
            recordings.save({name: dict(entry, **said[name]) for name, entry in self.entries.items()})
            return
        self.assertEqual(set(said), set(CELLS), "cells with recordings")
        for name, now in said.items():
            for which in PACKS:
                with self.subTest(cell=name, packs=which):
                    before, after = self.entries[name][which], now[which]
                    self.assertLessEqual(set(after["wrong"]), set(before["wrong"]), "new wrong issues")
                    if before["named"]:
                        self.assertTrue(after["named"], "%s was reported before" % before["named"])
                        if CELLS[name]["rank"] is not None:
                            self.assertEqual(after.get("rank"), before.get("rank"))
                        self.assertGreaterEqual(after["root"], before["root"], "the issue is no longer the root cause of its incident")
                        self.assertLessEqual(after["seconds"], max(1.5 * before["seconds"], before["seconds"] + 2), "seconds until the report")
                    self.assertLessEqual(after["incidents"], max(1, before["incidents"]))

    def test_judge_rejects_wrong_issues(self):
        """Tests the judge itself with a wrong rank, a second incident, a missing issue, and an issue from a healthy run."""
        name = "slow-gap-2-1.30"
        right = [("found", {"event": "1", "rule": "r", "alert": "StragglerRank", "labels": {"rank": str(CELLS[name]["rank"])},
                            "started_at": "0", "incident": "1", "summary": "", "description": ""}, 1.0)]
        self.assertTrue(judge(CELLS[name], right, 0.5)["ok"])
        other = [("found", dict(right[0][1], labels={"rank": "1"}), 1.0)]
        self.assertEqual(judge(CELLS[name], other, 0.5)["wrong"], ["StragglerRank rank 1"])
        self.assertFalse(judge(CELLS[name], other, 0.5)["ok"])
        second = right + [("found", dict(right[0][1], event="2", alert="StepOutlier", rule="s", incident="2"), 1.0)]
        self.assertFalse(judge(CELLS[name], second, 0.5)["ok"])
        self.assertFalse(judge(CELLS[name], [], 0.5)["ok"])
        self.assertFalse(judge(CELLS["healthy-2"], right, None)["ok"])


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    if "--update" in sys.argv:
        sys.argv.remove("--update")
        UPDATE = True
    unittest.main(verbosity=2)
