"""Telemetry that makes the shipped packs raise the alerts in their own unit tests. Each alert uses the first test in which it fires, as a separate
job.

The packs' tests (rules/packs/*_test*.yaml) use the series notation of Prometheus. A series with a rank belongs to that rank's source, and any other
series to its node's source. On the step clock, a step takes STEP_S. Facts that are not in samples are sent as in a live job:

* A new attempt is a new process of rank 0.
* A source becomes silent when its series end as stale. It does not send a Goodbye, and clock ticks pass while the other sources send every second.
"""
import glob
import os
import re
import subprocess

import yaml

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BEGAN_NS = 1767225600 * 10 ** 9  # 2026-01-01
STEP_S = 1.0
TICKS = 20  # ticks per batch
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text):
    """Parses a Prometheus duration such as "1h30m"."""
    return sum(float(number) * UNITS[unit] for number, unit in re.findall(r"([\d.]+)(ms|s|m|h|d)", str(text)))


def values(text):
    """Expands the series notation of Prometheus unit tests to values as text, with "_" for a missing sample."""
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
    """Returns the metric name and [(label, value)]."""
    name, _, labels = text.partition("{")
    return name, [(key, value.encode().decode("unicode_escape")) for key, value in re.findall(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"', labels)]


# Alerts for which another test is used, because the first test depends on facts that its series do not contain, such as an earlier sample or a
# parameter.
CHOSEN = {"TreeDepth": "TreeDepth: fires when trees have been seven levels deep for ten rounds",
          "UnchangedTensor": "UnchangedTensor: fires, and ends when the tensor moves again"}


def firing_cases(pitwall):
    """Returns {alert: the first test in which it fires, or the test selected by CHOSEN}. `pitwall` expands the test files."""
    out = {}
    for path in sorted(glob.glob(os.path.join(REPO, "rules", "packs", "*_test*.yaml"))):
        expanded = subprocess.run([pitwall, "rules", "test", "--expand", path], stdout=subprocess.PIPE, text=True, check=True).stdout
        for test in yaml.safe_load(expanded)["tests"]:
            for check in test.get("alert_rule_test", []):
                alert = check["alertname"]
                if check.get("exp_alerts") and CHOSEN.get(alert, test["name"]) == test["name"]:
                    out.setdefault(alert, test)
    return out


BEGUN = "pitwall_job_attempts_begun_total"


class Source:
    def __init__(self, number, job, name, kind, rank, node):
        self.number, self.head, self.series, self.rows, self.stale = number, (job, name, kind, str(rank), node), [], [], False

    def add(self, name, labels, text):
        self.series.append([name] + ["%s=%s" % one for one in labels])
        self.rows.append(values(text))
        self.stale = self.stale or "stale" in text.split()

    def silent_from(self):
        """Returns the tick at which a silent source stops sending data, or None."""
        last = max((i for column in self.rows for i, value in enumerate(column) if value != "_"), default=-1)
        return last + 1 if self.stale and last + 1 < len(self.rows[0]) else None

    def tick(self, i, at, steps):
        row = [column[i] for column in self.rows]
        return ["\t".join(["tick", str(at), str(i) if steps else "-"] + row)] if any(value != "_" for value in row) else []


def sources_of(job, test, first):
    """Returns the sources of one test, numbered from `first`, with columns of equal length; the number of ticks; and the ticks at which attempts
    start."""
    found, begun = {}, []
    length = 0
    ranks = any("rank" in dict(parse_series(one["series"])[1]) for one in test["input_series"])
    for one in test["input_series"]:
        name, labels = parse_series(one["series"])
        length = max(length, len(values(one["values"])))
        if name == BEGUN and ranks:
            column = values(one["values"])
            begun = [i for i in range(1, len(column)) if column[i] != column[i - 1]]
            continue
        known = dict(labels)
        node = known.get("node", "a")
        if test.get("clock") == "step" or "rank" in known:
            rank = known.get("rank", "0")
            key = ("rank-%s@%s" % (rank, node), "rank", rank if rank.isdigit() else "0", node)
        else:
            key = ("node@" + node, "node", -1, node)
        if key not in found:
            found[key] = Source(first + len(found), job, *key)
        found[key].add(name, labels, one["values"])
    for source in found.values():
        source.rows = [column + ["_"] * (length - len(column)) for column in source.rows]
    return list(found.values()), length, begun


def head(source):
    return ["\t".join(("source",) + source.head)] + ["\t".join(["series"] + one) for one in source.series]


def falls_silent(test):
    return any(source.silent_from() is not None for source in sources_of("", test, 0)[0])


def batch(source, last, mode, ticks):
    return ["\t".join(("batch", str(source.number), str(last), mode))] + ticks


def ends_of_batches(length, steps, begun):
    """Returns the ticks at which batches end. A batch belongs to one process. The first step is a separate batch, because a client promises it
    separately and evaluation starts at that step."""
    return sorted({*range(TICKS, length, TICKS), *begun, *([1] if steps else []), length})


def sent_in_batches(source, length, every, mode, begun):
    """Returns [(time, source number, lines)] for a source that sends several ticks at a time."""
    out, begin = [], 0
    for end in ends_of_batches(length, bool(mode), begun):
        ticks = [line for i in range(begin, end) for line in source.tick(i, BEGAN_NS + int(i * every * 1e9), bool(mode))]
        last = BEGAN_NS + int(end * every * 1e9) - 1
        boot = ["boot\t%d\tboot-%d" % (source.number, begin)] if begin in begun and source.head[2] == "rank" else []
        if ticks:
            out.append((last, source.number, boot + batch(source, last, mode, ticks)))
        begin = end
    over = BEGAN_NS + int(length * every * 1e9)
    return out + [(over, source.number, ["goodbye\t%d\t%d" % (source.number, over)])]


def sent_each_second(source, length, every):
    """Returns the same as sent_in_batches(), but for a source that sends every second until it becomes silent."""
    out, silent = [], source.silent_from()
    for second in range(int((length if silent is None else silent) * every)):
        last = BEGAN_NS + (second + 1) * 10 ** 9 - 1
        ticks = source.tick(int(second / every), BEGAN_NS + second * 10 ** 9, False) if second % every == 0 else []
        out.append((last, source.number, batch(source, last, "", ticks) if ticks else ["beat\t%d\t%d" % (source.number, last)]))
    over = BEGAN_NS + int(length * every * 1e9)
    return out + ([(over, source.number, ["goodbye\t%d\t%d" % (source.number, over)])] if silent is None else [])


def lines(cases):
    """Returns the input of write_telemetry for all cases, {job: test}. Cases in which a source becomes silent need a separate log, because their
    clock ticks affect all jobs."""
    heads, sent, number = [], [], 0
    for job, test in cases.items():
        steps = test.get("clock") == "step"
        every = STEP_S if steps else seconds(test.get("interval", "1m"))
        sources, length, begun = sources_of(job, test, number)
        number += len(sources)
        silent = falls_silent(test)
        for source in sources:
            heads += head(source)
            sent += sent_each_second(source, length, every) if silent else sent_in_batches(source, length, every, test.get("mode", "train") if steps else "", begun)
        if silent:
            for second in range(int(length * every)):
                last = BEGAN_NS + (second + 1) * 10 ** 9 - 1
                sent.append((last, 10 ** 9, ["clock\t%d" % last]))
    sent.sort(key=lambda one: one[:2])
    return heads + [line for one in sent for line in one[2]]
