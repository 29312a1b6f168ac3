#!/usr/bin/env python3
"""Writes the block `hardware` of docs/accuracy.md: the tests behind each rule of the packs gpu, fleet, and derive. It is generated from the packs and from
the sets of scenarios.py, so that a rule without a set is visible.

hardware_page.py BINARY [--check]
"""
import json
import os
import re
import subprocess
import sys

import dcgm
from exposition import families_of
from node_exporter import INFINIBAND, NFS, RECORDED, NodeExporter
from scenarios import all_scenarios

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(REPO, "docs", "accuracy.md")
BEGIN, END = "<!-- begin hardware -->\n", "<!-- end hardware -->\n"
HARDWARE, EXPORTER, TEXT, NUMBERS = "real hardware", "real exporter", "documented text", "synthetic numbers only"
# Faults that occurred on a real machine, and the test or program that shows it.
REAL = {
    "DiskFull": "`tests/exporters/real_node.py`: a file system of 100 MB that fills",
    "OomKill": "`tests/exporters/real_node.py`: kills at the limit of a control group",
    "Retransmit": "`tests/exporters/real_node.py`: a link that drops packets",
    "HostLeak": "`tests/trainings/cells.py`: a rank that leaks",
}
HEAD = """## Which rules have met hardware

Made by `tests/exporters/hardware_page.py`, do not edit. **No rule was tested with a faulty GPU**: the GPU values of all sets are
synthetic. Their text format is the one that DCGM's exporter documents. The kinds of tests, best first:

| met | what it means | alerts |
|---|---|--:|
"""
MEANS = {
    HARDWARE: "a real fault on a real machine, reported from its own counters",
    EXPORTER: "names, labels, and units come from the output of a real exporter (node_exporter 1.5.0); the fault is a change of its numbers",
    TEXT: "the text follows the documentation: DCGM's exporter, XID catalog; InfiniBand, NFS, and EDAC of node_exporter",
    NUMBERS: "no set through an exporter: unit tests of the rule on canonical series, or values that Pitwall's collector reads from a fake NVML",
}
MIDDLE = """
The sets (`ctest -R exporters`) are %d recordings of scrapes: a quarter of an hour without a fault, then one documented fault on one device. %d of
them have no fault, or one to be ignored. The right alert must be reported on the right device; any other issue fails the test.

| pack | rule | met | by |
|---|---|---|---|
"""


def rules(binary, pack):
    out = subprocess.run([binary, "rules", "list", "--json", os.path.join(REPO, "rules", "packs", pack + ".yaml")], capture_output=True, text=True,
                         check=True)
    return json.loads(out.stdout)


def documented():
    """Returns the families that have text in the sets but no real answer behind it."""
    fields = dcgm.EVERYTHING + dcgm.XID_COUNTS
    own = {name for name, *_ in fields + INFINIBAND + NFS}
    with open(RECORDED, encoding="utf-8") as text:
        recorded = set(families_of(text.read()))
    return own | set(NodeExporter("x", nfs=True).families) - recorded, recorded


def met_by(alert, scenarios):
    if alert in REAL:
        return HARDWARE, REAL[alert]
    sets = [scenario for scenario in scenarios if any(alert == expected for expected, _ in scenario.expected)]
    if not sets:
        return NUMBERS, ""
    texts, _ = documented()
    # A set based on real answers still counts as text if the family of its fault is text.
    of_text = all(scenario.met == TEXT or any(isinstance(exporter, NodeExporter) and {
        key if isinstance(key, str) else key[0] for key in list(exporter.values) + list(exporter.rates)} & texts for exporter in scenario.exporters)
        for scenario in sets)
    return TEXT if of_text else EXPORTER, ", ".join(sorted({scenario.name for scenario in sets}))


def of_recording(rule, texts, recorded):
    names = set(re.findall(r"\b(?:node_\w+|DCGM_\w+|process_resident_memory_bytes|system_\w+)\b", rule["expr"]))
    if names & recorded:
        return EXPORTER
    return TEXT if names & texts else NUMBERS


def block(binary):
    scenarios = all_scenarios()
    for scenario in scenarios:  # to record the changes of each fault
        if scenario.change:
            scenario.change(10 ** 6)
    counts = dict.fromkeys(MEANS, 0)
    lines = []
    for pack in ("gpu", "fleet"):
        for rule in rules(binary, pack):
            if rule["kind"] != "alert":
                continue
            met, by = met_by(rule["name"], scenarios)
            counts[met] += 1
            lines.append("| %s | %s | %s | %s |\n" % (pack, rule["name"], met, by))
    texts, recorded = documented()
    derived = {}
    for rule in rules(binary, "derive"):
        group = rule["rule"].split("/")[1]
        derived.setdefault((group, of_recording(rule, texts, recorded)), set()).add(rule["name"])
    for (group, met), names in sorted(derived.items()):
        lines.append("| derive | %s: %d series | %s | %s |\n" % (group, len(names), met, ", ".join("`%s`" % name for name in sorted(names))
                                                             if met == NUMBERS else ""))
    silent = sum(not scenario.expected for scenario in scenarios)
    table = "".join("| %s | %s | %d |\n" % (met, MEANS[met], counts[met]) for met in MEANS)
    return BEGIN + HEAD + table + MIDDLE % (len(scenarios), silent) + "".join(lines) + END


def main():
    wanted = block(sys.argv[1])
    with open(PAGE, encoding="utf-8") as page:
        text = page.read()
    if BEGIN in text:
        before, _, rest = text.partition(BEGIN)
        new = before + wanted + rest.partition(END)[2]
    else:
        new = text.rstrip("\n") + "\n\n" + wanted
    if "--check" in sys.argv:
        if new != text:
            sys.exit("docs/accuracy.md: the block `hardware` is stale; run tests/exporters/hardware_page.py BINARY")
        return
    with open(PAGE, "w", encoding="utf-8") as page:
        page.write(new)


if __name__ == "__main__":
    main()
