#!/usr/bin/env python3
"""tidy.py [-p BUILD] [--changed [BASE]] [-j N] [FILE…]: runs clang-tidy (.clang-tidy) on the repository's sources.

BUILD (default build/dev) must contain the compile_commands.json that configuring with a preset creates. --changed checks only sources that differ
from BASE (default HEAD) in the working tree or include a header that does. Otherwise, all sources or the given files are checked. The exit code is 1
if there are findings. A clean source is rechecked only if its text, an included header in the repository, .clang-tidy, or its compile command changes
(BUILD/tidy-clean.json).
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

from repo import Repo, includes


def digest(*parts):
    state = hashlib.sha256()
    for part in parts:
        state.update(part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part)
        state.update(b"\0")
    return state.hexdigest()


def closure_of(repo, path, cache):
    """Returns the path and all headers in the repository that it includes, directly or indirectly."""
    if path not in cache:
        cache[path] = {path}  # prevents cycles
        found = {path}
        for _, _, name in includes(repo.text(path) or ""):
            if name in repo.known:
                found |= closure_of(repo, name, cache)
        cache[path] = found
    return cache[path]


def changed_paths(repo, base):
    done = subprocess.run(["git", "-C", repo.root, "diff", "--name-only", base], stdout=subprocess.PIPE, check=True,
                          universal_newlines=True)
    new = subprocess.run(["git", "-C", repo.root, "ls-files", "--others", "--exclude-standard"],
                         stdout=subprocess.PIPE, check=True, universal_newlines=True)
    return set(done.stdout.split("\n")) | set(new.stdout.split("\n"))


def run(tool, build, root, path):
    done = subprocess.run([tool, "--quiet", "--extra-arg=-Wno-unknown-warning-option", "-p", build, os.path.join(root, path)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    # Compiler warnings, for example about an option that only g++ supports, are not findings.
    found = [line for line in done.stdout.splitlines() if re.search(r": (error|warning): .*\[[\w.,-]+\]$", line)]
    return path, done.returncode, found, done.stdout if found else done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-p", dest="build", default=None)
    parser.add_argument("--changed", nargs="?", const="HEAD", default=None, metavar="BASE")
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    repo = Repo()
    repo.known = set(repo.paths)
    build = os.path.abspath(options.build or os.path.join(repo.root, "build", "dev"))
    tool = shutil.which("clang-tidy")
    if tool is None:
        sys.exit("tidy: clang-tidy is not installed: deploy/install-deps.sh tests")
    try:
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            commands = json.load(file)
    except OSError as error:
        sys.exit("tidy: %s; configure with a preset first: cmake --preset dev" % error)
    wanted = {}
    for entry in commands:
        path = os.path.relpath(os.path.realpath(os.path.join(entry["directory"], entry["file"])), repo.root)
        if path in repo.known and path.endswith(".cc"):
            wanted[path] = entry.get("command") or " ".join(entry["arguments"])
    cache = {}
    if options.files:
        named = {os.path.relpath(os.path.abspath(f), repo.root) for f in options.files}
        unknown = named - set(wanted)
        if unknown:
            sys.exit("tidy: not in compile_commands.json: %s" % ", ".join(sorted(unknown)))
        wanted = {p: wanted[p] for p in named}
    elif options.changed:
        changed = changed_paths(repo, options.changed)
        wanted = {p: c for p, c in wanted.items() if closure_of(repo, p, cache) & changed}
    memory = os.path.join(build, "tidy-clean.json")
    try:
        with open(memory, encoding="utf-8") as file:
            clean = json.load(file)
    except (OSError, ValueError):
        clean = {}
    keys = {p: digest(command, repo.text(".clang-tidy"), *[q + (repo.text(q) or "") for q in sorted(closure_of(repo, p, cache))])
            for p, command in wanted.items()}
    todo = sorted(p for p in wanted if clean.get(p) != keys[p])
    begin, failed = time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        for done, (path, code, found, output) in enumerate(pool.map(lambda p: run(tool, build, repo.root, p), todo), 1):
            if code or found:
                failed += 1
                print(output.rstrip() or "%s: clang-tidy exited with %d" % (path, code), flush=True)
            else:
                clean[path] = keys[path]
            if done % 20 == 0:
                print("tidy: %d of %d" % (done, len(todo)), file=sys.stderr, flush=True)
    os.makedirs(build, exist_ok=True)
    with open(memory + ".new", "w", encoding="utf-8") as file:
        json.dump(clean, file, indent=0, sort_keys=True)
    os.replace(memory + ".new", memory)
    print("tidy: %d sources, %d checked now in %.0f s, %d with findings"
          % (len(wanted), len(todo), time.monotonic() - begin, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
