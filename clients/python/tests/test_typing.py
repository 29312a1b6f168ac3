"""Tests for the annotations. mypy --strict must accept the package and a typed program, and must reject each wrong line. Uses $PITWALL_MYPY, an
interpreter with mypy (tests/stages/python.sh installs one), or else this interpreter."""
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import support

import pitwall

PYTHON = os.environ.get("PITWALL_MYPY") or sys.executable
PROJECT = os.path.dirname(support.TESTS)
PACKAGE = os.path.join(PROJECT, "src", "pitwall")

RIGHT = """
from typing import List
import pitwall
import pitwall.history

def train(batches: List[float]) -> float:
    pitwall.init(job="typed", rank=0, labels={"team": "a"}, config={"lr": 0.1})
    total = 0.0
    for batch in pitwall.steps(batches, start=3):
        with pitwall.phase("forward"):
            total += batch
        pitwall.log(loss=total)
        pitwall.log({"accuracy": 0.5}, step=3, labels={"part": 1})
    with pitwall.mode("eval"), pitwall.step(4), pitwall.checkpoint():
        pitwall.log_tokens([1, 2], watch=[0])
    pitwall.profile([5], tools=("torch", "python"))
    handle = pitwall.watch(None, collections=[*pitwall.Collection.defaults(every=5), pitwall.Collection("mine", include="x")])
    handle.close()
    pitwall.watch_collectives().close()
    history = pitwall.history.History("http://127.0.0.1:1", timeout=1)
    first: str = history.series("typed", "train_loss")[0].metric
    print(first, pitwall.info().get("node", ""), len(pitwall.steps(batches)))
    pitwall.finish("failed", timeout=0.5)
    return total

@pitwall.phase("load")
def load(name: str) -> int:
    return len(name)

size: int = load("x")
"""
WRONG = ("pitwall.init(rank='zero')", "pitwall.profile(tools=3)", "pitwall.phase()", "pitwall.step(number='one')",
         "pitwall.nothing()", "pitwall.Collection(3)", "pitwall.info().job", "pitwall.log(3)", "pitwall.steps(3)",
         "[name + 1 for name in pitwall.steps(['a'])]", "pitwall.phase('load')(len)(3)", "pitwall.watch(None).open()",
         "pitwall.history.History(3)", "pitwall.history.Series({}, 'gauge').values.append('a')")


def _mypy_is_there():
    try:
        return subprocess.run([PYTHON, "-c", "import mypy"], stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def _files(ending):
    return [os.path.join(place, name) for place, _, names in os.walk(PACKAGE) for name in names if name.endswith(ending)]


class AnnotationsTest(unittest.TestCase):
    def test_annotations_are_only_in_the_code(self):
        self.assertEqual(_files(".pyi"), [])
        self.assertTrue(os.path.exists(os.path.join(PACKAGE, "py.typed")))

    def test_public_functions_are_annotated(self):
        functions = [getattr(pitwall, name) for name in pitwall.__all__ if inspect.isfunction(getattr(pitwall, name))]
        self.assertGreater(len(functions), 15)
        for function in functions + [pitwall.Collection.__init__, pitwall.Collection.defaults]:
            signature = inspect.signature(function)
            bare = [p.name for p in signature.parameters.values() if p.annotation is p.empty and p.name != "self"]
            self.assertEqual((bare, signature.return_annotation is signature.empty), ([], False), function.__name__)


@unittest.skipUnless(_mypy_is_there(), "NOTE: no mypy for %s; tests/stages/python.sh installs it" % PYTHON)
class MypyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.mkdtemp()  # shared by the tests, so that only the first one reads the whole package
        cls.addClassCleanup(shutil.rmtree, cls.cache)

    def check(self, *arguments):
        done = subprocess.run([PYTHON, "-m", "mypy", "--strict", "--config-file", "pyproject.toml", "--cache-dir", self.cache, *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, cwd=PROJECT)
        return done.returncode, done.stdout

    def test_every_module_passes_strict_mypy(self):
        status, output = self.check("src/pitwall")
        self.assertEqual(status, 0, output)
        self.assertIn("in %d source files" % len(_files(".py")), output)

    def test_user_program_passes_strict_mypy(self):
        status, output = self.check("-c", RIGHT)
        self.assertEqual(status, 0, output)

    def test_each_wrong_line_is_rejected(self):
        status, output = self.check("-c", "import pitwall\nimport pitwall.history\n" + "\n".join(WRONG))
        self.assertEqual(status, 1)
        for line, text in enumerate(WRONG, start=3):
            self.assertIn("<string>:%d: error" % line, output, text)


if __name__ == "__main__":
    unittest.main()
