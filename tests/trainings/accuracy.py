#!/usr/bin/env python3
"""Writes the block `trainings` of docs/accuracy.md from the results of matrix.py.

accuracy.py PITWALL [--results DIR] [--out FILE]
"""
import argparse
import collections
import concurrent.futures
import json
import os
import sys

import page
import recordings
from cells import CELLS, PLACES, RATIOS, WORLDS, judge, training_of

HEAD = """## Real trainings, one fault each

Made by `tests/trainings/accuracy.py`, do not edit. Of {date} runs: {cells} of the {all} cells of `tests/trainings/cells.py`.

```
tests/trainings/matrix.py build/release/bin/pitwall PYTHON      # PYTHON: an interpreter with PyTorch (bash tests/stages/parts/torch.sh)
tests/trainings/accuracy.py build/release/bin/pitwall           # this part
```

**Setup.** Each cell is a separate training run: DistributedDataParallel of PyTorch over gloo on one machine, one process per rank, watched by
`pitwall.watch`, with its own `pitwall standalone`. The all-reduce, autograd, and the optimizer are real. Most of a step of 100 ms is sleep, so that 8
ranks fit on 2 cores. The ranks are forked from one process that has imported PyTorch. The runs had no GPU, no NCCL, and no second node.

**Verdicts.** *All packs*: all except `debugger-compat` (SageMaker Debugger's own criteria), `across-runs`, and `summary`, live. *Default*:
`pack:default` alone, in a replay of the recording of the same run; a replay gives the events of a live run. A name is right if alert, rank, and cause
are. It is wrong if an alert that the cell does not expect is reported, or if an issue blames another rank. Issues that are true of the machine
({machine}) are neither. Seconds count from the fault to the event at a client of `pitwall issues watch`. A ratio of 1.2 is the rule's own bound: an
issue and no issue are both right.

*All, replayed*: the results of all packs of this commit on the same recordings. Some cells ran before a rule was fixed, so this line describes the
current rules. A fault that the packs do not name within the time of its cell is missed, even if a rule would name it later.

*Right* in the totals means that name, rank, cause, and root are right, and no issue is wrong; deadlines and incidents have separate columns. **No set
was frozen**: rules were fixed, and the issues allowed beside a fault were chosen, after these cells were seen. This part therefore shows that these
training runs are judged correctly, and does not predict the result of others. `CPUSaturated` was open in nearly all cells, so job-wide symptoms on a
quiet machine are hardly tested.

**The machine** had 2 cores and was shared with builds and tests (load {load_low:.0f} to {load_high:.0f}); the ranks ran at a higher priority.
Symptoms of a whole job that began while `CPUSaturated` was open do not count in the verdict or in incidents, and are shown as *loaded*. The table has
the last run of each cell. One of five runs of `cancelled-2` reported a death of rank 0 instead, because the launcher had read the exit status of the
other rank first; since Linux 6.15 the kernel keeps it for the collector.

"""


def result_of(folder, name):
    path = os.path.join(folder, "all", name + ".json")
    if not os.path.exists(path):
        return None
    with open(path) as text:
        result = json.load(text)
    return result if training_of(result["cell"]) == training_of(CELLS[name]) else None


def short(of, verdict):
    """Returns a cell of the table of slow ranks."""
    if verdict["wrong"]:
        return "**wrong: %s**" % ", ".join(verdict["wrong"])
    if not verdict["named"]:
        return "silent" if of["soft"] or not of["names"] else "**missed**"
    root = "" if verdict["root"] else ", **not the root**"
    many = "" if verdict["incidents"] == 1 else ", **%d incidents**" % verdict["incidents"]
    return "%.1f s%s%s" % (verdict["seconds"], root, many)


def slow_table(done, packs):
    lines = ["| time lost in | ratio | " + " | ".join("%d ranks" % world for world in WORLDS) + " |", "|---|--:|" + "--:|" * len(WORLDS)]
    for where in PLACES:
        for ratio in RATIOS:
            row = []
            for world in WORLDS:
                name = "slow-%s-%d-%.2f" % (where, world, ratio)
                row.append(short(CELLS[name], done[name][packs]) if name in done else "not run")
            lines.append("| %s | %.2f | %s |" % (where, ratio, " | ".join(row)))
    return lines


def other_table(done):
    lines = ["| cell | expected | all packs | seconds | root | incidents | notices | beside it | default |", "|---|---|---|--:|---|--:|--:|---|---|"]
    for name, of in CELLS.items():
        if of["fault"] == "slow":
            continue
        if name not in done:
            lines.append("| %s | %s | not run |||||||" % (name, of["names"][0] if of["names"] else "nothing"))
            continue
        said, default = done[name]["all"], done[name]["default"]
        rank = "" if said.get("rank") is None else " rank " + said["rank"]
        expected = " or ".join(of["names"][:2]) + (" …" if len(of["names"]) > 2 else "") if of["names"] else "nothing"
        what = "**wrong: %s**" % ", ".join(said["wrong"]) if said["wrong"] else ", ".join(said["named"]) + rank or (
            "nothing" if not of["names"] or of["soft"] else "**missed**")
        after = "**wrong: %s**" % ", ".join(default["wrong"]) if default["wrong"] else ", ".join(default["named"]) or (
            "nothing" if not default["expected"] else "**missed**")
        lines.append("| %s | %s%s | %s | %s | %s | %d | %d | %s | %s |" % (
            name, expected, "" if of["rank"] is None or not of["names"] else " rank %d" % of["rank"], what,
            "%.1f" % said["seconds"] if said.get("seconds") is not None else "", "" if "root" not in said else "yes" if said["root"] else "**no**",
            said["incidents"], said["notices"], ", ".join(said["beside"] + ["loaded: " + alert for alert in said["loaded"]]), after))
    return lines


