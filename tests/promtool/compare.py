#!/usr/bin/env python3
"""Runs Prometheus' unit-test files through promtool and pitwall. Both must return the verdict in the file name.

pass_*.yaml must pass, and fail_*.yaml must fail. Files in v3/ need Prometheus 3. Without a promtool from Prometheus 3 (--promtool3), only pitwall
runs them. Ends with "N passed, N failed".
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 60


def verdict(command, path):
    """Returns (verdict, output). The verdict is True for passed, False for failed, or None if there is no verdict."""
    try:
        done = subprocess.run([*command, path.name], cwd=path.parent, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None, "no answer in %d s" % SECONDS
    printed = done.stdout + done.stderr
    return {0: True, 1: False, 2: False}.get(done.returncode), printed


def word(passed):
    return {True: "pass", False: "fail", None: "no verdict"}[passed]


def judge(path, tools):
    """Returns the error for one file, or "" if there is none."""
    expected = path.name.startswith("pass_")
    lines = []
    for name, command in tools:
        got, printed = verdict(command, path)
        if got != expected:
            lines.append("%s: %s, expected %s\n%s" % (name, word(got), word(expected), printed))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pitwall", default="build/release/bin/pitwall")
    parser.add_argument("--promtool", default="promtool", help="any version, including 2")
    parser.add_argument("--promtool3", help="promtool of Prometheus 3, for v3/ too")
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="files to run (default: all)")
    args = parser.parse_args()
    ours = ("pitwall", [os.path.abspath(args.pitwall), "rules", "test"])
    promtool = shutil.which(args.promtool)
    if promtool is None:
        sys.exit("promtool is not installed; run deploy/install-deps.sh tests")
    theirs = ("promtool", [promtool, "test", "rules"])
    newer = [("promtool 3", [os.path.abspath(args.promtool3), "test", "rules"])] if args.promtool3 else []

    paths = [path.resolve() for path in args.files] or sorted(HERE.rglob("*.yaml"))
    paths = [path for path in paths if path.name.startswith(("pass_", "fail_"))]

    def run(path):
        old = [] if path.parent.name == "v3" else [theirs]
        return judge(path, [*old, *newer, ours])

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, wrong in zip(paths, pool.map(run, paths)):
            if wrong:
                failed += 1
                print("FAILED: %s\n%s" % (os.path.relpath(path), wrong))
    print("%d passed, %d failed" % (len(paths) - failed, failed))
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
