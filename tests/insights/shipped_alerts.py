"""Telemetry in which the shipped packs find what their own unit tests say: of each alert the first case that fires, as a job of its own.

The packs' tests (rules/packs/*_test*.yaml) have Prometheus' notation. A series with a rank is of that rank's source, any other is of its node's; on the
step clock a step takes STEP_S.
"""
import glob
import os
import re

import yaml

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BEGAN_NS = 1767225600 * 10 ** 9  # 2026-01-01
STEP_S = 1.0
TICKS = 20  # of a batch
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text):
    """A duration of Prometheus: "1h30m"."""
    return sum(float(number) * UNITS[unit] for number, unit in re.findall(r"([\d.]+)(ms|s|m|h|d)", str(text)))


def values(text):
    """Prometheus' notation of series in unit tests -> values as text, "_" where a sample is missing."""
    out = []
    for word in text.split():
        found = re.fullmatch(r"(.+?)(?:([+-][\d.eE+-]+?))?x(\d+)", word)
        if found and found[1] == "_":
            out += ["_"] * int(found[3])
        elif found:
            first, step = found[1], float(found[2] or 0)
            out += [first if not step else repr(float(first) + i * step) for i in range(int(found[3]) + 1)]
        else:
            out.append("_" if word == "stale" else word)
    return out


def parse_series(text):
    """-> name, [(label, value)]"""
    name, _, labels = text.partition("{")
    return name, [(key, value.encode().decode("unicode_escape")) for key, value in re.findall(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"', labels)]


# Tests that begin as another: the first that fires does so by what only the test gives (an earlier sample, a parameter).
CHOSEN = {"TreeDepth": "TreeDepth: fires when trees have been seven levels deep for ten rounds",
          "UnchangedTensor": "UnchangedTensor: fires, and ends when the tensor moves again"}


def firing_cases():
    """{alert: test} of the first test in which it fires, or the one of CHOSEN."""
    out = {}
    for path in sorted(glob.glob(os.path.join(REPO, "rules", "packs", "*_test*.yaml"))):
        with open(path) as text:
            tests = yaml.safe_load(text)["tests"]
        for test in tests:
            for check in test.get("alert_rule_test", []):
                alert = check["alertname"]
                if check.get("exp_alerts") and CHOSEN.get(alert, test["name"]) == test["name"]:
                    out.setdefault(alert, test)
    return out


class Source:
    def __init__(self, number, job, name, kind, rank, node):
        self.number, self.head, self.series, self.rows = number, (job, name, kind, str(rank), node), [], []

    def add(self, name, labels, column):
        self.series.append([name] + ["%s=%s" % one for one in labels])
        self.rows.append(column)


def sources_of(job, test, first):
    """The sources of one test, numbered from `first`; each has equally long columns."""
    found = {}
    length = 0
    for one in test["input_series"]:
        name, labels = parse_series(one["series"])
        column = values(one["values"])
        length = max(length, len(column))
        known = dict(labels)
        node = known.get("node", "a")
        if test.get("clock") == "step" or "rank" in known:
            rank = known.get("rank", "0")
            key = ("rank-%s@%s" % (rank, node), "rank", rank if rank.isdigit() else "0", node)
        else:
            key = ("node@" + node, "node", -1, node)
        if key not in found:
            found[key] = Source(first + len(found), job, *key)
        found[key].add(name, labels, column)
    for source in found.values():
        source.rows = [column + ["_"] * (length - len(column)) for column in source.rows]
    return list(found.values()), length


def lines(cases):
    """What write_telemetry reads: of all cases, {job: test}."""
    heads, batches, number = [], [], 0
    for job, test in cases.items():
        steps = test.get("clock") == "step"
        every = STEP_S if steps else seconds(test.get("interval", "1m"))
        sources, length = sources_of(job, test, number)
        number += len(sources)
        for source in sources:
            heads.append("\t".join(("source",) + source.head))
            heads += ["\t".join(["series"] + one) for one in source.series]
            for begin in range(0, length, TICKS):
                ticks = []
                for i in range(begin, min(begin + TICKS, length)):
                    row = [column[i] for column in source.rows]
                    if any(value != "_" for value in row):
                        ticks.append("\t".join(["tick", str(BEGAN_NS + int(i * every * 1e9)), str(i) if steps else "-"] + row))
                last = BEGAN_NS + int(min(begin + TICKS, length) * every * 1e9) - 1
                if ticks:
                    batches.append((last, source.number, ["\t".join(("batch", str(source.number), str(last), test.get("mode", "train") if steps else ""))] + ticks))
            batches.append((BEGAN_NS + int(length * every * 1e9), source.number, ["goodbye\t%d\t%d" % (source.number, BEGAN_NS + int(length * every * 1e9))]))
    batches.sort(key=lambda one: one[:2])
    return heads + [line for batch in batches for line in batch[2]]
