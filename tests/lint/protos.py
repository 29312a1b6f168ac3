#!/usr/bin/env python3
"""The wire contracts pass buf's STANDARD lint (proto/buf.yaml), and the build compiles every .proto file.

buf is installed from npm once, into ${XDG_CACHE_HOME:-~/.cache}/pitwall/buf. Later runs do not need network access.
"""
import json
import os
import re
import shutil
import subprocess

from repo import Finding, main

VERSION = "1.75.0"


def buf():
    """Returns the path of buf, installing it if necessary. Raises RuntimeError with the reason if that fails."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(cache, "pitwall", "buf", VERSION)
    program = os.path.join(folder, "node_modules", ".bin", "buf")
    if os.access(program, os.X_OK):
        return program
    if not shutil.which("npm"):
        raise RuntimeError("npm is not installed: deploy/install-deps.sh tests")
    os.makedirs(folder, exist_ok=True)
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", folder,
                           "@bufbuild/buf@" + VERSION], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True)
    if done.returncode or not os.access(program, os.X_OK):
        raise RuntimeError("npm could not install buf: " + done.stdout[-500:])
    return program


def check(repo):
    findings = []
    try:
        program = buf()
    except RuntimeError as error:
        return [Finding("proto/buf.yaml", 1, str(error))]
    done = subprocess.run([program, "lint", "proto", "--error-format=json"], cwd=repo.root, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    for line in done.stdout.splitlines():
        said = json.loads(line)
        findings.append(Finding(said.get("path", "proto"), said.get("start_line", 1),
                                "%s (%s)" % (said.get("message"), said.get("type"))))
    if done.returncode and not findings:
        findings.append(Finding("proto/buf.yaml", 1, "buf lint failed: " + done.stderr[-500:]))
    lists = re.sub(r"#[^\n]*", "", repo.text("proto/CMakeLists.txt"))
    for path in repo.paths:
        if path.startswith("proto/") and path.endswith(".proto") and path[len("proto/"):] not in lists:
            findings.append(Finding(path, 1, "not compiled by proto/CMakeLists.txt"))
    return findings


if __name__ == "__main__":
    main(check)
