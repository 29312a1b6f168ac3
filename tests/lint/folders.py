#!/usr/bin/env python3
"""Maximum of 30 files per folder, unless folders_allowed.txt has a limit and a reason. Subfolders and README.md do not count."""
import collections
import os

from repo import Finding, main, read_allowed

LIMIT = 30
ALLOWED = "tests/lint/folders_allowed.txt"


def limits(repo):
    """Returns ({folder: (limit or None, line)}, findings). An entry is "<folder> <limit>"; "any" removes the limit, for data folders."""
    entries, findings = read_allowed(ALLOWED, repo.text(ALLOWED) if repo.exists(ALLOWED) else "")
    allowed = {}
    for entry, line in entries.items():
        folder, _, limit = entry.partition(" ")
        if limit != "any" and not limit.isdigit():
            findings.append(Finding(ALLOWED, line, "%s: the limit must be a number or any (%s)" % (folder, limit)))
            continue
        allowed[folder] = (None if limit == "any" else int(limit), line)
    return allowed, findings


def check(repo):
    allowed, findings = limits(repo)
    files = collections.Counter(os.path.dirname(path) for path in repo.paths if os.path.basename(path) != "README.md")
    for folder, count in sorted(files.items()):
        limit, _ = allowed.get(folder, (LIMIT, 0))
        if limit is not None and count > limit:
            findings.append(Finding(folder or ".", 1, "%d files, %d are allowed: divide the folder" % (count, limit)))
    for folder, (limit, line) in sorted(allowed.items()):
        count = files.get(folder, 0)
        if count <= LIMIT:
            findings.append(Finding(ALLOWED, line, "%s has only %d files: remove the entry" % (folder, count)))
        elif limit is not None and count < limit:
            findings.append(Finding(ALLOWED, line, "%s has %d files: lower the limit %d" % (folder, count, limit)))
    return findings


if __name__ == "__main__":
    main(check)
