#!/usr/bin/env python3
"""Only services/base/system/worker.{h,cc} starts threads, and each module's README.md lists the threads of the module.

threads_allowed.txt lists exceptions with a reason. Entries that are no longer needed are findings. The thread table of a README has the columns of
COLUMNS. Its column "files" names paths below the module's folder without extension, or paths from the root; a name with a star is a pattern. Every file
with a Worker or with an allowed thread must be in that column, in a row with the name that its Worker gives to the thread.
"""
import fnmatch
import re

from repo import Finding, includes, main, read_allowed, strip_cpp

HOME = ("services/base/system/worker.h", "services/base/system/worker.cc")
ALLOWED = "tests/lint/threads_allowed.txt"
COLUMNS = ["thread", "owns", "may touch", "stops", "files"]

THREAD = re.compile(r"\bstd::j?thread\b(?!::)|\bstd::async\b|\bpthread_create\b|\basio::thread_pool\b")
MEMBER = re.compile(r"\bWorker\s+(\w+)\s*[;{(=]|[<,]\s*(?:pitwall::)?Worker\s*>+\s*(\w+)\s*[;{(=]")
# The name is the second argument of an initializer, or the string after make_unique<Worker>(clock.
MADE = r'(?:\b(?:%s)\s*[({]|\bmake_unique<Worker>\()\s*[^,"(){}]+,\s*"([^"]+)"'


def stem(path):
    return path.rsplit(".", 1)[0]


def readme_of(path):
    return "/".join(path.split("/")[:2] + ["README.md"])


class Table:
    """Thread table of a README: its header line, and its rows as (line, name cell, stems or patterns in the column "files")."""

    def __init__(self, path, text):
        self.line, self.columns, self.rows = 0, [], []
        folder = path.rsplit("/", 1)[0] + "/"
        for number, line in enumerate(text.splitlines(), 1):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
            if not self.line and cells[:1] == ["thread"]:
                self.line, self.columns = number, cells
            elif self.line and not cells:
                break
            elif self.line and set("".join(cells)) - set("-: "):
                files = re.findall(r"`([^`]+)`", cells[-1])
                self.rows.append((number, cells[0], [stem(f) if f.startswith(folder) else folder + f for f in files]))


def check_table(repo, readme, table):
    if table.columns != COLUMNS:
        yield Finding(readme, table.line, "the columns of a thread table are: " + ", ".join(COLUMNS))
    stems = {stem(path) for path in repo.cpp("services")}
    for number, name, files in table.rows:
        if not files:
            yield Finding(readme, number, "the row names no file")
        for file in files:
            if not fnmatch.filter(stems, file):
                yield Finding(readme, number, "file not found: %s.h or .cc" % file)


def check(repo):
    allowed, findings = read_allowed(ALLOWED, repo.text(ALLOWED) if repo.exists(ALLOWED) else "")
    used = set()
    owners = {}  # stem -> (path, line) of a thread
    members = {}  # stem -> names of its Worker members
    paths = [p for p in repo.cpp("services") if p not in HOME and not repo.is_test(p)]
    users = {stem(path) for path in paths if any(name == HOME[0] for _, _, name in includes(repo.text(path) or ""))}
    for path in paths:
        for number, line in enumerate(strip_cpp(repo.text(path) or "").splitlines(), 1):
            match = THREAD.search(line)
            if match and path not in allowed:
                findings.append(Finding(path, number, "%s: use Worker (services/base/system/worker.h) instead" % match.group(0)))
            elif match:
                used.add(path)
            found = {a or b for a, b in MEMBER.findall(line)} if stem(path) in users else set()
            if found:
                members.setdefault(stem(path), set()).update(found)
            if match or found:
                owners.setdefault(stem(path), (path, number))
    names = {}  # stem -> thread names
    for path in paths:
        if stem(path) in members:
            text = strip_cpp(repo.text(path) or "", strings=False)
            names.setdefault(stem(path), set()).update(re.findall(MADE % "|".join(sorted(members[stem(path)])), text))
    tables = {path: Table(path, repo.text(path) or "") for path in repo.paths if path.startswith("services/") and path == readme_of(path)}
    for readme, table in tables.items():
        if table.line:
            findings += check_table(repo, readme, table)
    for owner, (path, number) in owners.items():
        readme = readme_of(path)
        rows = [name for _, name, files in tables[readme].rows if owner in files] if readme in tables else []
        if not rows:
            findings.append(Finding(path, number, "starts a thread that is not in the thread table of " + readme))
        for name in names.get(owner, ()):
            if rows and not any("`%s`" % name in row or "`%s-" % name in row for row in rows):
                findings.append(Finding(path, number, "no row of %s with this file names the thread `%s`" % (readme, name)))
    for entry, number in allowed.items():
        if entry not in used:
            findings.append(Finding(ALLOWED, number, "%s starts no thread: remove the entry" % entry))
    return findings


if __name__ == "__main__":
    main(check)
