#!/usr/bin/env python3
"""Draws seeded samples of the repository's text for a reviewer who does not know the code.

sample.py COMMIT [--since COMMIT] [--out FOLDER]

Draws 60 comments, 60 messages, 40 test names, 30 texts from the page, and 30 commit subjects from COMMIT. The seed is the hash of the preceding
commit, so that the sample cannot be chosen. The subjects are those of the last 200 commits, or of the commits after --since. Writes
FOLDER/<commit>.tsv (default: tests/lint/samples) with one line per text: kind, place, text, verdict. The reviewer fills in the verdict: "natural",
or an improved sentence. --summary FILE prints the share of natural texts by kind.
"""
import argparse
import ast
import collections
import os
import random
import re
import subprocess
import sys

COUNTS = {"comment": 60, "message": 60, "test name": 40, "page text": 30, "commit subject": 30}
CPP, SCRIPT = (".cc", ".h"), (".py", ".sh")
PAGE = "services/web/src/"
_COMMENT = re.compile(r"^[ \t]*(?://|#)(?!!|include|define|pragma|if|endif|else|undef)[ \t]?(.*)$")
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_MESSAGE_CALL = re.compile(r"\b(?:InvalidArgument|FailedPrecondition|Unavailable|NotFound|DataLoss|ResourceExhausted|OutOfRange|Unimplemented|PermissionDenied|"
                           r"Unauthenticated|DeadlineExceeded|Aborted|AlreadyExists|PITWALL_LOG|Problem|AddError|AddWarning|Fail)(?:Error)?\s*\(")
_TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.M)


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True, errors="replace").stdout


def texts(commit):
    """Returns {path: text} of the sources at the commit."""
    paths = [p for p in git("ls-tree", "-r", "--name-only", commit).splitlines() if p.endswith((*CPP, *SCRIPT, ".ts", ".tsx"))]
    batch = subprocess.run(["git", "cat-file", "--batch"], input="".join("%s:%s\n" % (commit, p) for p in paths).encode(), check=True, capture_output=True).stdout
    found, at = {}, 0
    for path in paths:
        end = batch.index(b"\n", at)
        size = int(batch[at:end].split()[-1])
        found[path] = batch[end + 1:end + 1 + size].decode("utf-8", "replace")
        at = end + 2 + size
    return found


def comments(path, text):
    """Yields (line, text) for each block of comment lines and each docstring."""
    if path.endswith(".py"):
        try:
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
                    yield getattr(node, "lineno", 1), ast.get_docstring(node)
        except SyntaxError:
            pass
    block, start = [], 0
    for number, line in enumerate(text.splitlines() + [""], 1):
        match = _COMMENT.match(line)
        if match:
            block, start = block + [match.group(1)], start or number
        elif block:
            yield start, " ".join(block)
            block, start = [], 0


def messages(text):
    """Yields (line, text) for the string literals in each call that creates an error or a log line."""
    for call in _MESSAGE_CALL.finditer(text):
        depth, end = 1, call.end()
        while end < len(text) and depth:
            string = re.compile(_STRING).match(text, end)
            if string:
                end = string.end()
                continue
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
        parts = [part[1:-1] for part in re.findall(_STRING, text[call.end():end])]
        message = " … ".join(part for part in parts if part.strip())
        if len(message.split()) >= 3:
            yield text.count("\n", 0, call.start()) + 1, message


def page_texts(text):
    """Yields (line, text) for the text between tags and for strings that are sentences."""
    for match in re.finditer(r">\s*([A-Z][^<>{}=;]*[a-z][^<>{}=;]*?)\s*<|[\"`]([A-Z][^\"`\n]* [^\"`\n]*)[\"`]", text):
        words = " ".join((match.group(1) or match.group(2)).split())
        if len(words.split()) >= 2:
            yield text.count("\n", 0, match.start()) + 1, words


def candidates(commit, since=None):
    """Returns {kind: [(place, text)]} in a fixed order. `since` limits the commit subjects."""
    found = collections.defaultdict(list)
    for path, text in sorted(texts(commit).items()):
        if path.endswith((*CPP, *SCRIPT)):
            found["comment"] += [("%s:%d" % (path, line), words) for line, words in comments(path, text) if len(words.split()) >= 4]
        if path.endswith(CPP) and not re.search(r"_test\.cc$|/testing/|^tests/", path):
            found["message"] += [("%s:%d" % (path, line), words) for line, words in messages(text)]
        if path.endswith(CPP):
            found["test name"] += [("%s:%d" % (path, text.count("\n", 0, m.start()) + 1), "%s.%s" % m.groups()) for m in _TEST.finditer(text)]
        if path.endswith(".py"):
            found["test name"] += [("%s:%d" % (path, text.count("\n", 0, m.start()) + 1), m.group(1)) for m in re.finditer(r"^\s*def (test_\w+)", text, re.M)]
        if path.startswith(PAGE):
            found["page text"] += [("%s:%d" % (path, line), words) for line, words in page_texts(text)]
    found["commit subject"] = [tuple(line.split(" ", 1)) for line in git("log", "--format=%h %s", "-n", "200", commit, *(["^" + since] if since else [])).splitlines()]
    return found


def draw(commit, since, folder):
    full, seed = git("rev-parse", commit).strip(), git("rev-parse", commit + "~1").strip()
    chance, lines = random.Random(seed), ["kind\tplace\ttext\tverdict"]
    for kind, every in ((kind, candidates(full, since)[kind]) for kind in COUNTS):
        for place, words in sorted(chance.sample(every, min(COUNTS[kind], len(every)))):
            lines.append("%s\t%s\t%s\t" % (kind, place, re.sub(r"\s+", " ", words)))
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, full[:12] + ".tsv")
    with open(path, "x", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    return path


def summary(path):
    counts = collections.defaultdict(lambda: [0, 0])
    with open(path, encoding="utf-8") as lines:
        for line in list(lines)[1:]:
            kind, _, _, verdict = line.rstrip("\n").split("\t")
            counts[kind][0] += verdict.strip() == "natural"
            counts[kind][1] += 1
    for kind, (natural, every) in counts.items():
        print("%-15s %3d of %3d natural (%.0f %%)" % (kind, natural, every, 100 * natural / every))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", help="a commit, with its parent at hand")
    parser.add_argument("--since", metavar="COMMIT", help="draw only the subjects of later commits")
    parser.add_argument("--out", default="tests/lint/samples", help="folder of the samples")
    parser.add_argument("--summary", metavar="FILE", help="a sample with verdicts")
    given = parser.parse_args()
    if bool(given.commit) == bool(given.summary):
        parser.error("give a commit or --summary FILE")
    if given.summary:
        summary(given.summary)
    else:
        print(draw(given.commit, given.since, given.out))
    sys.exit(0)
