#!/usr/bin/env python3
"""Executes healthy training runs under `pitwall standalone` with all packs, several at a time, and records each reported issue.

healthy.py PITWALL PYTHON [--kinds KIND…] [--seeds N…] [--minutes M] [--jobs N] [--results DIR] [--again] [--packs all|default]

PYTHON: an interpreter with the frameworks (the last line that tests/stages/parts/torch.sh prints). Each run has at least 5,000 steps and lasts at least
--minutes (10). The results are kept in DIR (build/healthy): KIND-SEED-MINUTES.json and the recording. A run that already has a result for this binary
is not repeated. The exit code is 1 if a training run failed or if an issue was reported that the state of the machine does not explain.
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
import recordings  # noqa: E402
from cells import LOADED, MACHINE  # noqa: E402
from harness import CLIENT, REPO, Pitwall, wait_for, write  # noqa: E402
from matrix import free_port, version_of  # noqa: E402

RANKS = {"ddp": 2, "language-model": 1, "transformers": 1, "lightning": 1, "xgboost": 1, "loader-workers": 1, "accumulation": 2, "single": 1}
MIN_STEPS = 5200
CONFIG = "collector: {gpus: false, interval: 500ms}\n"


def issues_of(told):
    """Converts [(kind, data, Unix seconds)] to [{alert, rule, labels, found, ended, of}] in order. of: "machine" for a fact about the shared machine;
    "loaded" for an effect on a job, reported while a "machine" issue was open; "training" for any other issue."""
    issues, busy = {}, set()
    for kind, data, at in told:
        if kind not in ("found", "updated", "resolved"):
            continue
        key = data["rule"], data["started_at"], tuple(sorted(data["labels"].items()))
        if key not in issues:
            of = "machine" if data["alert"] in MACHINE else "loaded" if busy and data["alert"] in LOADED else "training"
            issues[key] = {"alert": data["alert"], "rule": data["rule"], "labels": data["labels"], "summary": data["summary"],
                           "found": at, "ended": None, "of": of}
        if kind == "resolved":
            issues[key]["ended"] = at
            busy.discard(key)
        elif issues[key]["of"] == "machine":
            busy.add(key)
    return list(issues.values())


class Run:
    def __init__(self, options, kind, seed):
        self.options, self.kind, self.seed = options, kind, seed
        self.steps = MIN_STEPS * max(1, round(options.minutes / 10))
        self.name = "%s-%d-%d" % (kind, seed, options.minutes)
        self.result = os.path.join(options.results, options.packs, self.name)
        self.told = []

    def watch(self, stream):
        for line in stream:
            event = json.loads(line)
            if event["type"].startswith("io.pitwall.issue."):
                self.told.append((event["type"].rpartition(".")[2], dict(event["data"], event=event["id"]), time.time()))

    def done(self):
        if not os.path.exists(self.result + ".json") or self.options.again:
            return None
        with open(self.result + ".json") as text:
            before = json.load(text)
        return before if before["binary"] == self.options.version and not before["errors"] else None

    def start_ranks(self, folder, socket):
        port = str(free_port())
        world = RANKS[self.kind]
        for rank in range(world):
            with open(os.path.join(folder, "rank-%d" % rank), "w") as output:
                environment = dict(os.environ, PITWALL_SOCKET=socket, PITWALL_JOB="healthy-" + self.name, MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                                   TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1")
                if world > 1:
                    environment.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world))
                pace = self.options.minutes * 60.5 / self.steps
                yield subprocess.Popen([self.options.python, os.path.join(HERE, "healthy_kinds.py"), self.kind, str(self.steps), "%.4f" % pace,
                                        str(self.seed), CLIENT], stdout=output, stderr=subprocess.STDOUT, env=environment)

    def run(self):
        before = self.done()
        if before:
            return before
        folder = tempfile.mkdtemp(prefix="pitwall-healthy-")
        running, pitwall = [], None
        try:
            data, socket = os.path.join(folder, "data"), os.path.join(folder, "c.sock")
            pitwall = Pitwall(self.options.pitwall, os.path.join(folder, "standalone"), "--data-dir", data,
                              "--config", write(os.path.join(folder, "pitwall.yaml"), CONFIG), "--socket", socket, "--node", "gn07",
                              "--rules", *recordings.pack_flags(self.options.packs))
            watching = subprocess.Popen([self.options.pitwall, "issues", "watch", "--json", "--from-start", "--target", pitwall.grpc],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            running.append(watching)
            threading.Thread(target=self.watch, args=(watching.stdout,), daemon=True).start()
            began = time.time()
            ranks = list(self.start_ranks(folder, socket))
            running += ranks
            wait_for("the end of " + self.name, lambda: all(rank.poll() is not None for rank in ranks), self.options.minutes * 60 * 3 + 300)
            ended = time.time()
            time.sleep(5)  # time for the job to end and for issues of its last steps to be reported
            until = time.time()
            pitwall.stop()
            errors = []
            for number, rank in enumerate(ranks):
                with open(os.path.join(folder, "rank-%d" % number)) as said:
                    text = said.read()
                if rank.returncode != 0 or "done" not in text:
                    errors.append("rank %d: %s" % (number, text[-2000:]))
            os.makedirs(os.path.dirname(self.result), exist_ok=True)
            recordings.pack(data, self.result + ".tar.xz")
            result = {"kind": self.kind, "seed": self.seed, "steps": self.steps, "hours": round((ended - began) / 3600, 4), "ranks": RANKS[self.kind],
                      "binary": self.options.version, "issues": issues_of(list(self.told)), "told": self.told, "until": until, "errors": errors,
                      "load": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d")}
            with open(self.result + ".json", "w") as out:
                json.dump(result, out, indent=1)
            return result
        finally:
            for process in running:
                if process.poll() is None:
                    process.kill()
                process.wait()
            if pitwall is not None:
                pitwall.kill()
            shutil.rmtree(folder, ignore_errors=True)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("pitwall")
    options.add_argument("python")
    options.add_argument("--kinds", nargs="+", choices=sorted(RANKS), default=list(RANKS))
    options.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--jobs", type=int, default=4)
    options.add_argument("--results", default=os.path.join(REPO, "build", "healthy"))
    options.add_argument("--packs", choices=("all", "default"), default="all")
    options.add_argument("--again", action="store_true")
    options = options.parse_args()
    options.pitwall = os.path.abspath(options.pitwall)
    options.version = version_of(options.pitwall)
    try:
        os.nice(-10)  # so that other processes on the machine have less effect on the measurement
    except PermissionError:
        pass
    bad = 0

    def work(kind, seed):
        result = Run(options, kind, seed).run()
        counts = {}
        for issue in result["issues"]:
            counts.setdefault(issue["of"], []).append(issue["alert"])
        return kind, seed, result, counts

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for made in concurrent.futures.as_completed([pool.submit(work, kind, seed) for seed in options.seeds for kind in options.kinds]):
            kind, seed, result, counts = made.result()
            good = not result["errors"] and "training" not in counts
            bad += not good
            print("%s %s-%d: %d steps, %.2f h, %s%s" % ("ok    " if good else "FAILED", kind, seed, result["steps"], result["hours"], json.dumps(counts),
                                                     " ERRORS " + str(result["errors"]) if result["errors"] else ""), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
