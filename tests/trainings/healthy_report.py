#!/usr/bin/env python3
"""Writes the block `healthy` of docs/accuracy.md from the results of healthy.py.

healthy_report.py PITWALL [--results DIR]
"""
import argparse
import concurrent.futures
import os
import sys

import page
from healthy_results import HALVES, bound, counts, load, replayed
from matrix import version_of
from recordings import REPO

HEAD = """## Healthy trainings

Made by `tests/trainings/healthy_report.py`, do not edit. {runs} runs of {kinds} kinds, {steps:,} steps, {hours:.1f} hours of training.

```
tests/trainings/healthy.py build/release/bin/pitwall PYTHON --seeds 1 2                                   # 10 minutes each
tests/trainings/healthy.py build/release/bin/pitwall PYTHON --kinds ddp --seeds 3 --minutes 56            # an hour
tests/trainings/healthy.py build/release/bin/pitwall PYTHON --kinds language-model --seeds 4 --minutes 50
tests/trainings/healthy_report.py build/release/bin/pitwall                                               # this part
```

Each run is a healthy training run of a common kind (`tests/trainings/healthy_kinds.py`), live with its own standalone and all packs except
`debugger-compat`, `across-runs`, and `summary`. Models, data, and schedules are real. Most of a step of 115 ms is sleep with a noise of 3%.

**The machine** had 2 cores, up to ten of these runs at a time, and other builds and tests: load {low:.0f} to {high:.0f} at the ends of the runs. This
is therefore a hard test for rules that judge times, and shows little about a quiet machine. *Machine*: issues that are true of it (`CPUSaturated`).
*Loaded*: symptoms of the whole job that began while such an issue was open. *Told*: all other issues, each of which counts as a false alarm. An issue
that names a rank is never excused.

The long run of the language model belongs to the reporting half, but the bounds of `Overfit` and `Overtraining`
([0075](decisions/0075-include-the-scatter-of-the-judged-rows.md)) were chosen with knowledge of it. For these two rules, the lines *replayed* show that this run
is judged correctly, and do not predict the result of others.

**Halves.** Runs with an odd seed served to choose the rules, runs with an even seed to report them ([0037](decisions/0037-measure-false-alarms-in-healthy-runs.md)).

**Bounds** are upper ends of one-sided 95% intervals of a Poisson count (0 events: 3.0; 1: 4.74). Issues of one run depend on each other, so the
column *runs* gives the number of runs with any. *Default* is `pack:default` alone, in a replay of the same runs; *all, replayed* are all packs of
this commit, in the same way.
"""


def rate(events, exposure):
    return "%s (< %s)" % (number(events / exposure), number(bound(events) / exposure))


def number(value):
    return "0" if value == 0 else "%.3f" % value if value < 1 else "%.1f" % value


def listed(found):
    return ", ".join("%s%s" % (alert, " × %d" % many if many > 1 else "") for alert, many in found.items()) or "nothing"


def run_table(results):
    lines = ["### The runs", "", "| kind | half | ranks | steps | hours | told, all packs | loaded | machine | default |", "|---|---|--:|--:|--:|---|---|---|---|"]
    for run in results:
        lines.append("| %s | %s | %d | %d | %.2f | %s | %s | %s | %s |" % (
            run["kind"], run["half"], run["ranks"], run["steps"], run["hours"], listed(counts(run["issues"], "training")),
            listed(counts(run["issues"], "loaded")), listed(counts(run["issues"], "machine")), listed(counts(run["default"], "training"))))
    return lines


def rule_table(results, source, title):
    lines = ["", "### " + title, "", "| rule | half | told | runs | per 1000 steps (bound) | per hour (bound) | kinds |", "|---|---|--:|--:|--:|--:|---|"]
    alerts = sorted({alert for run in results for alert in counts(run[source], "training")})
    for which in HALVES:
        mine = [run for run in results if run["half"] == which]
        if not mine:
            continue
        steps, hours = sum(run["steps"] for run in mine), sum(run["hours"] for run in mine)
        for alert in ["all rules"] + alerts:
            each = [(run["kind"], sum(many for name, many in counts(run[source], "training").items() if alert in ("all rules", name))) for run in mine]
            total = sum(many for _, many in each)
            lines.append("| %s | %s | %d | %d of %d | %s | %s | %s |" % (
                alert, which, total, sum(many > 0 for _, many in each), len(mine), rate(total, steps / 1000), rate(total, hours),
                ", ".join(sorted({kind for kind, many in each if many}))))
    return lines


def kind_table(results):
    lines = ["", "### By kind", "", "| kind | half | steps | hours | told, all packs | per 1000 steps (bound) | per hour (bound) | told, default |",
             "|---|---|--:|--:|--:|--:|--:|--:|"]
    for kind in sorted({run["kind"] for run in results}):
        for which in HALVES:
            mine = [run for run in results if run["kind"] == kind and run["half"] == which]
            if mine:
                steps, hours = sum(run["steps"] for run in mine), sum(run["hours"] for run in mine)
                told, default = (sum(sum(counts(run[source], "training").values()) for run in mine) for source in ("issues", "default"))
                lines.append("| %s | %s | %d | %.2f | %d | %s | %s | %d |" % (
                    kind, which, steps, hours, told, rate(told, steps / 1000), rate(told, hours), default))
    return lines


def main():
    options = argparse.ArgumentParser()
    options.add_argument("pitwall")
    options.add_argument("--results", default=os.path.join(REPO, "build", "healthy"))
    options = options.parse_args()
    pitwall = os.path.abspath(options.pitwall)
    results = load(os.path.join(options.results, "all"))
    if not results:
        sys.exit("%s: no results; run healthy.py first" % options.results)

    def again(run):
        run["default"] = replayed(pitwall, run["path"] + ".tar.xz", "default", run["until"])
        # A replay with the packs of the run gives the events of the run.
        run["replayed"] = run["issues"] if run["binary"] == version else replayed(pitwall, run["path"] + ".tar.xz", "all", run["until"])
    version = version_of(pitwall)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(again, results))
    lines = run_table(results) + kind_table(results) + rule_table(results, "issues", "False alarms by rule, all packs, live")
    lines += rule_table(results, "replayed", "False alarms by rule, all packs, replayed")
    lines += rule_table(results, "default", "False alarms by rule, pack:default, replayed")
    head = HEAD.format(runs=len(results), kinds=len({run["kind"] for run in results}), steps=sum(run["steps"] for run in results),
                       hours=sum(run["hours"] for run in results), low=min(run["load"] for run in results), high=max(run["load"] for run in results))
    page.write_block("healthy", head + "\n" + "\n".join(lines))
    print("%d runs" % len(results))


if __name__ == "__main__":
    main()
