#!/usr/bin/env python3
"""Recordings of cells: packs the log of a standalone process into one file, and replays it with a backtest.

recordings.py PITWALL [--results DIR]    stores a recording from DIR (build/cells) for each cell that does not have one yet
"""
import argparse
import concurrent.futures
import datetime
import hashlib
import json
import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
import threading

import thin
from cells import CELLS, training_of

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
KEPT = os.path.join(HERE, "recordings")
# Packs that need their own interpretation (debugger-compat) or earlier runs (across-runs, summary).
LEFT_OUT = {"debugger-compat", "debugger-compat-tensor", "debugger-compat-loss", "across-runs", "summary"}
MAX_BYTES = 200_000      # maximum size of a recording
MAX_TOTAL = 16_000_000   # maximum total size of all recordings
# HostLeak ignores the first ten minutes of an attempt, but a cell is shorter.
OVERRIDES = """
jobs:
- match: {job: "leak-*"}
  rules:
    fleet/memory/HostLeak: {warmup_seconds: 30}
"""


def packs():
    folder = os.path.join(REPO, "rules", "packs")
    return sorted(name[:-5] for name in os.listdir(folder) if name.endswith(".yaml") and "_test" not in name)


def pack_flags(which):
    """Returns the --rules values for the packs. $CELLS_RULES=files selects the rule files of this tree, so that a changed rule can be tested before a
    build."""
    form = os.path.join(REPO, "rules", "packs", "%s.yaml") if os.environ.get("CELLS_RULES") == "files" else "pack:%s"
    return [form % name for name in packs() if (which == "all" and name not in LEFT_OUT) or name == which]


def overrides_for(which):
    """Returns the parameter overrides for the cells' jobs, if the packs contain the overridden rules."""
    return OVERRIDES if which == "all" else "jobs: []\n"


TELEMETRY = os.path.join("log", "topics", "pitwall.telemetry")


def pack(data, path, begin=None, until=None):
    """Writes the telemetry of a data directory to a compressed file. Rules, events, and state are omitted because a replay creates its own. begin,
    until: Unix seconds; records outside this range are also omitted."""
    def plain(entry):
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry
    with tempfile.TemporaryDirectory(prefix="pitwall-pack-") as folder:
        thin.thin(os.path.join(data, TELEMETRY), os.path.join(folder, "telemetry"),
                  *(None if at is None else int(at * 1e9) for at in (begin, until)))
        with tarfile.open(path, "w:xz", preset=9 | lzma.PRESET_EXTREME) as archive:
            archive.add(os.path.join(folder, "telemetry"), TELEMETRY, filter=plain)


def unpack(path, folder):
    with tarfile.open(path) as archive:
        archive.extractall(folder)


def seconds(text):
    """Converts the time of an event to Unix seconds."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return datetime.datetime.fromisoformat(whole + "+00:00").timestamp() + float("0." + (fraction or "0"))


def backtest(pitwall, folder, which):
    """Runs a backtest of a data directory with these packs and returns its output lines."""
    overrides = os.path.join(folder, "overrides.yaml")
    with open(overrides, "w") as out:
        out.write(overrides_for(which))
    done = subprocess.run([pitwall, "backtest", "--input", folder, "--rules", *pack_flags(which), "--overrides", overrides, "--no-status"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("%s: backtest failed with exit code %d (%s)" % (folder, done.returncode, done.stderr[-500:]))
    return done.stdout.splitlines()


def replay(pitwall, path, which, until):
    """Returns [(kind, data, Unix seconds)] for the issues that a backtest of a recording reports with these packs. until: the time when the cell was
    stopped externally; later issues do not count."""
    with tempfile.TemporaryDirectory(prefix="pitwall-replay-") as folder:
        unpack(path, folder)
        told = []
        for line in backtest(pitwall, folder, which):
            event = json.loads(line)
            if event["type"].startswith("io.pitwall.issue.") and seconds(event["time"]) <= until:
                told.append((event["type"].rpartition(".")[2], dict(event["data"], event=event["id"]), seconds(event["time"])))
        return told


def alerts_of(pitwall, which):
    """Returns the names of the alerts in these packs."""
    done = subprocess.run([pitwall, "rules", "list", "--json", *pack_flags(which)], capture_output=True, text=True, check=True)
    return {rule["name"] for rule in json.loads(done.stdout) if rule["kind"] == "alert"}


def manifest(folder=KEPT):
    """Returns {name: entry} for the recordings that are stored in a folder."""
    path = os.path.join(folder, "recordings.json")
    if not os.path.exists(path):
        return {}
    with open(path) as text:
        return json.load(text)


def save(entries, folder=KEPT):
    """Stores the entries that manifest() returns."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "recordings.json"), "w") as out:
        json.dump(entries, out, indent=1, sort_keys=True)
        out.write("\n")


