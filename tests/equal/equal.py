#!/usr/bin/env python3
"""Checks that two builds of the binary produce the same events, snapshots, responses, and segments for all recordings, at the same speed.

equal.sh BASE NEW [--rename FILE] [--every N] [--part PART]…

BASE, NEW: the binaries. job_snapshots, a build target, must be next to each.
events: the CloudEvents of a backtest of each recording, with all packs. Human-readable text is excluded.
snapshots: length and hash of each job's snapshot, after every 20 records of each recording.
answers: each recording as the data directory of `insights`: the HTTP API's responses about its telemetry, and the history's segments, byte by byte.
speed: CPU time of a backtest of generated telemetry, alternating between BASE and NEW. The median BASE : NEW ratio must be at least 0.97.
Needs an idle machine.
--rename FILE: JSON object, old -> new text, applied to the events and answers of BASE.
--every N: every Nth recording. By default, `answers` covers every tenth recording, and the other parts cover all.
--part PART: only this part; may be repeated.
--pairs N: number of pairs of runs for `speed` (default: 10).
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import shutil
import statistics
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
PARTS = ("events", "snapshots", "answers", "speed")
TEXTS = {"summary", "description", "suggestion", "status_reason", "error", "reason", "verdict_reason", "text", "end_text", "title"}
# Line and bar names in a report are also human-readable text.
TEXTS_OF_REPORT = TEXTS | {"caption", "name"}
# Times from the server's own clock, and addresses.
VOLATILE = {"now_ns", "asked_ns", "server_ns", "link", "expires_ns"}
ROUTES = ("job", "series", "steps", "phases", "operators", "tensors", "resources", "issues", "incidents", "rules", "actions", "captures", "heatmap/steps",
          "report", "chart?match=train_step_duration_seconds", "heatmap?match=train_step_duration_seconds", "samples?match=train_step_duration_seconds")
TRIES = 12  # maximum number of runs until two runs number their segments identically
LOAD = ("--ticks", "--seed", "1", "--start", "2026-01-01T00:00:00Z", "--duration", "4m", "--jobs", "2", "--nodes", "2", "--faults", "2")
SLOWEST = 0.97  # minimum median speed ratio
SHOWN = 5  # maximum number of differences shown per recording


def all_recordings():
    paths = []
    for folder in FOLDERS:
        folder = os.path.join(TESTS, folder)
        paths += sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".tar.xz"))
    return paths


def without_texts(value, texts=frozenset(TEXTS)):
    if isinstance(value, dict):
        return {key: without_texts(one, TEXTS_OF_REPORT if key.startswith("report of ") else texts)
                for key, one in value.items() if key not in texts and key not in VOLATILE}
    return [without_texts(one, texts) for one in value] if isinstance(value, list) else value


def differences(base, new, place=""):
    """Yields the paths at which two JSON values differ."""
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
        """Returns the paths of the first differences. results: results of BASE and of NEW."""
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
        return failure("backtest", results[0], done) or self.compare(results)

    def snapshots(self, path):
        with tempfile.TemporaryDirectory(prefix="pitwall-equal-") as folder:
            recordings.unpack(path, folder)
            results = []
            for binary in self.binaries:
                done = subprocess.run([snapshots_of(binary), folder, *recordings.pack_flags("all")], capture_output=True, text=True)
                results.append([done.returncode] + done.stdout.splitlines())
        return failure("job_snapshots", results[0], done) or self.compare(results)

    def answers(self, path):
        base, new = (self.answers_of(binary, path) for binary in self.binaries)
        # Partitions draw segment numbers from a shared sequence, so the numbers in the files depend on thread scheduling.
        for _ in range(TRIES):
            if base["segments"].keys() == new["segments"].keys() or windows(base["segments"]) != windows(new["segments"]):
                break
            base["segments"], new["segments"] = (self.answers_of(binary, path, ())["segments"] for binary in self.binaries)
        return self.compare([base, new])

    def speed(self, pairs):
        with tempfile.TemporaryDirectory(prefix="pitwall-equal-") as folder:
            subprocess.run([self.binaries[0], "loadgen", "--data-dir", folder, *LOAD], capture_output=True, check=True)
            seconds = lambda binary: cpu_seconds([binary, "backtest", "--input", folder, "--no-status", "--rules", *recordings.pack_flags("all")])
            return faults_of_speed([tuple(seconds(binary) for binary in self.binaries) for _ in range(pairs)])

    def answers_of(self, binary, path, routes=ROUTES):
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
                    for route in routes:
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


def failure(program, base, done):
    """Returns an error if the run has no results, because two empty runs would compare equal. base: exit code and output lines of BASE; done: the
    finished process."""
    return [] if base[0] == 0 and len(base) > 1 else ["%s of BASE ended with %d and %d lines; the other printed: %s" % (program, base[0], len(base) - 1, done.stderr[-300:])]


def windows(segments):
    """Returns the segment paths without the segment numbers."""
    return sorted(path.rpartition("-")[0] for path in segments)


def snapshots_of(binary):
    return os.path.join(os.path.dirname(binary), "job_snapshots")


def cpu_seconds(command):
    before = os.times()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def faults_of_speed(pairs):
    """Returns an error if the median ratio is too low. pairs: [(CPU seconds of BASE, CPU seconds of NEW)]."""
    ratio = statistics.median(base / new for base, new in pairs)
    print("speed: median ratio %.3f of %d pairs; %.2f s, then %.2f s" % (ratio, len(pairs), *(statistics.median(side) for side in zip(*pairs))), flush=True)
    return ["median ratio %.3f, at least %.2f is required" % (ratio, SLOWEST)] if ratio < SLOWEST else []


def digests(data):
    """Returns the digest of each history segment by its path."""
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
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--pairs", type=int, default=10)
    flags = parser.parse_args()
    renames = {}
    if flags.rename:
        with open(flags.rename, encoding="utf-8") as file:
            renames = json.load(file)
    comparison = Comparison(os.path.abspath(flags.base), os.path.abspath(flags.new), renames)
    parts = flags.part or PARTS
    for binary in comparison.binaries if "snapshots" in parts else ():
        if not os.path.exists(snapshots_of(binary)):
            parser.error("%s is missing; build the target job_snapshots, or name the other parts by --part" % snapshots_of(binary))
    failed = passed = 0
    for part, every in (("events", flags.every or 1), ("snapshots", flags.every or 1), ("answers", flags.every or 10)):
        if part not in parts:
            continue
        paths = all_recordings()[::every]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for path, found in zip(paths, pool.map(getattr(comparison, part), paths)):
                failed += bool(found)
                passed += not found
                for one in found:
                    print("%s of %s: %s" % (part, os.path.relpath(path, TESTS), one), flush=True)
    if "speed" in parts:
        found = comparison.speed(flags.pairs)
        failed += bool(found)
        passed += not found
        for one in found:
            print("speed: %s" % one)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
