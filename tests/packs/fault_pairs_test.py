#!/usr/bin/env python3
"""fault_pairs_test.py PITWALL [--show [JOB…]]: ten faults, alone and in pairs: how many incidents there are, and which roots they have.

Synthesised telemetry (fault_pairs.py) goes through `pitwall backtest` with pack:default and with all packs. Each pair comes in both orders of onset.
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

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMES = tuple(fault_pairs.FAULTS)
DEFAULT = ("pack:default",)
ALL = tuple("pack:" + name[:-len(".yaml")] for name in sorted(os.listdir(os.path.join(REPO, "rules", "packs")))
            if name.endswith(".yaml") and "_test" not in name)


class Issue:
    def __init__(self, event):
        data = event["data"]
        self.id, self.alert, self.labels, self.incident = event["id"], data["alert"], data["labels"], data["incident"]
        self.since, self.root_cause = data["active_since"], data.get("root_cause", "")

    def __str__(self):
        where = ",".join("%s=%s" % (name, self.labels[name]) for name in ("rank", "node", "gpu") if name in self.labels)
        return "%s{%s} since %s%s" % (self.alert, where, self.since[14:19], " because of " + self.root_cause[:6] if self.root_cause else "")


def backtest(pitwall, packs, jobs):
    """{job: {incident: {id: Issue}}}, each incident and issue in the order of its beginning."""
    with tempfile.TemporaryDirectory() as folder:
        table, mapping = os.path.join(folder, "pairs.csv"), os.path.join(folder, "mapping.yaml")
        with open(mapping, "w", encoding="utf-8") as out:
            out.write(fault_pairs.MAPPING)
        fault_pairs.write(table, jobs)
        done = subprocess.run([pitwall, "backtest", "--format", "csv", "--mapping", mapping, "--no-status", "--input", table, "--rules", *packs],
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


def roots_of(incidents):
    """Of each incident the alerts that nothing explains, sorted."""
    return sorted(" or ".join(sorted({i.alert for i in issues.values() if not i.root_cause})) for issues in incidents.values())


def jobs_of_pairs():
    jobs = {one: (one, "") for one in NAMES}
    jobs.update({"%s+%s" % pair: pair for pair in itertools.permutations(NAMES, 2)})
    return jobs


def show(pitwall, packs, only):
    jobs = {job: pair for job, pair in jobs_of_pairs().items() if not only or job in only + ["xid"]}
    for job, incidents in backtest(pitwall, packs, jobs).items():
        print("%-12s %s" % (job, " | ".join(roots_of(incidents))))
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
        unittest.main()
