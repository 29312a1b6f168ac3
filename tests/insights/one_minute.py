#!/usr/bin/env python3
"""The one-minute test: a person who opens the link in an alert must see in the first screenshot what is wrong, where, and since when.

one_minute.py PITWALL make SEED DIR TRUTH    replays ten recorded faults (tests/trainings/recordings, selected by SEED), opens the link in
                                             each fault's alert, and writes DIR/01.png … 10.png, and the facts to TRUTH (hidden from the reader)
one_minute.py words                          prints the instructions that the reader gets with the pictures
one_minute.py judge DIR TRUTH                compares DIR/answers.json, written only from the pictures, with TRUTH
one_minute.py keep DIR TRUTH                 judges, and stores pictures, answers, and truth in one_minute/ if nine of ten are right
"""
import contextlib
import datetime
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(REPO, "tests", "trainings"))
import recordings  # noqa: E402
from cells import CELLS  # noqa: E402

KEPT = os.path.join(HERE, "one_minute")
COUNT = 10
# Kinds of faults as described to the reader. File and job names would reveal the fault, so the job in the pictures is named "training".
KINDS = {"slow": "a slow rank", "signal": "a rank died", "cancelled": "the job was cancelled", "exception": "a rank died", "exit": "a rank died",
         "memory": "a rank died", "stop": "a hang", "skip": "a hang", "sleep": "a hang", "nan": "the loss is not finite", "rate_ramp": "the learning rate is wrong",
         "raised": "the loss jumped", "data_stall": "ranks wait for their data"}
START_SECONDS = 15  # maximum time from the fault to the start that the reader reports; a hang is reported after ten seconds


def kept_seed():
    with open(os.path.join(KEPT, "truth.json")) as text:
        return json.load(text)["seed"]


def fault_of(name):
    return "cancelled" if name.startswith("cancelled") else CELLS[name]["fault"]


def chosen(seed, count=COUNT):
    """Returns the names of cells with different faults. The seed selects the faults and one cell per fault."""
    by_fault = {}
    for name, entry in sorted(recordings.manifest().items()):
        fault = fault_of(name)
        if fault in KINDS and not CELLS[name]["soft"] and (entry["default"]["named"] or entry["all"]["named"]):
            by_fault.setdefault(fault, []).append(name)
    draw = random.Random(seed)
    faults = draw.sample(sorted(by_fault), count)
    return [draw.choice(by_fault[fault]) for fault in faults]


def truth(name):
    entry = recordings.manifest()[name]
    rank = CELLS[name]["rank"]
    return {"cell": name, "kind": KINDS[fault_of(name)], "place": "the job" if rank is None else "rank %d" % rank, "began": entry["began"]}


