#!/usr/bin/env python3
"""Writes helm/pitwall/README.md from readme_head.md and a table of values.yaml with its comments. --check only compares."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CHART = os.path.join(HERE, "..", "..", "helm", "pitwall")
README = os.path.join(CHART, "README.md")


def rows(text):
    """Returns (key, default, description) for each value that has a `# --` comment."""
    path, comment, lines = [], None, text.splitlines()
    for number, line in enumerate(lines):
        if line.strip().startswith("# -- "):
            comment = line.strip()[5:]
            continue
        match = re.match(r"^( *)([A-Za-z]+):(?: (.*))?$", line)
        if not match:
            continue
        depth, key, value = len(match.group(1)) // 2, match.group(2), match.group(3) or ""
        path = path[:depth] + [key]
        if comment is None:
            continue
        value = re.sub(r"^[&*]\w+$", "", value)
        if not value:  # a multi-line block
            block = []
            for below in lines[number + 1:]:
                if below.strip() and not below.startswith("  " * (depth + 1)):
                    break
                block.append(below.strip())
            value = "; ".join(block)
        yield ".".join(path), value, comment
        comment = None


def page():
    with open(os.path.join(HERE, "readme_head.md"), encoding="utf-8") as file:
        head = file.read()
    with open(os.path.join(CHART, "values.yaml"), encoding="utf-8") as file:
        table = ["| `%s` | `%s` | %s |" % (key, value.replace("|", "\\|"), what.replace("|", "\\|")) for key, value, what in rows(file.read())]
    return head + "\n| value | default | meaning |\n|---|---|---|\n" + "\n".join(table) + "\n"


def main():
    if "--check" in sys.argv[1:]:
        with open(README, encoding="utf-8") as file:
            sys.exit(0 if file.read() == page() else "helm/pitwall/README.md is stale: run tests/helm/readme.py")
    with open(README, "w", encoding="utf-8") as file:
        file.write(page())


if __name__ == "__main__":
    main()
