#!/usr/bin/env python3
"""The one-minute test without a reader: the text of the first screenshot must contain the facts that a reader needs, and the readers' stored answers
must be correct.

one_minute_test.py PITWALL
"""
import json
import os
import sys
import tempfile
import time
import unittest

import one_minute

BINARY = None
# At least one of these phrases must be in the picture.
WORDS = {"a slow rank": ["times as long"], "a rank died": ["died", "was lost"], "the job was cancelled": ["ended on purpose"], "a hang": ["missing", "no step for", "hang"],
         "the loss is not finite": ["is NaN", "not finite"], "the learning rate is wrong": ["learning rate"], "the loss jumped": ["loss jumped", "loss stays"],
         "ranks wait for their data": ["waits for data"]}


class OneMinute(unittest.TestCase):
    def test_stored_answers_are_correct(self):
        right, of = one_minute.judge(one_minute.KEPT, os.path.join(one_minute.KEPT, "truth.json"))
        self.assertEqual(of, one_minute.COUNT)
        self.assertGreaterEqual(right, 9)

    def test_stored_pictures_match_the_seed(self):
        with open(os.path.join(one_minute.KEPT, "truth.json")) as text:
            pictures = json.load(text)["pictures"]
        names = one_minute.chosen(one_minute.kept_seed())
        self.assertEqual(pictures, {"%02d" % number: one_minute.truth(name) for number, name in enumerate(names, 1)})
        for number in pictures:
            self.assertLess(os.path.getsize(os.path.join(one_minute.KEPT, number + ".png")), 200 << 10)

    def test_judge_rejects_wrong_answers(self):
        true = {"kind": "a hang", "place": "rank 3", "began": 1000.0}
        right = {"kind": "a hang", "place": "rank 3", "start": "1970-01-01 00:16:50"}
        self.assertEqual(one_minute.wrong(right, true), [])
        self.assertEqual(one_minute.wrong(dict(right, place="rank 2", kind="a rank died"), true), ["kind", "place"])
        self.assertEqual(one_minute.wrong(dict(right, start="1970-01-01 00:17:00"), true), ["start"])

    def test_first_screenshot_shows_kind_place_and_start(self):
        names = one_minute.chosen(one_minute.kept_seed())
        with tempfile.TemporaryDirectory(prefix="pitwall-minute-") as folder:
            texts = one_minute.shoot(BINARY, names, folder)
        silent = []
        for name, text in zip(names, texts):
            true = one_minute.truth(name)
            place = {"the job": ("the whole job", "all (4)", "all (2)", "node gn07")}.get(true["place"], (true["place"].capitalize(), true["place"]))
            starts = [time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(true["began"] + late)) for late in range(-1, one_minute.START_SECONDS + 1)]
            facts = {"kind": any(word in text for word in WORDS[true["kind"]]), "place": any(word in text for word in place),
                    "start": any(word + start in text for start in starts for word in ("Since ", "From "))}
            if not all(facts.values()):
                silent.append((name, facts, text))
            with self.subTest(cell=name):
                self.assertIn("What to do:", text)
                self.assertNotIn(name, text)  # the picture must not reveal the name of the cell
        self.assertLessEqual(len(silent), 1, silent)  # nine of ten must be correct, as for readers


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
