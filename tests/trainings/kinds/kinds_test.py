#!/usr/bin/env python3
"""Replays the recording of each kind of training run through pack:default and through all packs. Only the expected issues must be raised, with the
correct cause.

kinds_test.py PITWALL
"""
import concurrent.futures
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
import kept  # noqa: E402
import recordings  # noqa: E402
from kinds import KINDS, judge  # noqa: E402

BINARY = None
PACKS = ("all", "default")


def found(alert, rank="1", **more):
    """Returns an issue event for tests of the judge."""
    data = {"event": alert + rank, "rule": alert, "alert": alert, "labels": dict({"rank": rank}, **more.pop("labels", {})), "started_at": "0",
            "incident": "1", "summary": "", "job": {"id": "j"}}
    return "found", dict(data, **more), 1.0


def changed(change, **more):
    return "changed", dict({"job": {"id": "j"}, "job_change": change}, **more), 0.5


RUNNING = [changed("started"), changed("attempt_began")]
FAILED = RUNNING + [changed("ended", end_detail="failed")]
DIED = dict(labels={"cause": "exception"}, summary="Rank 1 on a failed: ValueError: no such label")


class Judge(unittest.TestCase):
    """Tests that the judge accepts the expected issue and rejects each kind of mistake."""

    def judge(self, name, *events):
        return judge(KINDS[name], list(events))

    def test_expected_issue_is_accepted(self):
        verdict = self.judge("plain-exception", *FAILED, found("RankDied", **DIED))
        self.assertTrue(verdict["ok"], verdict)

    def test_missing_issue_is_rejected(self):
        self.assertEqual(self.judge("plain-exception", *FAILED)["missing"], ["RankDied"])

    def test_wrong_rank_cause_or_text_is_rejected(self):
        for other in (found("RankDied", "0", **DIED), found("RankDied", **dict(DIED, labels={"cause": "exit code 1"})),
                      found("RankDied", **dict(DIED, summary="Rank 1 exited with code 1"))):
            verdict = self.judge("plain-exception", *FAILED, other)
            self.assertTrue(verdict["missing"] and verdict["wrong"], verdict)

    def test_additional_issue_is_rejected(self):
        verdict = self.judge("plain-exception", *FAILED, found("RankDied", **DIED), found("AllRanksSilent"))
        self.assertEqual(len(verdict["wrong"]), 1)
        self.assertFalse(verdict["ok"])

    def test_wrong_root_cause_is_rejected(self):
        events = [*RUNNING, found("RankFrozen", root_cause="LossSpike1"), found("LossSpike")]
        self.assertEqual(len(self.judge("plain-stopped", *events)["roots"]), 1)

    def test_companion_of_another_rank_or_incident_is_rejected(self):
        for more in ({"rank": "0"}, {"incident": "2"}):
            verdict = self.judge("plain-stopped", *RUNNING, found("RankFrozen"), found("CollectiveHang", **more))
            self.assertFalse(verdict["ok"], verdict)
        self.assertTrue(self.judge("plain-stopped", *RUNNING, found("RankFrozen"), found("CollectiveHang"))["ok"])

    def test_wrong_job_end_is_rejected(self):
        issue = found("RankDied", **DIED)
        self.assertFalse(self.judge("plain-exception", *RUNNING, issue)["ok"])
        self.assertFalse(self.judge("plain-exception", *RUNNING, changed("ended", end_detail="completed"), issue)["ok"])
        self.assertFalse(self.judge("plain-exception", *FAILED, changed("started", job={"id": "phantom"}), issue)["ok"])
        self.assertFalse(self.judge("torchrun-restart-sigkill", *FAILED, issue)["ok"])


class Recordings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.entries = kept.manifest()

    def test_each_kind_has_a_small_recording(self):
        names = {name[:-len(".tar.xz")] for name in os.listdir(kept.KEPT) if name.endswith(".tar.xz")}
        self.assertEqual(names, set(self.entries))
        self.assertEqual(names, set(KINDS))
        self.assertGreaterEqual(len(names), 60)
        for name, entry in self.entries.items():
            self.assertEqual(recordings.digest(kept.path_of(name)), entry["sha256"], name)
            self.assertLessEqual(os.path.getsize(kept.path_of(name)), kept.MAX_BYTES, name)
        self.assertLessEqual(sum(os.path.getsize(kept.path_of(name)) for name in names), kept.MAX_TOTAL)

    def test_each_kind_raises_exactly_the_expected_issues(self):
        covered = {which: recordings.alerts_of(BINARY, which) for which in PACKS}

        def verdicts(name):
            return {which: judge(KINDS[name], kept.replay(BINARY, name, which, self.entries[name]["until"]), covered[which]) for which in PACKS}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            judged = dict(zip(self.entries, pool.map(verdicts, self.entries)))
        for name, verdict in judged.items():
            if KINDS[name]["known_wrong"]:
                if all(verdict[which]["ok"] for which in PACKS):
                    print("NOTE: %s passes with these packs; remove its `wrong`" % name)
                continue
            for which in PACKS:
                with self.subTest(kind=name, packs=which):
                    self.assertTrue(verdict[which]["ok"], verdict[which])


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