def totals(done, packs):
    """Returns the lines of one table: the numbers of correct cells."""
    kinds = collections.OrderedDict()
    for name, verdicts in done.items():
        of, said = CELLS[name], verdicts[packs]
        if not of["names"]:
            kind = "healthy, or ratio 1.0 and 1.05: nothing wrong told"
        elif not said["expected"]:
            kind = "the packs have no rule for it: nothing wrong told"
        elif of["soft"]:
            kind = "told or silent are both right: nothing wrong told"
        else:
            kind = "a fault that must be named: right name, rank, cause and root"
        count = kinds.setdefault(kind, [0, 0, 0, 0])
        count[0] += 1
        good = not said["wrong"] and (kind[0] != "a" or bool(said["named"] and said["root"]))
        count[1] += good
        count[2] += bool(said["wrong"])
        count[3] += said["incidents"] <= 1
    return ["| %s | %s | %d | %d (%.0f %%) | %d | %d |" % (packs, kind, n, good, 100 * good / n, wrong, one)
            for kind, (n, good, wrong, one) in sorted(kinds.items())]


def live_default(folder, covered):
    """Returns the findings of the cells that ran with pack:default alone."""
    said = []
    for name, of in CELLS.items():
        path = os.path.join(folder, "default", name + ".json")
        if os.path.exists(path):
            with open(path) as text:
                result = json.load(text)
            verdict = judge(of, [tuple(event) for event in result["told"]], result["began"], covered)
            what = "**wrong: %s**" % ", ".join(verdict["wrong"]) if verdict["wrong"] else ", ".join(verdict["named"]) or "silent"
            said.append("%s: %s%s" % (name, what, " after %.1f s" % verdict["seconds"] if verdict.get("seconds") is not None else ""))
    return said


def verdicts(options, name, covered):
    """Returns ({packs: verdict}, the result), or None twice if the cell did not run."""
    of, result = CELLS[name], result_of(options.results, name)
    if result is None or result["errors"]:
        return None, None
    archive, until = os.path.join(options.results, "all", name + ".tar.xz"), result.get("until", 1e12)
    notices = [("notice", {}, 0)] * result["verdict"]["notices"]
    said = {"all": judge(of, [tuple(event) for event in result["told"]] + notices, result["began"]),
            "all, replayed": judge(of, recordings.replay(options.pitwall, archive, "all", until), result["began"]),
            "default": judge(of, recordings.replay(options.pitwall, archive, "default", until), result["began"], covered)}
    for packs in said:
        said[packs]["expected"] = bool(set(of["names"]) & covered) if packs == "default" else bool(of["names"])
    return said, result


def main():
    options = argparse.ArgumentParser()
    options.add_argument("pitwall")
    options.add_argument("--results", default=os.path.join(recordings.REPO, "build", "cells"))
    options.add_argument("--out", default=page.PAGE)
    options = options.parse_args()
    covered = recordings.alerts_of(options.pitwall, "default")
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda name: verdicts(options, name, covered), CELLS))
    done = {name: said for name, (said, _) in zip(CELLS, made) if said}
    loads = [result["load"] for said, result in made if said]
    dates = {result.get("date", "2026-11-23") for said, result in made if said}
    if not done:
        sys.exit("%s: no results; run matrix.py first" % options.results)
    lines = ["### Totals", "", "| packs | cells | run | right | with a wrong name | at most one incident |", "|---|---|--:|--:|--:|--:|"]
    lines += totals(done, "all") + totals(done, "all, replayed") + totals(done, "default")
    alone = live_default(options.results, covered)
    if alone:
        lines += ["", "Live with `pack:default` alone: " + "; ".join(alone) + "."]
    seconds = sorted(v["all"]["seconds"] for n, v in done.items() if CELLS[n]["fault"] in ("signal", "exception", "exit", "nan") and
                     v["all"].get("seconds") is not None)
    if seconds:
        lines += ["", "Deaths, cancellations and NaN were told after %.1f s (median) and %.1f s (most); the goal is 3 s." % (
            seconds[len(seconds) // 2], seconds[-1])]
    lines += ["", "### One slow rank, all packs", "", "Seconds until `StragglerRank` names the rank.", ""] + slow_table(done, "all")
    lines += ["", "### Other faults, and healthy trainings", ""] + other_table(done) + [""]
    machine = sorted({alert for name in done for alert in done[name]["all"]["machine"]})
    head = HEAD.format(date=" to ".join(sorted({min(dates), max(dates)})), cells=len(done), all=len(CELLS),
                       machine=", ".join("`%s`" % alert for alert in machine), load_low=min(loads), load_high=max(loads))
    page.write_block("trainings", head + "\n".join(lines), options.out)
    print("%d cells; missing: %d" % (len(done), len(CELLS) - len(done)))


if __name__ == "__main__":
    main()
