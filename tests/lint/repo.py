"""Shared code for the lints: files in the repository, C++ text without comments, modules, and the output of findings.

A lint is a module with check(repo) -> list of Finding; its main is repo.main(check). Repo can also contain planted files, which selftest.py uses to
check that each lint detects its faults.
"""
import os
import re
import subprocess
import sys
from typing import NamedTuple

CPP = (".cc", ".h")
_KEPT_OUT = {".git", "build", ".cache", "node_modules", "__pycache__"}


class Finding(NamedTuple):
    path: str
    line: int
    text: str

    def __str__(self):
        return "%s:%d: %s" % self


class Module(NamedTuple):
    """One add_module() call: folder, location, and its argument lists by keyword."""

    folder: str
    path: str
    line: int
    lists: dict


class Repo:
    """Committed and uncommitted files: path from the root -> text. Files ignored by git are excluded."""

    def __init__(self, root=None, planted=None):
        self.root = root or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self._texts = dict(planted or {})
        self._tests = None
        self.paths = sorted(self._texts) if planted is not None else _list_files(self.root)

    def bytes(self, path):
        if path in self._texts:
            return self._texts[path].encode("utf-8")
        with open(os.path.join(self.root, path), "rb") as file:
            return file.read()

    def text(self, path):
        """Returns the file's text, or None for a binary file."""
        if path not in self._texts:
            data = self.bytes(path)
            try:
                self._texts[path] = None if b"\0" in data else data.decode("utf-8")
            except UnicodeDecodeError:
                self._texts[path] = None
        return self._texts[path]

    def cpp(self, *roots):
        """Returns the C++ paths, limited to these folders if any are given."""
        return [p for p in self.paths if p.endswith(CPP) and (not roots or in_any(p, roots))]

    def exists(self, path):
        return path in set(self.paths)

    def is_test(self, path):
        """Returns true if the file is only for tests, based on its name or because only tests include the header. A source with such a header
        (log_test_fixture.cc) is also for tests."""
        if self._tests is None:
            includers = {}
            for at in self.cpp():
                for _, _, name in includes(self.text(at) or ""):
                    includers.setdefault(name, set()).add(at)
            self._tests = {at for at in self.cpp() if _named_as_test(at)}
            while True:
                more = set()
                for header, users in includers.items():
                    source = header[:-2] + ".cc"
                    if header not in self._tests and users - {source} and users - {source} <= self._tests:
                        more |= {header, source}
                if not more:
                    break
                self._tests |= more
        return path in self._tests or _named_as_test(path)

    def modules(self):
        found = []
        for path in self.paths:
            if os.path.basename(path) == "CMakeLists.txt":
                found += _modules_of(path, self.text(path) or "")
        return {module.folder: module for module in found}


def _list_files(root):
    try:
        # Uncommitted files are included, so that they are checked before the commit.
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        paths = [p for p in listed.decode("utf-8", "surrogateescape").split("\0") if p]
    except (OSError, subprocess.CalledProcessError):  # a source archive without git
        paths = []
        for folder, folders, files in os.walk(root):
            folders[:] = [f for f in folders if f not in _KEPT_OUT]
            paths += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return sorted({p for p in paths if os.path.isfile(os.path.join(root, p))})


def in_any(path, folders):
    return any(path == f or path.startswith(f.rstrip("/") + "/") for f in folders)


def _named_as_test(path):
    return path.startswith("tests/") or "/testing/" in path or re.search(r"_(test|bench|fuzz)\.(cc|h)$", path) is not None


_CPP_TOKEN = re.compile(r"""R"(?P<tag>[^()\\ ]{0,16})\((?:.|\n)*?\)(?P=tag)"   # a raw string
                            |"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*(?:.|\n)*?\*/""", re.X)


def strip_cpp(text, strings=True):
    """Returns the text with comments (and string contents) blanked and line numbers unchanged."""
    def blank(match):
        token = match.group(0)
        if token[0] != "/" and not strings:
            return token
        return re.sub(r"[^\n]", " ", token)
    return _CPP_TOKEN.sub(blank, text)


_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)


def includes(text):
    """Returns (line, "<" or '"', name) for each include."""
    bare = strip_cpp(text, strings=False)
    return [(bare.count("\n", 0, m.start()) + 1, m.group(1), m.group(2)) for m in _INCLUDE.finditer(bare)]


_KEYWORDS = {"SRCS", "HDRS", "DEPS", "LIBS", "TESTS", "TEST_DEPS", "TEST_LIBS"}


def _modules_of(path, text):
    bare = re.sub(r"#[^\n]*", "", text)
    for match in re.finditer(r"\badd_module\s*\(([^()]*)\)", bare):
        words = match.group(1).split()
        lists, keyword = {name: [] for name in _KEYWORDS}, None
        for word in words[1:]:
            if word in _KEYWORDS:
                keyword = word
            elif keyword:
                lists[keyword].append(word)
        if words and "${" not in words[0]:
            yield Module(words[0], path, bare.count("\n", 0, match.start()) + 1, lists)


def module_of(path, modules):
    """Returns the innermost module whose folder contains the path, or None."""
    folder = os.path.dirname(path)
    while folder and folder not in modules:
        folder = os.path.dirname(folder)
    return modules.get(folder)


def closure(folder, modules):
    """Returns the module and all modules below it."""
    seen, todo = set(), [folder]
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            todo += modules[at].lists["DEPS"] if at in modules else []
    return seen


def read_allowed(path, text):
    """Reads an allow-list with lines "<path or pattern>  # <reason>". Returns ({entry: line}, findings for entries without a reason)."""
    allowed, findings = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        entry, hash_sign, reason = line.partition("#")
        if not entry.strip():
            continue
        if not hash_sign or len(reason.split()) < 3:
            findings.append(Finding(path, number, "an entry needs a reason: <entry>  # <why>"))
        allowed[entry.strip()] = number
    return allowed, findings


def main(check):
    findings = sorted(set(check(Repo())))
    for finding in findings:
        print(finding)
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    print("%s: %s" % (name, "%d findings" % len(findings) if findings else "clean"))
    sys.exit(1 if findings else 0)
