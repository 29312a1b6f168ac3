#!/usr/bin/env python3
"""Existence of cited items: documents cited in any text, files cited in documents and C++ comments, and flags and tests cited in documents. A file
may be cited by its name alone."""
import os
import re

from repo import Finding, main

TOP = "services|proto|rules|deploy|helm|tests|clients|docs|cmake"
DOCUMENT = re.compile(r"(?<![\w/<>*{}$.-])((?:[\w.-]+/)*[\w.-]*\w\.md)\b")
FILE = re.compile(r"(?<![\w/<>*$.-])((?:%s)/[\w./-]*\w)(?![\w/]*[*<>${])" % TOP)
FILE_IN_COMMENT = re.compile(r"(?<![\w/<>*$.-])((?:%s)/[\w./-]*\w\.(?:h|cc|py|sh|yaml|proto|json))\b" % TOP)
# A file name without its folder.
BARE_FILE = re.compile(r"(?<![\w/<>*$.-])([A-Za-z][\w-]*\.(?:cc|h|py|sh|proto|inc|tsx?|cmake))\b")
TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.M)
CITED_TEST = re.compile(r"(\w+)\.(\w+)")
FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?![\w-])")
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.S)
WITHOUT_COMMENTS = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*')
# Files that cite missing items on purpose: files with planted text, and this file.
LEFT_OUT = ("tests/lint/selftest.py", "tests/lint/citations.py")
# Files that the build generates.
GENERATED = {"page_files.cc"}
# Flags of other programs that the documents mention.
FOREIGN = {"version", "user"}


class Known:
    """Files and folders in the repository, and every word in its code that follows two dashes or is a quoted name."""

    def __init__(self, repo):
        self.files = set(repo.paths)
        self.folders = {"/".join(p.split("/")[:n]) for p in repo.paths for n in range(1, p.count("/") + 1)}
        self.names = {os.path.basename(p) for p in repo.paths} | GENERATED
        self.tests = {test for p in repo.paths if p.endswith((".cc", ".h")) for test in TEST.findall(repo.text(p) or "")}
        self.suites = {suite for suite, _ in self.tests}
        self.flags = set(FOREIGN)
        for path in repo.paths:
            text = repo.text(path)
            if text and not path.endswith(".md") and path not in LEFT_OUT:
                self.flags.update(FLAG.findall(text))
                self.flags.update(re.findall(r'"([a-z][a-z0-9]*(?:-[a-z0-9]+)*)[="]', text))

    def path(self, name):
        return name in self.files or name in self.folders

    def document(self, cited, citing):
        """Returns true if the path exists relative to the root, the citing file's folder, or docs/."""
        beside = os.path.normpath(os.path.join(os.path.dirname(citing), cited))
        return cited in self.files or beside in self.files or "docs/" + cited in self.files


def check(repo):
    known = Known(repo)
    findings = []
    for path in repo.paths:
        text = repo.text(path)
        if text is None or path in LEFT_OUT:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for name in DOCUMENT.findall(line):
                if not known.document(name, path) and "://" not in line.split(name)[0][-40:]:
                    findings.append(Finding(path, number, "document not found: %s" % name))
        if path.endswith(".md"):
            findings += _in_document(path, text, known)
        elif path.endswith((".cc", ".h")):
            findings += _in_comments(path, text, known)
    return findings


def _in_document(path, text, known):
    for match in CODE.finditer(text):
        begin = text.count("\n", 0, match.start()) + 1
        for offset, line in enumerate(match.group(0).splitlines()):
            for name in FILE.findall(line):
                if not known.path(name.rstrip(".")) and not known.path(name + "_test.cc"):
                    yield Finding(path, begin + offset, "file not found: %s" % name)
            for name in BARE_FILE.findall(line):
                if name not in known.names and match.group(0).startswith("`") and not match.group(0).startswith("```") and not _is_history(path):
                    yield Finding(path, begin + offset, "no file has the name %s" % name)
            for suite, name in CITED_TEST.findall(line):
                if suite in known.suites and (suite, name) not in known.tests:
                    yield Finding(path, begin + offset, "test not found: %s.%s" % (suite, name))
            for flag in FLAG.findall(line):
                if flag not in known.flags:
                    yield Finding(path, begin + offset, "no program in the repository has the flag --%s" % flag)


def _is_history(path):
    """Returns true for documents that describe earlier states of the code."""
    return path == "CHANGELOG.md" or path.startswith("docs/decisions/")


def _in_comments(path, text, known):
    for number, line in enumerate(text.splitlines(), 1):
        for token in WITHOUT_COMMENTS.findall(line):
            if token.startswith("//"):
                for name in FILE_IN_COMMENT.findall(token):
                    if not known.path(name) and "NAME" not in name:
                        yield Finding(path, number, "file not found: %s" % name)


if __name__ == "__main__":
    main(check)
