#!/usr/bin/env python3
"""Maximum of 500 lines per code file, unless size_allowed.txt has an entry with a reason."""
import os

from repo import Finding, main, read_allowed

LIMIT = 500
CODE = {".cc", ".h", ".py", ".sh", ".js", ".mjs", ".css", ".html", ".go", ".java", ".cmake"}
ALLOWED = "tests/lint/size_allowed.txt"


def _is_code(repo, path):
    name = os.path.basename(path)
    if os.path.splitext(name)[1] in CODE or name == "CMakeLists.txt":
        return True
    return "." not in name and repo.bytes(path)[:2] == b"#!"


def check(repo):
    allowed, findings = read_allowed(ALLOWED, repo.text(ALLOWED) if repo.exists(ALLOWED) else "")
    long = set()
    for path in repo.paths:
        if not _is_code(repo, path):
            continue
        lines = len((repo.text(path) or "").splitlines())
        if lines > LIMIT:
            long.add(path)
            if path not in allowed:
                findings.append(Finding(path, LIMIT + 1, "%d lines, %d are allowed: split it" % (lines, LIMIT)))
    for entry, number in allowed.items():
        if entry not in long:
            findings.append(Finding(ALLOWED, number, "%s is short enough: remove the entry" % entry))
    return findings


if __name__ == "__main__":
    main(check)
