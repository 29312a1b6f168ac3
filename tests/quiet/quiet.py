#!/usr/bin/env python3
"""quiet.py PITWALL [--set choose|report] [--plan fast|page|long] [--packs default|all] [--folder DIR] [--only FAMILY] [--out FILE]: evaluates
simulated training runs.

Prints the issues reported for healthy runs by rule, with 95% bounds, and the detected faults. Unlike quiet_test.py, it does not check the results.
"""
import argparse
import json
import os
import statistics
import time

import judge
import plans


def rates(tally):
    lines = []
    for alert, number in sorted(tally.untrue.items(), key=lambda item: -item[1]):
        rate, most = tally.per_1000(number)
        lines.append("  %-26s %4d  %.3f per 1000 (< %.3f)   %s" % (alert, number, rate, most, " ".join(sorted(set(tally.where[alert]))[:4])))
    return lines


def show(found):
    for family, tally in found.items():
        total = sum(tally.untrue.values())
        print("%s: %d jobs, %d logged steps (%d steps), %.1f h: %d false, %.3f per 1000 (< %.3f)" % (
            (family, tally.jobs, tally.samples, tally.steps, tally.seconds / 3600, total) + tally.per_1000(total)))
        print("\n".join(rates(tally)))
        if tally.noisy:
            print("  alerts that are true of the noise: %s" % tally.noisy)
        if tally.beside:
            print("  alerts next to a fault: %s" % {alert: (number, tally.where[alert][:3]) for alert, number in tally.beside.items()})
    for (fault, every), entry in sorted(found["all"].faults.items()):
        print("%-24s every %-3d found %d of %d, median delay %s rows, worst %s, by %s" % (
            fault, every, entry["found"], entry["jobs"], statistics.median(entry["delays"]) if entry["delays"] else "-", max(entry["delays"], default="-"), entry["by"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pitwall")
    parser.add_argument("--set", default="choose", choices=plans.SETS)
    parser.add_argument("--plan", default="fast", choices=tuple(plans.PLANS))
    parser.add_argument("--packs", default="all", choices=("default", "all"))
    parser.add_argument("--folder", default=judge.PACKS, help="rule files instead of those of this tree")
    parser.add_argument("--trial", action="store_true", help="leave out packs that include others, to try rules without a build")
    parser.add_argument("--only", help="only this family")
    parser.add_argument("--out", help="write the counts as JSON, for page.py")
    parser.add_argument("--match", default="", help="only jobs whose name contains this text")
    options = parser.parse_args()
    began = time.monotonic()
    jobs = [job for job in plans.PLANS[options.plan](options.set)
            if options.only in (None, job["family"]) and options.match in job["name"]]
    made = time.monotonic()
    reports = judge.judge(os.path.abspath(options.pitwall), options.packs, jobs, options.folder, trial=options.trial)
    found = judge.tallies(jobs, reports)
    show(found)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as out:
            json.dump({"set": options.set, "plan": options.plan, "families": {name: tally.plain() for name, tally in found.items()}}, out, indent=1, sort_keys=True)
            out.write("\n")
    print("made in %.0f s, judged in %.0f s" % (made - began, time.monotonic() - made))


if __name__ == "__main__":
    main()
