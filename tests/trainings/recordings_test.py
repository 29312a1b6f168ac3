#!/usr/bin/env python3
"""Replays the kept recordings of real training runs through the packs: every earlier name is still reported, and no wrong one is added.

recordings_test.py PITWALL [--update]

--update writes the current verdicts of the packs to recordings/recordings.json, after a rule was fixed. Read the difference before you commit it.
It never replaces a recording. To replace one, leave "first" unchanged and give the reason in the entry: "replaced": {its sha256: reason}.
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
# Verdicts with these packs when the entry was last updated.
PACKS = ("all", "default")


def verdicts(name, entry, covered):
    """Returns {packs: (verdict without the parts that may differ, verdict)}."""
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

    def test_recording_is_first_of_its_cell_or_has_note(self):
        for name, entry in self.entries.items():
            with self.subTest(cell=name):
                path = os.path.join(recordings.KEPT, name + ".tar.xz")
                self.assertIn(name, CELLS)
                self.assertEqual(recordings.digest(path), entry["sha256"], "replaced without an entry")
                self.assertLessEqual(os.path.getsize(path), recordings.MAX_BYTES)
                if entry["sha256"] != entry["first"]:
                    why = entry.get("replaced", {}).get(entry["sha256"], "")
                    self.assertGreater(len(why), 20, "replaced without a note: \"replaced\": {sha256: why}")
        self.assertLessEqual(sum(os.path.getsize(os.path.join(recordings.KEPT, name + ".tar.xz")) for name in self.entries),
                             recordings.MAX_TOTAL)
        kept = {name[:-7] for name in os.listdir(recordings.KEPT) if name.endswith(".tar.xz")}
        self.assertEqual(kept, set(self.entries))

    def test_packs_report_the_same_for_each_recording(self):
        covered = {which: recordings.alerts_of(BINARY, which) for which in PACKS}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            said = dict(zip(self.entries, pool.map(lambda item: verdicts(*item, covered), self.entries.items())))
        if UPDATE:
            recordings.save({name: dict(entry, **said[name]) for name, entry in self.entries.items()})
            return
        self.assertEqual(set(said), set(CELLS), "a cell without its first recording")
        for name, now in said.items():
            for which in PACKS:
                with self.subTest(cell=name, packs=which):
                    before, after = self.entries[name][which], now[which]
                    self.assertLessEqual(set(after["wrong"]), set(before["wrong"]), "wrong names")
                    if before["named"]:
                        self.assertTrue(after["named"], "%s was named before" % before["named"])
                        if CELLS[name]["rank"] is not None:
                            self.assertEqual(after.get("rank"), before.get("rank"))
                        self.assertGreaterEqual(after["root"], before["root"], "it is no longer the root of its incident")
                        self.assertLessEqual(after["seconds"], max(1.5 * before["seconds"], before["seconds"] + 2), "seconds until it is reported")
                    self.assertLessEqual(after["incidents"], max(1, before["incidents"]))

    def test_judge_rejects_a_wrong_accusation(self):
        """Tests the judge itself: another rank, another alert, and too many incidents."""
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
