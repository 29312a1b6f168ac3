#!/usr/bin/env python3
"""Checks that two builds of the binary give the same events, answers, and segments for all recordings.

equal.sh BASE NEW [--rename FILE] [--every N] [--part events|answers]

events: the CloudEvents of a backtest of each recording, with all packs. Texts for people are left out.
answers: each recording as the data directory of `insights`: the answers of the HTTP API about its telemetry, and the segments of the history, byte by
byte.
--rename FILE: JSON object, old -> new text, applied to the results of BASE.
--every N: every Nth recording; without it, answers of every tenth.

Snapshots and benchmarks are not compared yet.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
for folder in ("trainings", "e2e"):
    sys.path.insert(0, os.path.join(TESTS, folder))
import harness  # noqa: E402
import recordings  # noqa: E402

FOLDERS = ("trainings/recordings", "trainings/kinds/recordings", "trainings/healthy")
TEXTS = {"summary", "description", "suggestion", "status_reason", "error", "reason", "verdict_reason", "text", "end_text", "title"}
# Times of the server's own clock, and addresses.
VOLATILE = {"now_ns", "asked_ns", "server_ns", "link", "expires_ns"}
ROUTES = ("job", "series", "steps", "phases", "operators", "tensors", "resources", "issues", "incidents", "rules", "actions", "captures", "heatmap/steps",
          "report", "chart?match=train_step_duration_seconds", "heatmap?match=train_step_duration_seconds", "samples?match=train_step_duration_seconds")
SHOWN = 5  # maximum number of differences shown per recording


def all_recordings():
    paths = []
    for folder in FOLDERS:
        folder = os.path.join(TESTS, folder)
        paths += sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".tar.xz"))
    return paths


def without_texts(value):
    if isinstance(value, dict):
        return {key: without_texts(one) for key, one in value.items() if key not in TEXTS and key not in VOLATILE}
    return [without_texts(one) for one in value] if isinstance(value, list) else value


def differences(base, new, place=""):
    """Yields the places at which two JSON values differ."""
    if isinstance(base, dict) and isinstance(new, dict):
        for key in sorted(base.keys() | new.keys()):
            yield from differences(base.get(key), new.get(key), "%s.%s" % (place, key))
    elif isinstance(base, list) and isinstance(new, list) and len(base) == len(new):
        for index, (one, other) in enumerate(zip(base, new)):
            yield from differences(one, other, "%s[%d]" % (place, index))
    elif isinstance(base, list) and isinstance(new, list):
        yield "%s: %d elements, then %d" % (place or "the whole", len(base), len(new))
        yield from differences(base[:len(new)], new[:len(base)], place)
    elif base != new:
        yield "%s: %s, then %s" % (place or "the whole", *(json.dumps(one)[:120] for one in (base, new)))


class Comparison:
    def __init__(self, base, new, renames):
        self.binaries = (base, new)
        self.renames = renames

    def renamed(self, text):
        for old, new in self.renames.items():
            text = text.replace(old, new)
        return text

    def compare(self, results):
        """Returns the first differing places. results: those of BASE and of NEW."""
        base, new = results
        found = list(differences(without_texts(json.loads(self.renamed(json.dumps(base)))), without_texts(new)))
        return found[:SHOWN] + (["and %d more" % (len(found) - SHOWN)] if len(found) > SHOWN else [])

    def events(self, path):
        with tempfile.TemporaryDirectory(prefix="pitwall-equal-") as folder:
            recordings.unpack(path, folder)
            results = []
            for binary in self.binaries:
                done = subprocess.run([binary, "backtest", "--input", folder, "--rules", *recordings.pack_flags("all")], capture_output=True, text=True)
                results.append([done.returncode] + [json.loads(line) for line in done.stdout.splitlines()])
        return self.compare(results)

    def answers(self, path):
        return self.compare([self.answers_of(binary, path) for binary in self.binaries])

    def answers_of(self, binary, path):
        with tempfile.TemporaryDirectory(prefix="pitwall-equal-") as folder:
            data = os.path.join(folder, "data")
            recordings.unpack(path, data)
            # A recording has no commit journal.
            subprocess.run([binary, "log", "repair", os.path.join(data, "log")], capture_output=True, check=True)
            server = harness.Pitwall(binary, os.path.join(folder, "log"), "--data-dir", data, service="insights")
            try:
                wait_until_read(server)
                results = {"jobs": get(server, "jobs")}
                for job in [one["id"] for one in results["jobs"]["jobs"]]:
                    for route in ROUTES:
                        results["%s of %s" % (route, job)] = get(server, route, job)
            finally:
                server.stop()
            results["segments"] = digests(data)
        return results


def wait_until_read(server):
    harness.wait_for("the log to be read", lambda: server.metric("pitwall_insights_lag_records") == 0 and get(server, "jobs")["jobs"])


def get(server, route, job=None):
    path, _, query = route.partition("?")
    query = "&".join(filter(None, (query, job and "job=" + urllib.parse.quote(job))))
    _, text = harness.fetch("%s/api/pitwall/v1/%s?%s" % (server.http, path, query))
    return json.loads(text)


def digests(data):
    """Returns the digest of each segment of the history, by its path."""
    found = {}
    for folder, _, names in os.walk(os.path.join(data, "insights")):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".seg"):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, data)] = hashlib.sha256(file.read()).hexdigest()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("new")
    parser.add_argument("--rename")
    parser.add_argument("--every", type=int, default=0)
    parser.add_argument("--part", choices=("events", "answers"))
    flags = parser.parse_args()
    renames = {}
    if flags.rename:
        with open(flags.rename, encoding="utf-8") as file:
            renames = json.load(file)
    comparison = Comparison(os.path.abspath(flags.base), os.path.abspath(flags.new), renames)
    failed = passed = 0
    for part, every in (("events", flags.every or 1), ("answers", flags.every or 10)):
        if flags.part not in (None, part):
            continue
        paths = all_recordings()[::every]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for path, found in zip(paths, pool.map(getattr(comparison, part), paths)):
                failed += bool(found)
                passed += not found
                for one in found:
                    print("%s of %s: %s" % (part, os.path.relpath(path, TESTS), one), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
