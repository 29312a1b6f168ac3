#!/usr/bin/env python3
"""packs.py PITWALL [--update]: checks the requirements for every shipped rule, and the documentation page for the rules.

Each pack compiles without warnings, alone and with all other packs, and equals the pack built into the binary. Each of its unit tests passes
(through `rules test`). Each alert has unit tests named "<alert>: <what it shows>" that together show: fires, silent, no data, restart. Each alert has
a summary, a description, a suggestion, needs, a severity, and a category; each parameter has a unit. docs/rules.md is the output of `rules list
--markdown` for the packs, with the table of these tests; --update writes it. Ends with "N passed, N failed".
"""
import json
import os
import re
import subprocess
import sys

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKS = os.path.join("rules", "packs")
PAGE = os.path.join("docs", "rules.md")
SHOWN = ("fires", "silent", "no data", "restart")
TEST_FILE = re.compile(r"^(?P<pack>.+?)_test(?:_[a-z0-9]+)?\.yaml$")
# Test name in the output of `rules test --expand`.
ANY_TEST = re.compile(r"^- name: *(?P<name>.*)$")
TEST_NAME = re.compile(r"(?P<rule>\w+): (?P<what>.*)")
HEAD = """# Rules

The shipped packs: `pitwall standalone --rules pack:NAME …`, several at a time; without `--rules` it is `pack:default`. Written by `tests/packs/packs.py --update`
from the packs and their tests: do not edit. `pitwall rules list --json pack:NAME` has the same for programs. Parameters change per job by
`overrides.yaml` or labels of the job, without a restart. How to write your own: [custom-rules.md](custom-rules.md).

A pack may have rules of other packs. They keep the name of their pack and are one rule where both packs are given; `pitwall rules check --explain` shows them:
"""
passed = failed = 0


def result(good, what, detail=""):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("FAILED: %s%s" % (what, "\n" + detail.rstrip() if detail else ""), flush=True)
    return good


def run(*command):
    return subprocess.run(command, cwd=REPO, capture_output=True, text=True)


def tests_of(expanded):
    """Returns {alert: {shown: number of tests}} and the malformed test names."""
    found, strange = {}, []
    for line in expanded.splitlines():
        test = ANY_TEST.match(line)
        if not test:
            continue
        name = json.loads(test["name"]) if test["name"].startswith('"') else test["name"]
        match = TEST_NAME.fullmatch(name)
        if not match:
            strange.append("not in the form \"Rule: what it shows\": %s" % name)
            continue
        counts = found.setdefault(match["rule"], dict.fromkeys(SHOWN, 0))
        for shown in SHOWN:
            counts[shown] += shown in match["what"]
    return found, strange


def check_rule(pack, rule):
    if rule["kind"] != "alert":
        return
    name = "%s: %s" % (pack, rule["name"])
    texts = rule.get("annotations", {})
    lacking = [word for word in ("summary", "description", "suggestion") if not texts.get(word)]
    lacking += [word for word in ("severity", "category") if not rule.get("labels", {}).get(word)]
    lacking += [] if rule.get("needs") else ["needs"]
    lacking += ["the unit of " + p for p, value in rule.get("parameters", {}).items() if not value.get("unit")]
    result(not lacking, "%s has all required fields" % name, "  missing: " + ", ".join(lacking))


