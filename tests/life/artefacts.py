"""Artifacts of an era as Python values, for checker.py."""
import dataclasses
import json
import os
from typing import Dict, List


def read_lines(path):
    if not os.path.exists(path):
        return []
    with open(path, errors="replace") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def read_json(path):
    if not os.path.exists(path):
        return {}
    with open(path) as text:
        return json.load(text)


@dataclasses.dataclass
class Journal:
    """The values that one incarnation of a rank passed to its client."""

    values: List[tuple]  # (number, monotonic time), in order
    left: int            # number of values that the client still held when it ended; -1 if it was killed
    connected: bool
    ended: float         # monotonic time of finish(); 0 if the rank was killed


def read_journal(path):
    values, left, connected, ended = [], -1, False, 0.0
    if os.path.exists(path):
        with open(path) as lines:
            for line in lines:
                fields = line.split()
                if fields[0] == "v" and len(fields) == 3:
                    values.append((int(fields[1]), float(fields[2])))
                elif fields[0] == "e":
                    left, connected, ended = int(fields[1]), fields[2] == "1", float(fields[3])
    return Journal(values, left, connected, ended)


@dataclasses.dataclass
class Artefacts:
    ranks: List[dict]              # written by load.py
    journals: Dict[str, Journal]   # journal name in `ranks` -> journal
    batches: List[dict]            # written by telemetry_dump.cc, in log order
    events: List[dict]             # {"p": partition, "o": offset, "event"}
    bad: List[dict]                # unreadable parts of the log
    webhooks: List[dict]           # {"id", "event"}
    metrics: List[dict]            # written by observer.py
    health: List[dict]
    crashes: List[dict]
    faults: List[dict]
    end: dict
    verify: dict

    def damages(self):
        return [f["what"] for f in self.faults if f["kind"] == "damage"]


def read(folder):
    log = read_lines(os.path.join(folder, "log.jsonl"))
    ranks = read_lines(os.path.join(folder, "ranks.jsonl"))
    lines = {name: read_lines(os.path.join(folder, name + ".jsonl"))
             for name in ("webhooks", "metrics", "health", "crashes", "faults")}
    return Artefacts(
        ranks=ranks,
        journals={r["journal"]: read_journal(os.path.join(folder, "journals", r["journal"])) for r in ranks},
        batches=[e for e in log if e["kind"] == "batch"], events=[e for e in log if e["kind"] == "event"],
        bad=[e for e in log if e["kind"] == "bad"], end=read_json(os.path.join(folder, "end.json")),
        verify=read_json(os.path.join(folder, "verify.json")), **lines)
