#!/usr/bin/env python3
"""simulate_loss.py PITWALL [--full] [--rules FILE]: measures false alarms and detected faults of the loss and gradient norm rules.

Seeded losses from six noise laws, logged every step, every 10th, and every 50th, are evaluated with training-numerics.yaml using `pitwall backtest
--format csv`. Some jobs for each law are healthy; the others get one fault: the loss is raised for 1, 3, 6, or 20 logged samples, or to the end of
the job. A single raised batch is not a fault for a spike rule, so its alarms count as false. The gradient norm is another draw from the same law.
Prints false alarms per 1000 logged samples with their 95% upper bound, and the share of jobs with a fault in which a rule reported it. Exits with 1
if a bound at the end of this file does not hold. Synthetic data shows the power of a definition. It does not support a claim of accuracy."""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPO, "tests", "quiet"))
from noise import LAWS, factors, upper_bound  # noqa: E402

PACK = os.path.join(REPO, "rules", "packs", "training-numerics.yaml")
INTERVALS = (1, 10, 50)
LENGTHS = (1, 3, 6, 20, 0)  # lengths in logged samples; 0: until the end of the job
RISES = (0.3, 1.0)
ONSET, AFTER = 300, 100  # logged samples before the fault, and after its start
LEVEL = 2.5
MAPPING = """time: {column: ts, unit: s}
step: {column: step}
job: {column: run}
labels: {rank: "0"}
metrics:
- {column: loss, name: train_loss}
- {column: norm, name: train_grad_norm}
"""
TOLD = ("LossSpike", "GradNormSpike", "LossRaised", "LossOutliers")
WARNINGS = ("LossSpike", "GradNormSpike", "LossRaised")
FALSE_PER_1000 = 0.1
# (log interval, healthy jobs per law, samples per job, jobs per fault, rises)
SHORT = ((1, 2, 1700, 1, (1.0,)), (10, 0, 0, 1, (1.0,)))
FULL = ((1, 20, 2000, 5, RISES), (10, 5, 2000, 3, RISES), (50, 2, 1000, 1, RISES))


def job(law, seed, samples, rise=0.0, length=0):
    """Returns the losses and norms of one job. The loss follows a decreasing power law of the sample count, as in the first part of training."""
    rng = random.Random(seed)
    loss, norm = factors(law, rng), factors(law, rng)
    rows = []
    for i in range(samples):
        raised = 1 + rise if i >= ONSET and (length == 0 or i < ONSET + length) else 1.0
        rows.append((LEVEL * (1 + 10 / (i + 10)) * next(loss) * raised, next(norm) * (1 + 2 * (raised - 1))))
    return rows


def write(path, jobs, interval):
    with open(path, "w", encoding="utf-8") as out:
        out.write("ts,step,run,loss,norm\n")
        for name, rows in jobs:
            for i, (loss, norm) in enumerate(rows):
                out.write("%d,%d,%s,%.6g,%.6g\n" % (1 + i * interval, i * interval, name, loss, norm))


