"""Tests for the types of the public functions. mypy --strict must accept the stub and a valid program, and reject an invalid program. The stub must
list every function. Uses $PITWALL_MYPY, an interpreter with mypy (tests/stages/python.sh installs one), or else this interpreter."""
import ast
import inspect
import os
import subprocess
import sys
import tempfile
import unittest

import support

import pitwall

PYTHON = os.environ.get("PITWALL_MYPY") or sys.executable
STUB = os.path.join(support.SOURCES, "pitwall", "__init__.pyi")

RIGHT = """
from typing import List
import pitwall

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
    pitwall.finish("failed", timeout=0.5)
    return total

@pitwall.phase("load")
def load(name: str) -> int:
    return len(name)

size: int = load("x")
"""
WRONG = ("pitwall.init(rank='zero')", "pitwall.profile(tools=3)", "pitwall.phase()", "pitwall.step(number='one')",
         "pitwall.nothing()", "pitwall.Collection(3)", "pitwall.info().job")


def _of_stub(node):
    """Returns [(name, kind, default)]. A default of `...` matches any default."""
    arguments = node.args
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + list(arguments.defaults)
    rows = [(a.arg, "positional", d) for a, d in zip(arguments.args, defaults)]
    rows += [(a.arg, "keyword", d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    rows += [(arguments.kwarg.arg, "rest", None)] if arguments.kwarg else []
    return [(name, kind, "-" if default is None else _Any if isinstance(default.value, type(...)) else default.value)
            for name, kind, default in rows]


class _Anything:
    def __eq__(self, other):
        return other != "-"


_Any = _Anything()


def _of_function(function):
    kinds = {inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional", inspect.Parameter.KEYWORD_ONLY: "keyword",
             inspect.Parameter.VAR_KEYWORD: "rest"}
    return [(p.name, kinds[p.kind], "-" if p.default is p.empty else p.default) for p in inspect.signature(function).parameters.values()]


def _mypy_is_there():
    try:
        return subprocess.run([PYTHON, "-c", "import mypy"], stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


class StubTest(unittest.TestCase):
    def test_stub_has_every_public_function(self):
        with open(STUB, encoding="utf-8") as file:
            text = file.read()
        for name in pitwall.__all__:
            self.assertRegex(text, r"(?m)^(def|class) %s\b|^%s: " % (name, name))
        self.assertTrue(os.path.exists(os.path.join(support.SOURCES, "pitwall", "py.typed")))

    def test_stub_matches_the_functions(self):
        with open(STUB, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        found = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        collection = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Collection")
        init = next(node for node in collection.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
        pairs = [(found[name], getattr(pitwall, name)) for name in pitwall.__all__ if inspect.isfunction(getattr(pitwall, name))]
        for node, function in pairs + [(init, pitwall.Collection.__init__)]:
            self.assertEqual(_of_stub(node), _of_function(function), node.name)


@unittest.skipUnless(_mypy_is_there(), "NOTE: no mypy for %s; tests/stages/python.sh installs it" % PYTHON)
class MypyTest(unittest.TestCase):
    def check(self, *arguments):
        with tempfile.TemporaryDirectory() as cache:
            done = subprocess.run([PYTHON, "-m", *arguments[:1], *arguments[1:]] + (["--cache-dir", cache] if arguments[0] == "mypy" else []),
                                  env=dict(os.environ, MYPYPATH=support.SOURCES, PYTHONPATH=support.SOURCES), stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, universal_newlines=True, cwd=tempfile.gettempdir())
        return done.returncode, done.stdout

    def test_stub_passes_strict_mypy(self):
        status, output = self.check("mypy", "--strict", STUB)
        self.assertEqual(status, 0, output)

    def test_user_program_is_checked(self):
        status, output = self.check("mypy", "--strict", "-c", RIGHT)
        self.assertEqual(status, 0, output)
        status, output = self.check("mypy", "--strict", "-c", "import pitwall\n" + "\n".join(WRONG))
        self.assertEqual(status, 1)
        for line in range(len(WRONG)):
            self.assertIn("<string>:%d: error" % (line + 2), output, WRONG[line])


if __name__ == "__main__":
    unittest.main()