class Served:
    """Server for the page of a recorded fault. Replays the fault's log and runs `pitwall insights` on the result."""

    def __init__(self, pitwall, name, folder, which=None, load=(), config="insights: {retention: 876000h}\n"):
        """load: flags of a `pitwall loadgen` command that writes its jobs to the same log."""
        entry = recordings.manifest()[name]
        which = which or ("default" if entry["default"]["named"] else "all")
        source, data = os.path.join(folder, name), os.path.join(folder, name + ".replayed")
        recordings.unpack(os.path.join(recordings.KEPT, name + ".tar.xz"), source)
        if load:
            # A recording contains only telemetry. A writer also needs the journal, so `log repair` rebuilds it.
            for command in (["log", "repair", os.path.join(source, "log")], ["loadgen", "--ticks", *load, "--data-dir", source]):
                subprocess.run([pitwall, *command], check=True, capture_output=True)
        overrides = os.path.join(folder, "overrides-%s.yaml" % which)
        with open(overrides, "w") as out:
            out.write(recordings.overrides_for(which))
        done = subprocess.run([pitwall, "backtest", "--input", source, "--rules", *recordings.pack_flags(which), "--overrides", overrides,
                               "--no-status", "--output", data], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError("%s: replay failed with exit code %d (%s)" % (name, done.returncode, done.stderr[-500:]))
        # A person would receive the link in the first alert for this kind of fault.
        events = [json.loads(line) for line in done.stdout.splitlines()]
        found = [event for event in events if event["type"].endswith(".issue.found")]
        alert = next(event for event in found if event["data"]["alert"] in entry[which]["named"])
        self.job, self.issue = alert["data"]["job"]["id"], alert["id"]
        self.found = [event for event in found if event["data"]["job"]["id"] == self.job]
        self.pitwall, self.name, self.data, self.folder = pitwall, name, data, folder
        self.start(config)

    def start(self, config):
        path = os.path.join(self.folder, self.name + ".yaml")
        with open(path, "w") as out:
            out.write(config)
        self.process = subprocess.Popen([self.pitwall, "insights", "--config", path, "--data-dir", self.data, "--http-listen", "127.0.0.1:0"],
                                        stderr=subprocess.PIPE, text=True)
        self.address = None
        for line in self.process.stderr:
            address = re.search(r"http://127\.0\.0\.1:\d+", line)
            self.address = address[0] if address else self.address
            if line.rstrip().endswith("insights: ready"):
                break
        else:
            raise RuntimeError("%s: pitwall insights exited before it was ready" % self.name)

    def link(self, event=None):
        return "%s/jobs/%s?issue=%s" % (self.address, urllib.parse.quote(self.job, safe=""), event or self.issue)

    def stop(self):
        self.process.terminate()
        self.process.stderr.read()
        self.process.wait()
        self.process.stderr.close()


def shoot(pitwall, names, folder):
    """Takes the screenshots folder/01.png … and returns the text in each."""
    page = os.path.join(REPO, "services", "web", "build.sh")
    with tempfile.TemporaryDirectory(prefix="pitwall-minute-") as work, contextlib.ExitStack() as running:
        served = []
        for name in names:
            served.append(Served(pitwall, name, work))
            running.callback(served[-1].stop)
        asked = [{"url": one.link(), "png": os.path.join(folder, "%02d.png" % (i + 1)), "hide": names[i]} for i, one in enumerate(served)]
        done = subprocess.run([page, os.path.join(work, "page"), "node", "browser/shoot.ts"], input=json.dumps(asked), capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError("browser failed: %s" % done.stderr[-2000:])
        return [one["text"] for one in json.loads(done.stdout.splitlines()[-1])]


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace(" ", "T") + "+00:00").timestamp()


def wrong(answer, true):
    """Returns the names of the wrong fields in an answer, or [] if all fields are correct."""
    out = [key for key in ("kind", "place") if answer[key] != true[key]]
    # The tolerance covers one second of rounding before the fault, and the time that a rule needs to fire.
    return out + ([] if -1.5 <= seconds(answer["start"]) - true["began"] <= START_SECONDS else ["start"])


def judge(folder, path):
    with open(os.path.join(folder, "answers.json")) as text:
        answers = json.load(text)
    with open(path) as text:
        truths = json.load(text)["pictures"]
    right = 0
    for number, true in sorted(truths.items()):
        bad = wrong(answers[number], true)
        right += not bad
        print("%s %-24s %s" % (number, true["cell"], "right" if not bad else "wrong: " + ", ".join(bad)))
    print("%d of %d right" % (right, len(truths)))
    return right, len(truths)


def make(pitwall, seed, folder, path):
    os.makedirs(folder, exist_ok=True)
    names = chosen(seed)
    shoot(pitwall, names, folder)
    with open(path, "w") as out:
        json.dump({"seed": seed, "pictures": {"%02d" % (i + 1): truth(name) for i, name in enumerate(names)}}, out, indent=1)
        out.write("\n")


def keep(folder, path):
    for name in sorted(os.listdir(folder)):
        if name.endswith(".png") or name == "answers.json":
            shutil.copy(os.path.join(folder, name), KEPT)
    shutil.copy(path, os.path.join(KEPT, "truth.json"))


def main():
    if sys.argv[1] == "words":
        print("""Each picture is the first screenshot of the page of one training job, opened by the link of an alert. Write answers.json next to the pictures:
{"01": {"kind": …, "place": …, "start": …}, …}
kind: one of %s
place: "rank N" (as "rank 3"), or "the job"
start: since when, as shown: "2026-01-31 12:34:56\"""" % ", ".join(json.dumps(kind) for kind in sorted(set(KINDS.values()))))
        return 0
    if sys.argv[1] in ("judge", "keep"):
        right, of = judge(sys.argv[2], sys.argv[3])
        if right < 0.9 * of:
            return 1
        if sys.argv[1] == "keep":
            keep(sys.argv[2], sys.argv[3])
        return 0
    make(os.path.abspath(sys.argv[1]), int(sys.argv[3]), os.path.abspath(sys.argv[4]), os.path.abspath(sys.argv[5]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