def backtest(pitwall, rules, path, mapping):
    """Returns {job: [[alert, begin step, end step or None]]}."""
    done = subprocess.run([pitwall, "backtest", "--format", "csv", "--mapping", mapping, "--rules", rules, "--no-status", "--input", path],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit("backtest failed: " + done.stderr)
    found = {}
    for line in done.stdout.splitlines():
        event = json.loads(line)
        data = event["data"]
        issues = found.setdefault(data["job"]["name"], [])
        if event["type"].endswith("issue.found"):
            issues.append([data["alert"], data["step"], None])
        elif event["type"].endswith("issue.resolved"):
            next(i for i in reversed(issues) if i[0] == data["alert"] and i[2] is None)[2] = data["step"]
    return found


def bound(alarms, samples):
    worst = upper_bound(alarms)
    return 1000 * worst / samples


class Tally:
    """Results for one law at one interval."""

    def __init__(self):
        self.samples = 0
        self.untrue = dict.fromkeys(TOLD, 0)
        self.faults = {}  # (rise, length): [jobs, reported by rule, cleared or kept open as expected]

    def healthy(self, issues, samples):
        self.samples += samples
        for alert, _, _ in issues:
            if alert in self.untrue:
                self.untrue[alert] += 1

    def fault(self, key, issues, interval):
        length = key[1]
        self.healthy([i for i in issues if i[1] < ONSET * interval], ONSET)
        entry = self.faults.setdefault(key, {"jobs": 0, "right end": 0, **dict.fromkeys(TOLD, 0)})
        entry["jobs"] += 1
        last = (ONSET + (length or AFTER) + 20) * interval
        for alert in TOLD:
            entry[alert] += any(i[0] == alert and i[1] <= last and (i[2] is None or i[2] > ONSET * interval) for i in issues)
        losses = [i for i in issues if i[0] in ("LossSpike", "LossRaised") and (i[2] is None or i[2] > ONSET * interval)]
        still = any(i[2] is None for i in losses)
        entry["right end"] += bool(losses) and still == (length == 0)


def run(pitwall, rules, plan, folder):
    """Returns {(law, interval): Tally} for a plan: [(interval, healthy jobs per law, samples per job, jobs per fault, rises)]."""
    mapping, table = os.path.join(folder, "mapping.yaml"), os.path.join(folder, "log.csv")
    with open(mapping, "w", encoding="utf-8") as out:
        out.write(MAPPING)
    tallies = {}
    for interval, healthy, samples, repeats, rises in plan:
        for law in LAWS:
            tally = tallies[law, interval] = Tally()
            jobs, keys = [], {}
            for i in range(healthy):
                jobs.append(("healthy%d" % i, job(law, "%s %d %d" % (law, interval, i), samples)))
            for rise in rises:
                for length in LENGTHS:
                    for i in range(repeats):
                        name = "fault_%g_%d_%d" % (rise, length, i)
                        keys[name] = (rise, length)
                        jobs.append((name, job(law, "%s %d %s" % (law, interval, name), ONSET + (length or 0) + AFTER, rise, length)))
            write(table, jobs, interval)
            found = backtest(pitwall, rules, table, mapping)
            for name, rows in jobs:
                if name in keys:
                    tally.fault(keys[name], found.get(name, []), interval)
                else:
                    tally.healthy(found.get(name, []), len(rows))
    return tallies


def show(tallies):
    print("false alarms per 1000 healthy logged samples (95%% bound)\n\n| law | interval | samples | %s |" % " | ".join(TOLD))
    print("|---|--:|--:|" + "---|" * len(TOLD))
    for (law, interval), tally in tallies.items():
        if tally.samples:
            cells = ["%.2f (%.2f)" % (1000 * n / tally.samples, bound(n, tally.samples)) for n in tally.untrue.values()]
            print("| %s | %d | %d | %s |" % (law, interval, tally.samples, " | ".join(cells)))
    print("\nreported jobs with a fault (all intervals); right end: cleared after it healed, or still open if it did not\n")
    print("| law | rise | samples | jobs | %s | right end |\n|---|--:|--:|--:|%s---|" % (" | ".join(TOLD), "---|" * len(TOLD)))
    for law in LAWS:
        for key in sorted({k for (name, _), t in tallies.items() if name == law for k in t.faults}, key=lambda k: (k[0], k[1] or 1e9)):
            entries = [t.faults[key] for (name, _), t in tallies.items() if name == law and key in t.faults]
            jobs = sum(e["jobs"] for e in entries)
            shares = ["%.2f" % (sum(e[what] for e in entries) / jobs) for what in TOLD + ("right end",)]
            print("| %s | +%d%% | %s | %d | %s |" % (law, 100 * key[0], key[1] or "to the end", jobs, " | ".join(shares)))


def check(tallies):
    """Checks the bounds and returns one line per failure."""
    wrong = []
    for alert in WARNINGS:
        alarms, samples = sum(t.untrue[alert] for t in tallies.values()), sum(t.samples for t in tallies.values())
        if 1000 * alarms > FALSE_PER_1000 * samples:
            wrong.append("%s: %d false alarms in %d healthy samples, more than %g per 1000" % (alert, alarms, samples, FALSE_PER_1000))
    for law in ("gauss", "t3", "ar", "batches"):
        for (name, interval), tally in tallies.items():
            for (rise, length), entry in tally.faults.items():
                if name != law or rise != 1.0:
                    continue
                where = "%s, every %d steps, +100%% for %s samples" % (law, interval, length or "all")
                if length == 1 and entry["LossSpike"] + entry["GradNormSpike"] > 0:
                    wrong.append(where + ": a single batch is reported")
                if length not in (1, 3) and min(entry["LossSpike"], entry["GradNormSpike"]) < entry["jobs"]:
                    wrong.append(where + ": not found in every job")
                if length == 0 and (entry["right end"] < entry["jobs"] or entry["LossRaised"] < entry["jobs"]):
                    wrong.append(where + ": no issue stays open until the end")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pitwall")
    parser.add_argument("--rules", default=PACK, help="another rule file with the same alerts")
    parser.add_argument("--full", action="store_true", help="all intervals and rises, ten times the jobs (minutes)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tallies = run(os.path.abspath(options.pitwall), options.rules, FULL if options.full else SHORT, folder)
    show(tallies)
    wrong = check(tallies)
    print("\n" + "\n".join("FAILED: " + line for line in wrong) if wrong else "\nall bounds hold")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
