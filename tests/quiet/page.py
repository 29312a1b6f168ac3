#!/usr/bin/env python3
"""page.py BEFORE.json AFTER.json [--pitwall FILE]: writes the block `quiet` of docs/accuracy.md from two runs of quiet.py, and leaves the rest unchanged.

Both are of the set `report`: BEFORE with the rules of an earlier commit, AFTER with those of this one. BEFORE is kept in tests/quiet/before.json.
"""
import argparse
import json
import os
import re
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/trainings")
import noise
import recordings

PAGE = os.path.join(recordings.REPO, "docs", "accuracy.md")
BEGIN, END = "<!-- begin quiet -->", "<!-- end quiet -->"


def rate(events, exposure, unit):
    return "%.3f (%.3f)" % (unit * events / exposure, unit * noise.upper_bound(events) / exposure)


def untrue_table(before, after, default):
    old, new = before["families"]["all"], after["families"]["all"]
    lines = ["| rule | before | per 1000 | now | per 1000 | per hour |", "|---|--:|--:|--:|--:|--:|"]

    def line(name, alerts):
        a, b = (sum(n for alert, n in one["untrue"].items() if alerts is None or alert in alerts) for one in (old, new))
        return "| %s | %d | %s | %d | %s | %s |" % (name, a, rate(a, old["samples"], 1000), b, rate(b, new["samples"], 1000), rate(b, new["seconds"] / 3600, 1))
    lines.append(line("all rules", None))
    lines.append(line("`pack:default`", default))
    for alert in sorted(set(old["untrue"]) | set(new["untrue"])):
        lines.append(line(alert, {alert}))
    return lines


def family_table(before, after):
    lines = ["| simulated | jobs | logged steps | hours | untrue before | now | per 1000 now |", "|---|--:|--:|--:|--:|--:|--:|"]
    for name, new in sorted(after["families"].items()):
        if name != "all":
            a, b = sum(before["families"][name]["untrue"].values()), sum(new["untrue"].values())
            lines.append("| %s | %d | %d | %.1f | %d | %d | %s |" % (name, new["jobs"], new["samples"], new["seconds"] / 3600, a, b, rate(b, new["samples"], 1000)))
    return lines


def fault_table(before, after):
    old = {(e["fault"], e["every"]): e for e in before["families"]["all"]["faults"]}
    lines = ["| fault | a row each | jobs | found before | now | rows until then: median | most | by |", "|---|--:|--:|--:|--:|--:|--:|---|"]
    for e in after["families"]["all"]["faults"]:
        was = old.get((e["fault"], e["every"]), {"found": "not simulated"})
        by = ", ".join("%s %d" % pair for pair in sorted(e["by"].items()))
        delays = e["delays"]
        lines.append("| %s | %d | %d | %s | %d | %s | %s | %s |" % (e["fault"], e["every"], e["jobs"], was["found"], e["found"],
                                                             "%g" % statistics.median(delays) if delays else "", max(delays) if delays else "", by))
    return lines


def block(before, after, default):
    said = [BEGIN, "# Simulated trainings", "",
            "Made by `tests/quiet/page.py`, do not edit. `tests/quiet/quiet.py PITWALL --set report --plan %s --out FILE` gives the numbers." % after["plan"], "",
            "The data is seeded and synthetic: it tests the definitions, and makes no claim of accuracy. Losses and norms have six noise laws (Gauss, t with 3 degrees of",
            "freedom, gamma, log-normal, autoregressive 0.8, Gauss with 0.5% single batches); rows are logged each step or each tenth to 25th. Steps of 2 and 4 ranks have",
            "noise of σ 0.1 to 0.3 with a correlation ρ of 0 to 0.9 from step to step. Others have evaluations, checkpoints, Pitwall's own saving, and other processes'",
            "timers; or 20 to 45 steps; or a learning rate that falls until its last row. Rules were chosen with another set of seeds. *Before*: the packs",
            "before the rules counted samples. In brackets: the upper 95% bound (no event: 3 / exposure).", "",
            "Not counted, because true of the noise: Jitter and WorkImbalance from σ 0.1 on, LossOutliers in heavy tails, PeriodicStall (it reports the seconds), and the",
            "StepOutlier of debugger-profiler if a timer makes long steps. A raised loss in gamma noise of 25% and log-normal noise of 60% is hidden for six samples,",
            "and `+100 %, 1 samples` must not be found.", "",
            "## Untrue issues of healthy trainings", ""]
    said += untrue_table(before, after, default) + [""] + family_table(before, after) + ["", "## Simulated faults", ""] + fault_table(before, after)
    noisy = after["families"]["all"]["noisy"]
    said += ["", "Now true of the noise: %s." % (", ".join("%s %d" % pair for pair in sorted(noisy.items())) or "none"), END]
    return "\n".join(said) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--pitwall", default=os.path.join(recordings.REPO, "build", "release", "bin", "pitwall"))
    options = parser.parse_args()
    before, after = (json.load(open(path, encoding="utf-8")) for path in (options.before, options.after))
    if before["plan"] != after["plan"] or {before["set"], after["set"]} != {"report"}:
        sys.exit("%s and %s: different plans, or not both of the set report; run quiet.py with --set report" % (options.before, options.after))
    text = block(before, after, recordings.alerts_of(options.pitwall, "default"))
    page = open(PAGE, encoding="utf-8").read()
    if BEGIN in page:
        page = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END) + "\n", lambda _: text, page, flags=re.S)
    else:
        page = page.rstrip("\n") + "\n\n" + text
    with open(PAGE, "w", encoding="utf-8") as out:
        out.write(page)


if __name__ == "__main__":
    main()
