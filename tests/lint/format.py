#!/usr/bin/env python3
"""Formatting of every C++ file by clang-format (.clang-format). `format.py --fix` reformats files with findings."""
import os
import re
import shutil
import subprocess
import sys

from repo import Finding, Repo, main

BATCH = 40


def check(repo, fix=False):
    tool = shutil.which("clang-format")
    if tool is None:
        return [Finding(".clang-format", 1, "clang-format is not installed: deploy/install-deps.sh tests")]
    paths = repo.cpp()
    findings = []
    for at in range(0, len(paths), BATCH):
        batch = [os.path.join(repo.root, p) for p in paths[at:at + BATCH]]
        options = ["-i"] if fix else ["--dry-run", "-Werror", "--ferror-limit=1"]
        done = subprocess.run([tool, "--style=file"] + options + batch, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True)
        for match in re.finditer(r"^(.*?):(\d+):\d+: error: ", done.stderr, re.M):
            findings.append(Finding(os.path.relpath(match.group(1), repo.root), int(match.group(2)),
                                    "not formatted: tests/lint/format.py --fix"))
        if done.returncode and not findings:
            findings.append(Finding(".clang-format", 1, "clang-format failed: " + done.stderr[:500]))
    return findings


if __name__ == "__main__":
    if sys.argv[1:] == ["--fix"]:
        check(Repo(), fix=True)
    else:
        main(check)
