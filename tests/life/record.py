#!/usr/bin/env python3
"""record.py ERA OUT: creates recorded/ from two jobs of a healthy era, with their issue events but without rule statuses. test_checker.py
plants defects in these artifacts."""
import json
import os
import shutil
import sys

from artefacts import read_lines


def write(path, records):
    with open(path, "w") as out:
        for record in records:
            out.write(json.dumps(record, separators=(",", ":")) + "\n")


def main(era, out):
    ranks = read_lines(os.path.join(era, "ranks.jsonl"))
    jobs = {next(r["job"] for r in ranks if "short" not in r["job"]), next(r["job"] for r in ranks if "short" in r["job"])}
    os.makedirs(os.path.join(out, "journals"))
    ranks = [r for r in ranks if r["job"] in jobs]
    write(os.path.join(out, "ranks.jsonl"), ranks)
    for rank in ranks:
        shutil.copy(os.path.join(era, "journals", rank["journal"]), os.path.join(out, "journals"))

    def wanted(event):
        return event["data"]["job"]["id"] in jobs and ".issue." in event["type"]

    write(os.path.join(out, "log.jsonl"), [
        e for e in read_lines(os.path.join(era, "log.jsonl"))
        if (e["kind"] == "event" and wanted(e["event"])) or (e["kind"] == "batch" and e["job"] in jobs and e["values"])])
    write(os.path.join(out, "webhooks.jsonl"), [w for w in read_lines(os.path.join(era, "webhooks.jsonl")) if wanted(w["event"])])
    for name in ("faults", "health", "metrics", "crashes"):
        write(os.path.join(out, name + ".jsonl"), read_lines(os.path.join(era, name + ".jsonl")))
    with open(os.path.join(era, "end.json")) as text:
        end = json.load(text)
    with open(os.path.join(out, "end.json"), "w") as text:
        json.dump({"quiet": end["quiet"], "stopped": end["stopped"], "kafka": end["kafka"]}, text)
    shutil.copy(os.path.join(era, "verify.json"), out)


if __name__ == "__main__":
    main(*sys.argv[1:])
