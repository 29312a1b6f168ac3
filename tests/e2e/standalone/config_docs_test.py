#!/usr/bin/env python3
"""config_docs_test.py PITWALL [--update]: checks that docs/configuration.md matches the configuration that the binary describes.

The example on the page must be a valid configuration, and each key of --print-config must have a row. --update writes the page.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
PAGE = os.path.join("docs", "configuration.md")


def run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=30)
    if done.returncode != 0:
        sys.exit("%s: exit %d\n%s" % (" ".join(arguments), done.returncode, done.stderr))
    return done.stdout


def main():
    pitwall = os.path.abspath(sys.argv[1])
    page = run(pitwall, "standalone", "--print-config", "--markdown")
    if "--update" in sys.argv[2:]:
        with open(os.path.join(ROOT, PAGE), "w", encoding="utf-8") as out:
            out.write(page)
        return
    with open(os.path.join(ROOT, PAGE), encoding="utf-8") as there:
        if there.read() != page:
            sys.exit("%s: out of date; run ninja config_docs" % PAGE)
    example = re.search(r"```yaml\n(.*?)```", page, re.S).group(1)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(example)
        file.flush()
        printed = run(pitwall, "standalone", "--config", file.name, "--print-config")
    documented = {row.split(".")[-1] for row in re.findall(r"^\| `([a-z_.\[\]]+)` \|", page, re.M)}
    keys = set(re.findall(r"(?:^ *|[{,] ?)([a-z_]+):", printed, re.M))
    missing = keys - documented - set(re.findall(r"^## ([a-z]+)$", page, re.M))
    if missing or len(keys) < 40:
        sys.exit("keys without a row in the table: %s (%d keys in total)" % (", ".join(sorted(missing)), len(keys)))


main()
