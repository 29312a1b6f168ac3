"""Recordings of cells: the log of a standalone as one file, and what a backtest says of it."""
import datetime
import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import threading

from cells import wants_recording

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
KEPT = os.path.join(HERE, "recordings")
# Those that take their own meaning, not ours (debugger-compat), or earlier runs (across-runs, summary).
LEFT_OUT = {"debugger-compat", "debugger-compat-tensor", "debugger-compat-loss", "across-runs", "summary"}
MAX_BYTES = 200_000      # of a recording
MAX_TOTAL = 6_000_000    # of all
# HostLeak leaves out ten minutes of an attempt; a cell has not that long.
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
    """Flags for the packs; with $CELLS_RULES=files the files of this tree, for who mends a rule and has not built yet."""
    form = os.path.join(REPO, "rules", "packs", "%s.yaml") if os.environ.get("CELLS_RULES") == "files" else "pack:%s"
    return [form % name for name in packs() if (which == "all" and name not in LEFT_OUT) or name == which]


def overrides_for(which):
    """Parameters of the cells' jobs, for packs that have the rules."""
    return OVERRIDES if which == "all" else "jobs: []\n"


def pack(data, path):
    """The telemetry of a data directory as a compressed file. Rules, events and state are left out: a replay makes its own."""
    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry
    with tarfile.open(path, "w:xz", preset=9) as archive:
        archive.add(os.path.join(data, "log", "topics", "pitwall.telemetry"), "log/topics/pitwall.telemetry", filter=plain)


def seconds(text):
    """Unix seconds of an event's time."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return datetime.datetime.fromisoformat(whole + "+00:00").timestamp() + float("0." + (fraction or "0"))


def replay(pitwall, path, which, until):
    """-> [(kind, data, Unix seconds)] of the issues that a backtest of a recording finds with these packs. until: when the cell was ended
    from outside; what comes later is no part of it."""
    with tempfile.TemporaryDirectory(prefix="pitwall-replay-") as folder:
        with tarfile.open(path) as archive:
            archive.extractall(folder)
        overrides = os.path.join(folder, "overrides.yaml")
        with open(overrides, "w") as out:
            out.write(overrides_for(which))
        done = subprocess.run([pitwall, "backtest", "--input", folder, "--rules", *pack_flags(which), "--overrides", overrides, "--no-status"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError("%s: the backtest ended with %d (%s)" % (path, done.returncode, done.stderr[-500:]))
        told = []
        for line in done.stdout.splitlines():
            event = json.loads(line)
            if event["type"].startswith("io.pitwall.issue.") and seconds(event["time"]) <= until:
                told.append((event["type"].rpartition(".")[2], dict(event["data"], event=event["id"]), seconds(event["time"])))
        return told


def alerts_of(pitwall, which):
    """The names of the alerts in these packs."""
    done = subprocess.run([pitwall, "rules", "list", "--json", *pack_flags(which)], capture_output=True, text=True, check=True)
    return {rule["name"] for rule in json.loads(done.stdout) if rule["kind"] == "alert"}


def manifest():
    path = os.path.join(KEPT, "recordings.json")
    if not os.path.exists(path):
        return {}
    with open(path) as text:
        return json.load(text)


def save(entries):
    os.makedirs(KEPT, exist_ok=True)
    with open(os.path.join(KEPT, "recordings.json"), "w") as out:
        json.dump(entries, out, indent=1, sort_keys=True)
        out.write("\n")


def digest(path):
    with open(path, "rb") as data:
        return hashlib.sha256(data.read()).hexdigest()


_keeping = threading.Lock()


def keep(result):
    """Keeps the recording of a cell, if it is the first and small enough. result: path of the cell's results without its ending."""
    name = os.path.basename(result)
    if not wants_recording(name) or os.path.getsize(result + ".tar.xz") > MAX_BYTES:
        return False
    with _keeping:
        entries = manifest()
        total = sum(os.path.getsize(os.path.join(KEPT, kept + ".tar.xz")) for kept in entries)
        if name in entries or total + os.path.getsize(result + ".tar.xz") > MAX_TOTAL:
            return False
        with open(result + ".json") as text:
            ran = json.load(text)
        os.makedirs(KEPT, exist_ok=True)
        shutil.copy(result + ".tar.xz", KEPT)
        entries[name] = {"sha256": digest(result + ".tar.xz"), "first": digest(result + ".tar.xz"), "began": ran["began"], "until": ran["until"]}
        save(entries)
        return True