def main():
    pitwall, update = os.path.abspath(sys.argv[1]), "--update" in sys.argv[2:]
    files = sorted(os.listdir(os.path.join(REPO, PACKS)))
    packs = [f[:-len(".yaml")] for f in files if not TEST_FILE.match(f)]
    tests = {pack: {} for pack in packs}
    for file in files:
        match = TEST_FILE.match(file)
        if not match:
            continue
        if not result(match["pack"] in packs, "%s belongs to a pack" % file):
            continue
        done = run(pitwall, "rules", "test", os.path.join(PACKS, file))
        result(done.returncode == 0, "rules test %s" % file, done.stdout + done.stderr)
        expanded = run(pitwall, "rules", "test", "--expand", os.path.join(PACKS, file))
        result(expanded.returncode == 0, "rules test --expand %s" % file, expanded.stderr)
        found, strange = tests_of(expanded.stdout)
        result(not strange, "names of tests in %s" % file, "\n".join(strange))
        for rule, counts in found.items():
            total = tests[match["pack"]].setdefault(rule, dict.fromkeys(SHOWN, 0))
            for shown in SHOWN:
                total[shown] += counts[shown]

    table = ["| pack | rule | severity | %s |" % " | ".join(SHOWN), "|---|---|---|" + "---|" * len(SHOWN)]
    composed = ["| pack | also has, of other packs |", "|---|---|"]
    defined = {}
    alerts = 0
    for pack in packs:
        path = os.path.join(PACKS, pack + ".yaml")
        done = run(pitwall, "rules", "check", "--strict", path)
        result(done.returncode == 0, "rules check --strict %s" % path, done.stdout + done.stderr)
        listed = run(pitwall, "rules", "list", "--json", path)
        if not result(listed.returncode == 0, "rules list --json %s" % path, listed.stderr):
            continue
        built_in = run(pitwall, "rules", "list", "--json", "pack:" + pack)
        result(built_in.stdout == listed.stdout, "pack:%s equals its file" % pack, built_in.stderr or "  build again")
        rules = json.loads(listed.stdout)
        included = {}
        for rule in rules:
            by = rule["rule"].split("/")[0]
            if by != pack and rule["kind"] == "alert":
                included.setdefault(by, []).append(rule["name"])
        if included:
            composed.append("| %s | %s |" % (pack, "; ".join("%s: %s" % (by, ", ".join(sorted(set(names)))) for by, names in sorted(included.items()))))
        rules = [rule for rule in rules if rule["rule"].split("/")[0] == pack]
        for rule in rules:
            check_rule(pack, rule)
        severities = {r["name"]: r.get("labels", {}).get("severity", "") for r in rules if r["kind"] == "alert"}
        # Rules that record names with colons are tested under the name of their group.
        recorded = {name for r in rules if r["kind"] != "alert" for name in (r["name"], r["rule"].split("/")[1])}
        unknown = sorted(set(tests[pack]) - set(severities) - recorded)
        result(not unknown, "tests of %s name its rules, or groups that record" % pack, "  unknown: " + ", ".join(unknown))
        for rule in severities:
            defined.setdefault(rule, []).append(pack)
        for rule, severity in severities.items():
            counts = tests[pack].get(rule, dict.fromkeys(SHOWN, 0))
            lacking = [shown for shown in SHOWN if not counts[shown]]
            result(not lacking, "tests of %s/%s" % (pack, rule), "  no test shows: " + ", ".join(lacking))
            table.append("| %s | %s | %s | %s |" % (pack, rule, severity, " | ".join(str(counts[s] or "**0**") for s in SHOWN)))
            alerts += 1
    # Each alert has one definition, except in the debugger packs. These keep SageMaker Debugger's names; one pack has its criteria, and the other has
    # corrected criteria.
    for rule, by in sorted(defined.items()):
        others = [pack for pack in by if not pack.startswith("debugger-compat") and pack != "debugger-profiler"]
        result(len(others) < 2, "%s is defined once" % rule, "  in: " + ", ".join(others))
    paths = [os.path.join(PACKS, pack + ".yaml") for pack in packs]
    done = run(pitwall, "rules", "check", *paths)
    result(done.returncode == 0, "all packs together", done.stdout + done.stderr)

    listed = run(pitwall, "rules", "list", "--markdown", *paths)
    result(listed.returncode == 0, "rules list --markdown", listed.stderr)
    page = "%s\n%s\n\n%d alerts. How many unit tests show what of each (each of them passed when this page was made):\n\n%s\n\n%s\n" % (
        HEAD, "\n".join(composed), alerts, "\n".join(table), listed.stdout.strip())
    written = os.path.join(REPO, PAGE)
    if update:
        with open(written, "w", encoding="utf-8") as out:
            out.write(page)
    there = open(written, encoding="utf-8").read() if os.path.exists(written) else ""
    result(there == page, "%s is current" % PAGE, "  stale: run tests/packs/packs.py %s --update" % sys.argv[1])
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
