#!/usr/bin/env python3
"""Every series named by the collector or the client is in rules/metrics.yaml exactly once. Series of foreign exporters (aliases, producer: foreign)
are read only by packs/derive.yaml. Each component adds its own metrics of /metrics with a self_metrics::Probe."""
import re

from repo import Finding, in_any, main, strip_cpp

CATALOGUE = "rules/metrics.yaml"
SOURCES = ("services/collector", "services/codec/steps", "clients/python/src")
# A complete string literal in the form of a series name. It counts as a series if its first word is the first word of a catalog entry: train_, hw_, …
NAME = re.compile(r"""(?<![\w"'])["']([a-z]+(?:_[a-z0-9]+)+)["'](?![\w"'])""")
ENTRY = re.compile(r"^- name: *([a-zA-Z_:][\w:]*)")
FOREIGN = re.compile(r"^- {name: *([\w:]+),.*\bproducer: *foreign\b")
ALIASES = re.compile(r"^ +aliases: *(.*)")
ALIAS = re.compile(r"\bname: *([\w:]+)")
PACKS = "rules/packs/"
DERIVE = PACKS + "derive.yaml"
# Foreign names that no rule derives a series from, with the reason.
NOT_DERIVED = {
    "train_lr": "a habit of training code, no exporter's name", "nccl_bus_bandwidth_gbs": "it carries neither rank nor step",
}
# Words in the form of series names that are not series, with the reason.
NOT_SERIES = {
    "node_id": "a field", "node_name": "a field", "job_id": "a field", "job_name": "a field", "job_start": "a field",
    "process_start": "a field", "gpu_split_unknown": "a notice",
    "hw_slowdown": "a reason of clocks", "hw_thermal": "a reason of clocks", "hw_power_brake": "a reason of clocks",
}

# The host adds only the metrics of the process and of its configuration. Its roles have no metrics of their own.
HOST = "services/app/"
METRICS_OF_HOST = ("services/app/host/service_host.", "services/app/host/reload_metrics.")
PROBE = re.compile(r"\bProbe\b")
# Ways to register a metric that do not go through a probe.
WITHOUT_PROBE = re.compile(r"\bRegistration\b|\b\w*exposition\w*\s*(?:\.|->)\s*(?:Add|Insert)\w*\s*\(", re.IGNORECASE)


def entries(text):
    """Yields (line, name) for each entry in the catalog."""
    for number, line in enumerate(text.splitlines(), 1):
        match = ENTRY.match(line)
        if match:
            yield number, match.group(1)


def names_of_others(text):
    """Yields (line, name) for each alias and each foreign entry in the catalog."""
    for number, line in enumerate(text.splitlines(), 1):
        foreign, aliases = FOREIGN.match(line), ALIASES.match(line)
        for name in [foreign.group(1)] if foreign else ALIAS.findall(aliases.group(1)) if aliases else []:
            yield number, name


def check_derived(repo):
    findings = []
    others = dict((name, number) for number, name in names_of_others(repo.text(CATALOGUE)))
    for path in repo.paths:
        if not path.startswith(PACKS) or not path.endswith(".yaml") or "_test" in path:
            continue
        words = set(re.findall(r"\w+", repo.text(path) or ""))
        if path != DERIVE:
            findings += [Finding(path, 1, "%s is a foreign name: read the canonical series that %s derives from it" % (name, DERIVE))
                         for name in sorted(words & set(others))]
            continue
        findings += [Finding(CATALOGUE, number, "%s does not derive a series from %s" % (DERIVE, name))
                     for name, number in others.items() if name not in words and name not in NOT_DERIVED]
    return findings


def check_probes(repo):
    findings = []
    for path in repo.paths:
        if not path.startswith("services/") or path.startswith("services/self_metrics/") or not path.endswith((".cc", ".h")):
            continue
        for number, line in enumerate(strip_cpp(repo.text(path) or "").splitlines(), 1):
            if WITHOUT_PROBE.search(line):
                findings.append(Finding(path, number, "add the metric to a self_metrics::Probe of the component"))
            if PROBE.search(line) and path.startswith(HOST) and not path.startswith(METRICS_OF_HOST):
                findings.append(Finding(path, number, "add the metric in the component that owns it, and give the component the exposition"))
    return findings


def check(repo):
    findings, known = check_derived(repo) + check_probes(repo), {}
    for number, name in entries(repo.text(CATALOGUE)):
        if name in known:
            findings.append(Finding(CATALOGUE, number, "%s is a duplicate (line %d)" % (name, known[name])))
        known.setdefault(name, number)
    first_words = {name.partition("_")[0] for name in known}
    for path in repo.paths:
        if not in_any(path, SOURCES) or repo.is_test(path) or not path.endswith((".cc", ".h", ".py")):
            continue
        text = repo.text(path) or ""
        if not path.endswith(".py"):
            text = strip_cpp(text, strings=False)
        for number, line in enumerate(text.splitlines(), 1):
            for name in NAME.findall(line):
                if name.partition("_")[0] in first_words and name not in known and name not in NOT_SERIES:
                    findings.append(Finding(path, number, "%s is not in %s" % (name, CATALOGUE)))
    return findings


if __name__ == "__main__":
    main(check)
