#!/usr/bin/env python3
"""Tests third-party exporter metrics, from pack:derive to issues. Runs each set in scenarios.py through `pitwall backtest` and expects the correct
alerts on the correct device, and no other alerts.

exporters_test.py BINARY [--rules FILE…] [--only NAME] [--keep DIR]
"""
import argparse
import collections
import datetime
import json
import os
import subprocess
import sys
import tempfile

from exposition import Scraper
from modes import all_modes
from scenarios import FAULT, all_scenarios

BASE = 1767225600  # time of the first scrape
PACKS = ["pack:derive", "pack:gpu", "pack:fleet"]


def write_scrapes(scenario, path):
    """Writes the recording that a scraper would produce for the set. Targets are scraped one after another, each at its own offset."""
    lines = []
    scrapers = [Scraper({"instance": "%s:%d" % (exporter.host, exporter.port), "job": "exporters", "pitwall_job": scenario.name})
                for exporter in scenario.exporters]
    client = Scraper({"pitwall_job": scenario.name})
    scrape = 0
    while scrape * scenario.interval <= scenario.seconds:
        for place, exporter in enumerate(scenario.exporters):
            time = scrape * scenario.interval + 0.731 * place
            if scenario.change and time >= FAULT:
                scenario.change(time)
            if not exporter.alive:
                continue
            lines += scrapers[place].scraped(exporter.text(time), BASE + time)
        if scenario.client:
            time = scrape * scenario.interval
            for line in scenario.client(time):
                lines += client.scraped(line, BASE + time)
        scrape += 1
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(lines)


def matches(expected, issue):
    alert, labels = expected
    return issue[0] == alert and all(issue[1].get(name) == value for name, value in labels.items())


def verdict(scenario, issues):
    """Returns the mismatches as text."""
    wrong = []
    for expected in scenario.expected:
        if not any(matches(expected, issue) for issue in issues):
            wrong.append("missed: %s %s" % expected)
    for alert, labels, time in issues:
        where = "%s %s at %+.0f s" % (alert, labels, time - FAULT)
        if time < FAULT:
            wrong.append("reported before the fault: " + where)
        elif not any(matches(expected, (alert, labels)) for expected in scenario.expected) and alert not in scenario.allowed:
            wrong.append("false: " + where)
    for expected in scenario.expected:
        if sum(matches(expected, issue) for issue in issues) > 1:
            wrong.append("reported more than once: %s %s" % expected)
    return wrong


def run(binary, rules, scenarios, folder):
    """Returns {scenario name: [(alert, labels, seconds since the first scrape)]}."""
    paths = []
    for scenario in scenarios:
        paths.append(os.path.join(folder, scenario.name + ".prom"))
        write_scrapes(scenario, paths[-1])
    done = subprocess.run([binary, "backtest", "--format", "openmetrics", "--no-status", "--rules", *rules, "--input", *paths],
                          capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(done.stderr)
    issues = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        event = json.loads(line)
        if event["type"] == "io.pitwall.issue.found":
            time = datetime.datetime.fromisoformat(event["time"][:19] + "+00:00").timestamp() - BASE
            issues[event["data"]["job"]["id"]].append(
                (event["data"]["alert"], event["data"]["labels"], time))
    return issues


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--rules", nargs="+", default=PACKS)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--keep", metavar="DIR", help="keep the recordings in DIR")
    options = parser.parse_args()
    scenarios = [each for each in all_scenarios() + all_modes() if not options.only or each.name in options.only]
    with tempfile.TemporaryDirectory() as folder:
        issues = run(options.binary, options.rules, scenarios, options.keep or folder)
    failed = 0
    for scenario in scenarios:
        wrong = verdict(scenario, issues[scenario.name])
        failed += bool(wrong)
        for line in wrong:
            print("FAILED: %s: %s" % (scenario.name, line))
    print("%d passed, %d failed" % (len(scenarios) - failed, failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
