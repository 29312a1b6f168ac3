"""A page in docs/ with files and commands that run exactly as shown.

Files are the yaml blocks below "<!-- file: NAME -->"; commands are the lines of sh blocks.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import REPO, write


class PageTest(unittest.TestCase):
    PAGE = None    # its name in docs/
    BINARY = None  # path of pitwall
    INPUTS = {}    # further files: name -> content

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(REPO, "docs", cls.PAGE), encoding="utf-8") as page:
            text = page.read()
        cls.files = dict(re.findall(r"<!-- file: (\S+) -->\n```yaml\n(.*?)```", text, re.S))
        cls.commands = [line.split("  #")[0].strip() for block in re.findall(r"```sh\n(.*?)```", text, re.S)
                        for line in block.splitlines()]
        cls.work = tempfile.mkdtemp(prefix="pitwall-page-")
        for name, content in {**cls.files, **cls.INPUTS}.items():
            write(os.path.join(cls.work, name), content)

    def command(self, start):
        """Returns the page's only command that starts with this text."""
        found = [c for c in self.commands if c.startswith(start)]
        self.assertEqual(len(found), 1, "%s: %s" % (start, found))
        return found[0]

    def run_command(self, start):
        """Runs the page's only command that starts with this text, and returns its output."""
        arguments = shlex.split(self.command(start))
        if arguments[0] == "pitwall":
            arguments[0] = self.BINARY
        done = subprocess.run(arguments, cwd=self.work, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout
