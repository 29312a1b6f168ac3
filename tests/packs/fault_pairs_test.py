#!/usr/bin/env python3
"""fault_pairs_test.py PITWALL [--long | --show [JOB…]]: tests the number of incidents and their roots for ten faults, alone and in pairs.

Runs synthetic telemetry (fault_pairs.py) through `pitwall backtest` with pack:default and with all packs. Each pair occurs in both orders of onset.
Without --long, only the single faults run with all packs.
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fault_pairs

LONG = "--long" in sys.argv
REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMES = tuple(fault_pairs.FAULTS)
DEFAULT = ("pack:default",)
# All packs except the SageMaker Debugger criteria, because these fire in healthy training.
ALL = tuple("pack:" + name[:-len(".yaml")] for name in sorted(os.listdir(os.path.join(REPO, "rules", "packs")))
            if name.endswith(".yaml") and "_test" not in name and not name.startswith("debugger-compat"))

# Rows: the fault that starts first. Columns: the fault that starts 45 s later.
#   2  two incidents, each with its root        o  one incident with two roots, reported as "A or B"
#   1  one root, the first fault                s  one root, the second fault
# If ranks have died or are hung, faults in the steps are invisible: 1.
WITH_DEFAULT = """
       death   oom   nan  data  rank  node  hang   cpu   xid  loss
death      -     1     1     1     1     1     1     2     2     1
oom        1     -     1     1     1     1     1     2     2     1
nan        2     2     -     2     2     2     2     2     2     1
data       2     2     2     -     2     2     2     2     2     2
rank       2     2     2     2     -     2     2     2     2     2
node       2     2     2     2     o     -     2     2     s     2
hang       1     1     1     1     1     1     -     2     s     1
cpu        2     2     2     2     2     2     2     -     2     2
xid        2     2     2     2     2     1     1     2     -     2
loss       2     2     s     2     2     2     2     2     2     -
"""
WITH_ALL = """
       death   oom   nan  data  rank  node  hang   cpu   xid  loss
death      -     1     1     1     1     1     1     2     2     1
oom        1     -     1     1     1     1     1     2     2     1
nan        2     2     -     2     2     2     2     2     2     2
data       2     2     2     -     2     2     2     2     2     2
rank       2     2     2     2     -     2     2     2     2     2
node       2     2     2     2     o     -     2     2     s     2
hang       1     1     1     1     1     1     -     2     s     1
cpu        2     2     2     2     2     2     2     -     2     2
xid        2     2     2     o     2     1     1     2     -     2
loss       2     2     1     2     2     2     2     2     2     -
"""


class Issue:
    def __init__(self, event):
        data = event["data"]
        self.id, self.alert, self.labels, self.incident = event["id"], data["alert"], data["labels"], data["incident"]
        self.since, self.root_cause = data["active_since"], data.get("root_cause", "")

    def __str__(self):
        where = ",".join("%s=%s" % (name, self.labels[name]) for name in ("rank", "node", "gpu") if name in self.labels)
        return "%s{%s} since %s%s" % (self.alert, where, self.since[14:19], " because of " + self.root_cause[:6] if self.root_cause else "")


def backtest(pitwall, packs, jobs):
    """Returns {job: {incident: {id: Issue}}}, with incidents and issues in the order of their start."""
    with tempfile.TemporaryDirectory() as folder:
        table, mapping = os.path.join(folder, "pairs.csv"), os.path.join(folder, "mapping.yaml")
        with open(mapping, "w", encoding="utf-8") as out:
            out.write(fault_pairs.MAPPING)
        fault_pairs.write(table, jobs)
        done = subprocess.run([pitwall, "backtest", "--format", "csv", "--mapping", mapping, "--no-status", "--end-job", "--input", table, "--rules", *packs],
                              capture_output=True, text=True)
    if done.returncode:
        raise SystemExit("backtest failed: " + done.stderr)
    found, open_issues = {job: {} for job in jobs}, {}
    for line in done.stdout.splitlines():
        event = json.loads(line)
        data = event["data"]
        if "alert" not in data:
            continue
        job = data["job"]["name"]
        key = (job, data["rule"], tuple(sorted(data["labels"].items())))
        if event["type"].endswith("issue.found"):
            issue = Issue(event)
            open_issues[key] = issue
            found[job].setdefault(issue.incident, {})[issue.id] = issue
        elif data.get("root_cause"):
            open_issues[key].root_cause = data["root_cause"]
    return found


def fault_of(issue):
    """Returns the fault whose root is the alert, or the alert itself if it must not be a root."""
    rank, alert = issue.labels.get("rank"), issue.alert
    if alert == "RankDied":
        return "oom" if issue.labels["cause"] == "out of memory" else "death"
    if alert == "StragglerRank":
        return "rank" if rank == "1" else "node"
    # Before the hang is reported, only the lack of progress is visible.
    if issue.labels.get("category") == "hang" or alert == "JobStalled":
        return "hang"
    return {"LossNotFinite": "nan", "NonFinite": "nan", "DataStallShare": "data", "StragglerNode": "node", "CPUSaturated": "cpu",
            "XidRestartNode": "xid", "LossSpike": "loss", "LossRaised": "loss", "LearningRateAnomaly": "loss"}.get(alert, alert)


def roots_of(incidents):
    """Returns, for each incident, the sorted faults of the issues without a cause."""
    return sorted(" or ".join(sorted({fault_of(i) for i in issues.values() if not i.root_cause})) for issues in incidents.values())


def outcome(first, second, incidents):
    """Returns one cell in the table of pairs."""
    roots = roots_of(incidents)
    known = {(first,): "1", (second,): "s", tuple(sorted((first, second))): "2", (" or ".join(sorted((first, second))),): "o"}
    return known.get(tuple(roots), "?")


def jobs_of_pairs():
    jobs = {one: (one, "") for one in NAMES}
    jobs.update({"%s+%s" % pair: pair for pair in itertools.permutations(NAMES, 2)})
    return jobs


def read_table(text):
    lines = [line.split() for line in text.strip().splitlines()]
    return {(line[0], second): cell for line in lines[1:] for second, cell in zip(lines[0], line[1:])}


def written_table(cells):
    lines = [" " * 6 + "".join("%6s" % name for name in NAMES)]
    for first in NAMES:
        lines.append("%-6s" % first + "".join("%6s" % cells.get((first, second), "-") for second in NAMES))
    return "\n".join(lines)


class FaultPairs(unittest.TestCase):
    maxDiff = None

    def check_single_faults(self, found):
        for name in NAMES:
            self.assertEqual(roots_of(found[name]), [name], "%s alone" % name)

    def check(self, packs, table):
        found = backtest(BINARY, packs, jobs_of_pairs())
        self.check_single_faults(found)
        cells = {(first, second): outcome(first, second, found["%s+%s" % (first, second)]) for first, second in itertools.permutations(NAMES, 2)}
        self.assertEqual(written_table(cells), written_table({pair: cell for pair, cell in read_table(table).items() if cell != "-"}),
                         "\n".join("%s: %s" % (job, " | ".join(roots_of(incidents))) for job, incidents in found.items()))

    def test_default_pack_matches_the_table(self):
        self.check(DEFAULT, WITH_DEFAULT)

    def test_all_packs_report_each_single_fault(self):
        self.check_single_faults(backtest(BINARY, ALL, {name: (name, "") for name in NAMES}))

    @unittest.skipUnless(LONG, "takes two minutes; stage kinds passes --long")
    def test_all_packs_match_the_table(self):
        self.check(ALL, WITH_ALL)


def show(pitwall, packs, only):
    jobs = {job: pair for job, pair in jobs_of_pairs().items() if not only or job in only + ["xid"]}
    for job, incidents in backtest(pitwall, packs, jobs).items():
        cell = outcome(*jobs[job], incidents) if jobs[job][1] else ""
        print("%-12s %1s %s" % (job, cell, " | ".join(roots_of(incidents))))
        for incident, issues in incidents.items():
            for issue in issues.values():
                if only:
                    print("    %s %s %s" % (incident[:6], issue.id[:6], issue))


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    if "--show" in sys.argv:
        rest = sys.argv[sys.argv.index("--show") + 1:]
        show(BINARY, ALL if "--all" in sys.argv else DEFAULT, [job for job in rest if job != "--all"])
    else:
        unittest.main(argv=sys.argv[:1], verbosity=2)