def digest(path):
    with open(path, "rb") as data:
        return hashlib.sha256(data.read()).hexdigest()


_keeping = threading.Lock()


def shrink(pitwall, source, target):
    """Writes a small version of the recording `source`, with bit-identical events up to its end. Returns the Unix seconds of its end (None if it
    is complete) and the number of seconds cut off."""
    with tempfile.TemporaryDirectory(prefix="pitwall-shrink-") as folder:
        whole, small = os.path.join(folder, "whole"), os.path.join(folder, "small")
        unpack(source, whole)
        pack(whole, target)
        size, until = os.path.getsize(target), None
        begin, end = thin.times(os.path.join(whole, TELEMETRY))
        left = 1.0
        while size > MAX_BYTES:
            left *= min(0.99, 0.985 * MAX_BYTES / size)
            until = begin + left * (end - begin)
            pack(whole, target, until=until)
            size = os.path.getsize(target)
        unpack(target, small)
        before, after = backtest(pitwall, whole, "all"), backtest(pitwall, small, "all")
        if after != (before if until is None else before[:len(after)]):
            raise RuntimeError("%s: the replay of the small recording produces different events" % source)
    return until, 0 if until is None else end - until


def entry_of(pitwall, result):
    """Writes a small recording of a cell's result to the folder of stored recordings, with the extension .new. Returns its manifest entry."""
    new = os.path.join(KEPT, os.path.basename(result) + ".new")
    os.makedirs(KEPT, exist_ok=True)
    until, cut = shrink(pitwall, result + ".tar.xz", new)
    with open(result + ".json") as text:
        ran = json.load(text)
    entry = {"sha256": digest(new), "first": digest(new), "began": ran["began"], "until": until or ran.get("until", 1e12)}
    return dict(entry, cut=round(cut, 1)) if until else entry


def add(name, entry):
    """Replaces the stored recording of the cell with the new one."""
    with _keeping:
        os.rename(os.path.join(KEPT, name + ".new"), os.path.join(KEPT, name + ".tar.xz"))
        save(dict(manifest(), **{name: entry}))


def keep(pitwall, result):
    """Stores the recording of a cell if the cell does not have one yet. result: path of the cell's results without its extension."""
    name = os.path.basename(result)
    if name not in manifest():
        add(name, entry_of(pitwall, result))


def kept_from(pitwall, results, name):
    """Returns (manifest entry or None, message)."""
    path = os.path.join(results, "all", name)
    if not os.path.exists(path + ".json"):
        return None, "not run"
    with open(path + ".json") as text:
        ran = json.load(text)
    if training_of(ran["cell"]) != training_of(CELLS[name]) or ran["errors"]:
        return None, "the run failed or is of an older version of the cell"
    try:
        return entry_of(pitwall, path), "kept"
    except RuntimeError as error:
        return None, str(error)


def keep_all(pitwall, results):
    missing = sorted(set(CELLS) - set(manifest()))
    failed = 0
    with concurrent.futures.ProcessPoolExecutor(4) as pool:
        jobs = {pool.submit(kept_from, pitwall, results, name): name for name in missing}
        for job in concurrent.futures.as_completed(jobs):
            entry, said = job.result()
            failed += entry is None
            if entry:
                add(jobs[job], entry)
            print("%s: %s" % (jobs[job], said), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("pitwall")
    options.add_argument("--results", default=os.path.join(REPO, "build", "cells"))
    options = options.parse_args()
    sys.exit(keep_all(os.path.abspath(options.pitwall), options.results))
