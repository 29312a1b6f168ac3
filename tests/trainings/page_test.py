#!/usr/bin/env python3
"""Tests for the blocks in docs/accuracy.md. A generator must change only its own block."""
import re
import unittest

from page import PAGE, with_block

WHOLE = "# A\n\nwords\n\n<!-- begin one -->\nold\n<!-- end one -->\n\nbetween\n\n<!-- begin two -->\nkept\n<!-- end two -->\n"


class Blocks(unittest.TestCase):
    def test_only_the_given_block_is_replaced(self):
        self.assertEqual(with_block(WHOLE, "one", "\nnew\n"), WHOLE.replace("old", "new"))
        self.assertEqual(with_block(WHOLE, "two", "new"), WHOLE.replace("kept", "new"))

    def test_new_block_is_appended(self):
        self.assertEqual(with_block(WHOLE, "three", "new"), WHOLE + "\n<!-- begin three -->\nnew\n<!-- end three -->\n")

    def test_writing_same_text_again_changes_nothing(self):
        once = with_block(WHOLE, "three", "new")
        self.assertEqual(with_block(once, "three", "new"), once)

    def test_malformed_block_is_rejected(self):
        for broken in (WHOLE.replace("<!-- end one -->", ""), WHOLE + "<!-- begin one -->\n", WHOLE + "<!-- begin one -->\n<!-- end one -->\n",
                       "<!-- end one -->\n<!-- begin one -->\n"):
            with self.assertRaisesRegex(ValueError, "block one"):
                with_block(broken, "one", "new")

    def test_page_has_paired_marks_and_valid_links(self):
        with open(PAGE) as text:
            page = text.read()
        self.assertRegex(page, r"\A# ")
        marks = re.findall(r"<!-- (begin|end) (\w+) -->", page)
        self.assertIn(("begin", "trainings"), marks)
        for (first, name), (second, other) in zip(marks[::2], marks[1::2]):
            self.assertEqual((first, second, name), ("begin", "end", other))
        headings = {re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in page.splitlines() if line.startswith("#")}
        for link in re.findall(r"\]\(#([^)]*)\)", page):
            self.assertIn(link, headings)


if __name__ == "__main__":
    unittest.main(verbosity=2)
