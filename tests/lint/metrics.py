#!/usr/bin/env python3
"""Every series that the collector and the client name stands in rules/metrics.yaml, and in it only once."""
import re

from repo import Finding, in_any, main, strip_cpp

CATALOGUE = "rules/metrics.yaml"
SOURCES = ("services/collector", "services/codec/steps", "clients/python/src")
# A whole string in the shape of a name. It counts as a series if its first word is that of some entry: train_, hw_, …
NAME = re.compile(r"""(?<![\w"'])["']([a-z]+(?:_[a-z0-9]+)+)["'](?![\w"'])""")
ENTRY = re.compile(r"^- name: *([a-zA-Z_:][\w:]*)")
# Words in the same shape that are no series; the reason beside each.
NOT_SERIES = {
    "node_id": "a field", "node_name": "a field", "job_id": "a field", "job_name": "a field", "job_start": "a field",
    "process_start": "a field", "gpu_split_unknown": "a notice",
}


def entries(text):
    """(line, name) of each entry of the catalogue."""
    for number, line in enumerate(text.splitlines(), 1):
        match = ENTRY.match(line)
        if match:
            yield number, match.group(1)


def check(repo):
    findings, known = [], {}
    for number, name in entries(repo.text(CATALOGUE)):
        if name in known:
            findings.append(Finding(CATALOGUE, number, "%s stands here twice (line %d)" % (name, known[name])))
        known.setdefault(name, number)
    first_words = {name.partition("_")[0] for name in known}
    for path in repo.paths:
        if not in_any(path, SOURCES) or repo.is_test(path) or not path.endswith((".cc", ".h", ".py")):
            continue
        text = repo.text(path) or ""
        if not path.endswith(".py"):
            text = strip_cpp(text, strings=False)
        for number, line in enumerate(text.splitlines(), 1):
            for name in NAME.findall(line):
                if name.partition("_")[0] in first_words and name not in known and name not in NOT_SERIES:
                    findings.append(Finding(path, number, "%s is not in %s" % (name, CATALOGUE)))
    return findings


if __name__ == "__main__":
    main(check)
