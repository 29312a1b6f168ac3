#!/usr/bin/env python3
"""count.py CTEST_JUNIT GTEST_DIR: prints "<passed> <failed>" over the test cases of a ctest run.

Each case of a ctest counts separately if its GoogleTest binary wrote an XML file or if it uses Python's unittest. Any other ctest counts as one case. Skipped
cases do not count; their number goes to stderr. Names of failed cases go to stderr as "FAILED: <name>".
"""
import glob
import os
import re
import sys
import xml.etree.ElementTree as xml


def tell_failed(name):
    print("FAILED: %s" % name, file=sys.stderr)


def gtest_cases(folder):
    """Returns binary name -> [passed, failed, skipped]. The counts from several runs of a binary are added up."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.xml"))):
        # A binary that runs more than once writes x.xml, x_1.xml, …
        name = os.path.splitext(os.path.basename(path))[0]
        stem, _, number = name.rpartition("_")
        name = stem if number.isdigit() else name
        counts = found.setdefault(name, [0, 0, 0])
        try:
            root = xml.parse(path).getroot()
        except xml.ParseError:
            counts[1] += 1
            tell_failed("%s (its report is cut off)" % name)
            continue
        for case in root.iter("testcase"):
            if case.find("failure") is not None:
                counts[1] += 1
                tell_failed("%s: %s.%s" % (name, case.get("classname"), case.get("name")))
            elif case.get("status") == "notrun" or case.find("skipped") is not None or case.get("result") == "skipped":
                counts[2] += 1
            else:
                counts[0] += 1
    return found


def cases_in_script(test):
    """Returns the number of cases that a passed script ran: the number reported by Python's unittest, otherwise 1."""
    output = test.findtext("system-out") or ""
    ran = re.findall(r"^Ran (\d+) tests? in ", output, re.M)
    skipped = re.findall(r"^OK \(.*?skipped=(\d+)", output, re.M)
    return max(1, sum(map(int, ran)) - sum(map(int, skipped)))


def main():
    junit, folder = sys.argv[1:]
    passed = failed = skipped = 0
    cases = gtest_cases(folder)
    for counts in cases.values():
        passed, failed, skipped = passed + counts[0], failed + counts[1], skipped + counts[2]
    try:
        tests = list(xml.parse(junit).getroot().iter("testcase"))
    except (OSError, xml.ParseError):
        tell_failed("ctest left no report")
        print(passed, failed + 1)
        return 1
    for test in tests:
        name, status = test.get("name"), test.get("status")
        inside = cases.get(name + "_test") or cases.get(name)
        if status == "run":
            passed += 0 if inside else cases_in_script(test)
        elif status == "disabled" or (test.find("skipped") is not None
                                      and test.find("skipped").get("message", "").startswith("SKIP_")):
            skipped += 1
        elif not (inside and inside[1]):  # failed: a crash, a timeout, a missing binary, or no GoogleTest
            failed += 1
            tell_failed("%s (ctest: %s)" % (name, status))
    if skipped:
        print("NOTE: %d skipped" % skipped, file=sys.stderr)
    print(passed, failed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
