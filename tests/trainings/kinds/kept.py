#!/usr/bin/env python3
"""Stores and replays recordings of each kind of training run.

kept.py PITWALL [--results DIR]    stores a recording from DIR (build/kinds) for each kind that does not have one yet
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import recordings  # noqa: E402
from kinds import KINDS  # noqa: E402

KEPT = os.path.join(HERE, "recordings")
MAX_BYTES = 200_000      # maximum size of a recording
MAX_TOTAL = 12_000_000   # maximum total size of all recordings
NEVER = 1e12
_keeping = threading.Lock()


def manifest():
    """Returns {name: {sha256, until}}, where `until` is the Unix time when the test ended the run."""
    return recordings.manifest(KEPT)


def path_of(name):
    return os.path.join(KEPT, name + ".tar.xz")


def events_of(pitwall, data, which):
    """Runs a backtest of a data directory with pack:default or with all packs, and returns its output lines."""
    done = subprocess.run([pitwall, "backtest", "--input", data, "--rules", *recordings.pack_flags(which)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("%s: backtest failed with exit code %d (%s)" % (data, done.returncode, done.stderr[-500:]))
    return done.stdout.splitlines()


def parse(lines, until=NEVER):
    """Returns [(last word of the type, data, Unix seconds)] for the issue and job events up to the given time."""
    events = []
    for line in lines:
        event = json.loads(line)
        at = recordings.seconds(event["time"])
        if event["type"].startswith(("io.pitwall.issue.", "io.pitwall.job.")) and at <= until:
            events.append((event["type"].rpartition(".")[2], dict(event["data"], event=event["id"]), at))
    return events


def replay(pitwall, name, which, until=NEVER):
    with tempfile.TemporaryDirectory(prefix="pitwall-replay-") as folder:
        recordings.unpack(path_of(name), folder)
        return parse(events_of(pitwall, folder, which), until)


def shrink(pitwall, source, target, until):
    """Writes the recording up to the given time, without spans. Raises an error if the recording is too large, or if its replay produces different
    events."""
    with tempfile.TemporaryDirectory(prefix="pitwall-shrink-") as folder:
        whole, small = os.path.join(folder, "whole"), os.path.join(folder, "small")
        recordings.unpack(source, whole)
        recordings.pack(whole, target, until=until)
        if os.path.getsize(target) > MAX_BYTES:
            raise RuntimeError("%s: the recording is too large (%d bytes, limit %d)" % (target, os.path.getsize(target), MAX_BYTES))
        recordings.unpack(target, small)
        before, after = events_of(pitwall, whole, "all"), events_of(pitwall, small, "all")
        if after != before[:len(after)]:
            raise RuntimeError("%s: the replay of the small recording produces different events" % source)


def keep(pitwall, results, name):
    """Stores the recording of a run if its kind does not have one. Returns a message for the log."""
    if name in manifest():
        return "already has a recording"
    with open(os.path.join(results, name + ".json")) as text:
        ran = json.load(text)
    if ran["error"] or ran["kind"]["run"] != KINDS[name]["run"]:
        return "the run failed or is of an older version of the kind"
    os.makedirs(KEPT, exist_ok=True)
    new = path_of(name) + ".new"
    try:
        shrink(pitwall, os.path.join(results, name + ".tar.xz"), new, ran["until"])
    except RuntimeError as error:
        return str(error)
    with _keeping:
        os.rename(new, path_of(name))
        entry = {"sha256": recordings.digest(path_of(name)), "until": round(ran["until"], 2)}
        recordings.save(dict(manifest(), **{name: entry}), KEPT)
    return "kept"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pitwall")
    parser.add_argument("--results", default=os.path.join(recordings.REPO, "build", "kinds"))
    options = parser.parse_args()
    for name in KINDS:
        if name not in manifest() and os.path.exists(os.path.join(options.results, name + ".json")):
            print("%s: %s" % (name, keep(os.path.abspath(options.pitwall), options.results, name)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
