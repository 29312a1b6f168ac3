#!/usr/bin/env python3
"""Replays stored parts of healthy training runs through the packs. The only false reports allowed are those that existed when the parts were stored.

healthy_test.py PITWALL [--update]
healthy_test.py PITWALL --keep RESULT [FROM UNTIL]    RESULT: path of a result of healthy.py without its extension; FROM, UNTIL: seconds of the run

--update writes the current reports of the packs to healthy/recordings.json, but never adds reports.
"""
import concurrent.futures
import json
import os
import sys
import tempfile
import unittest

import recordings
import thin
from healthy import RANKS
from healthy_results import bound, counts, half, replayed

BINARY = None
KEPT = os.path.join(recordings.HERE, "healthy")
MAX_BYTES = 500_000
PACKS = ("all", "default")


def said(name):
    """Returns {packs: {alert: number of issues that the state of the machine does not explain}}."""
    return {which: counts(replayed(BINARY, os.path.join(KEPT, name + ".tar.xz"), which), "training") for which in PACKS}


def keep(result, begin=0.0, until=None):
    """Stores the longest part of the run, starting at `begin`, that does not exceed the size limit."""
    os.makedirs(KEPT, exist_ok=True)
    name = os.path.basename(result)
    with open(result + ".json") as text:
        ran = json.load(text)
    with tempfile.TemporaryDirectory(prefix="pitwall-keep-") as folder:
        recordings.unpack(result + ".tar.xz", folder)
        first, last = thin.times(os.path.join(folder, recordings.TELEMETRY))
        start = first + begin if begin else None
        end = last if until is None else first + until
        target = os.path.join(KEPT, name + ".tar.xz")
        recordings.pack(folder, target, start, end)
        while os.path.getsize(target) > MAX_BYTES:
            end = first + begin + (end - first - begin) * min(0.98, 0.985 * MAX_BYTES / os.path.getsize(target))
            recordings.pack(folder, target, start, end)
    entries = recordings.manifest(KEPT)
    entries[name] = {"sha256": recordings.digest(target), "kind": ran["kind"], "half": half(ran["seed"]), "from": begin, "until": round(end - first, 1),
                     "of": round(last - first, 1)}
    entries[name].update(said(name))
    recordings.save(entries, KEPT)
    print(name, os.path.getsize(target), entries[name])


class Healthy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.entries = recordings.manifest(KEPT)

    def test_recordings_are_unchanged(self):
        self.assertEqual({name[:-7] for name in os.listdir(KEPT) if name.endswith(".tar.xz")}, set(self.entries))
        self.assertEqual({entry["kind"] for entry in self.entries.values()}, set(RANKS), "kinds with recordings")
        for name, entry in self.entries.items():
            path = os.path.join(KEPT, name + ".tar.xz")
            self.assertEqual(recordings.digest(path), entry["sha256"], name)
            self.assertLessEqual(os.path.getsize(path), MAX_BYTES, name)

    def test_packs_add_no_false_reports(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            now = dict(zip(self.entries, pool.map(said, self.entries)))
        for name, entry in self.entries.items():
            for which in PACKS:
                with self.subTest(training=name, packs=which):
                    more = {alert: many for alert, many in now[name][which].items() if many > entry[which].get(alert, 0)}
                    self.assertEqual(more, {}, "new false reports about a healthy run")
        if UPDATE:
            recordings.save({name: dict(entry, **{which: {alert: min(many, entry[which].get(alert, 0)) for alert, many in now[name][which].items()}
                                                  for which in PACKS}) for name, entry in self.entries.items()}, KEPT)

    def test_poisson_bounds_are_correct(self):
        for events, right in ((0, 3.0), (1, 4.74), (2, 6.30), (3, 7.75), (30, 40.69)):
            self.assertAlmostEqual(bound(events), right, 1)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    if sys.argv[1:2] == ["--keep"]:
        keep(sys.argv[2], *map(float, sys.argv[3:5]))
        sys.exit(0)
    UPDATE = "--update" in sys.argv
    if UPDATE:
        sys.argv.remove("--update")
    unittest.main(verbosity=2)
