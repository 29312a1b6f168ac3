#!/usr/bin/env python3
"""Runs the training matrix under `pitwall standalone`, with one standalone process per cell.

matrix.py PITWALL PYTHON [--cells PATTERN…] [--results DIR] [--ranks N] [--again] [--packs all|default] [--keep]

PYTHON: an interpreter with torch. The results are kept in DIR (build/cells); a cell that passed with this binary and these packs is not rerun.
--ranks: maximum number of concurrent ranks. --again: also runs cells that passed. --keep: adds recordings that are missing from
tests/trainings/recordings. The exit code is 1 if a cell failed.
"""
import argparse
import fnmatch
import hashlib
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e"), os.path.join(HERE, "..", "e2e", "ranks")]
import recordings  # noqa: E402
from cells import CELLS, judge, training_of  # noqa: E402
from harness import CLIENT, REPO, Pitwall, wait_for, write  # noqa: E402

CONFIG = """
collector: {gpus: false, interval: %s}
notifier:
  allow_insecure: true
  webhooks:
  - {name: team, url: "http://127.0.0.1:%d/%s"}
"""

class Receiver(http.server.BaseHTTPRequestHandler):
    notices = {}  # cell -> [(seconds, event)]

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.notices.setdefault(self.path[1:], []).append((time.time(), body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Host:
    """The process that forks the ranks of all cells."""

    def __init__(self, python):
        self._process = subprocess.Popen([python, os.path.join(HERE, "cell_host.py"), CLIENT], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)
        self._lock = threading.Lock()
        assert self._process.stdout.readline() == "ready\n", "cell_host.py did not start"

    def launch(self, order):
        with self._lock:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()

    def close(self):
        self._process.stdin.close()
        self._process.wait()


class Budget:
    """A limit on the number of concurrent ranks."""

    def __init__(self, ranks):
        self._most = self._left = ranks
        self._change = threading.Condition()

    def take_first(self, cells):
        """Waits until one of these cells fits, removes it from the list, and returns it."""
        with self._change:
            while True:
                for at, cell in enumerate(cells):
                    if self.weight(cell) <= self._left:
                        self._left -= self.weight(cell)
                        return cells.pop(at)
                self._change.wait()

    def weight(self, cell):
        return min(self._most, cell["world"])

    def give(self, count):
        with self._change:
            self._left += count
            self._change.notify_all()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Run:
    """Runs one cell from start to verdict."""

    def __init__(self, options, host, port, cell):
        self.options, self.host, self.port, self.cell = options, host, port, cell
        self.told = []
        self.processes = []
        self.folder = tempfile.mkdtemp(prefix="pitwall-cell-")

    def watch(self):
        for line in self.watching.stdout:
            event = json.loads(line)
            kind = event["type"].rpartition(".")[2]
            if event["type"].startswith("io.pitwall.issue."):
                self.told.append((kind, dict(event["data"], event=event["id"]), time.time()))

    def group(self):
        """Creates a cgroup with a memory limit, for a rank that must be OOM-killed."""
        import oom_test
        oom_test.LIMIT = 400 << 20
        return oom_test.make_group()

    def pids(self):
        with open(os.path.join(self.folder, "pids")) as pids:
            return [int(word) for word in pids.read().split()]

    def end_ranks(self):
        for pid in self.pids() if os.path.exists(os.path.join(self.folder, "pids")) else ():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        wait_for("the end of the ranks of %s" % self.cell["name"], lambda: os.path.exists(os.path.join(self.folder, "over")))

    def began(self):
        """Returns the start time of the fault, as printed by a rank."""
        for rank in range(self.cell["world"]):
            path = os.path.join(self.folder, "rank-%d" % rank)
            if os.path.exists(path):
                with open(path) as said:
                    for line in said:
                        if line.startswith("fault "):
                            return float(line.split()[1])
        return None

    def over(self):
        return os.path.exists(os.path.join(self.folder, "over"))

    def abandon(self):
        """Kills all processes of this run immediately."""
        for pid in self.pids() if os.path.exists(os.path.join(self.folder, "pids")) and not self.over() else ():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for process in self.processes:
            process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self):
        name, cell = self.cell["name"], self.cell
        pitwall = watching = None
        group = None
        try:
            data = os.path.join(self.folder, "data")
            environment = {"PITWALL_SOCKET": os.path.join(self.folder, "c.sock"), "PITWALL_JOB": name}
            if cell["fault"] == "memory":
                group = environment["CELL_GROUP"] = self.group()
            pitwall = Pitwall(self.options.pitwall, os.path.join(self.folder, "standalone"), "--data-dir", data,
                              "--config", write(os.path.join(self.folder, "pitwall.yaml"), CONFIG % (cell.get("interval", "500ms"), self.port, name)),
                              "--rules", *recordings.pack_flags(self.options.packs), "--socket", environment["PITWALL_SOCKET"],
                              "--overrides", write(os.path.join(self.folder, "overrides.yaml"), recordings.overrides_for(self.options.packs)), "--node", "gn07")
            self.watching = watching = subprocess.Popen(
                [self.options.pitwall, "issues", "watch", "--json", "--from-start", "--target", pitwall.grpc],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.processes = [pitwall.process, watching]
            threading.Thread(target=self.watch, daemon=True).start()
            self.host.launch({"cell": cell, "folder": self.folder, "environment": environment, "port": free_port()})
            self.wait()
            ended_itself = self.over()
            if ended_itself:
                time.sleep(4)  # time for the job to end and for issues of its last steps to be reported
            until = time.time()
            began = self.began()
            told = list(self.told)
            notices = [("notice", {}, at) for at, _ in Receiver.notices.get(name, [])]
            self.end_ranks()
            verdict = judge(cell, told + notices, began)
            pitwall.stop()
            target = os.path.join(self.options.results, self.options.packs)
            os.makedirs(target, exist_ok=True)
            recordings.pack(data, os.path.join(target, name + ".tar.xz"))
            errors = self.errors() if ended_itself else []
            result = {"cell": cell, "binary": self.options.version, "began": began, "until": until, "verdict": verdict, "told": told,
                      "seconds": round(time.time() - self.started, 1), "errors": errors, "load": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d")}
            with open(os.path.join(target, name + ".json"), "w") as out:
                json.dump(result, out, indent=1)
            return result
        finally:
            if pitwall is not None:
                pitwall.kill()
            if watching is not None:
                watching.kill()
                watching.wait()
            if os.path.exists(os.path.join(self.folder, "pids")) and not self.over():
                self.end_ranks()
            if group:
                try:
                    os.rmdir(group)
                except OSError:
                    pass
            shutil.rmtree(self.folder, ignore_errors=True)

    def errors(self):
        """Returns the last output of each unfinished rank, or [] if the cell's fault keeps ranks from finishing."""
        if self.cell["fault"] in ("signal", "exception", "exit", "memory", "stop", "skip", "sleep"):
            return []
        found = []
        for rank in range(self.cell["world"]):
            with open(os.path.join(self.folder, "rank-%d" % rank)) as said:
                text = said.read()
            if "done" not in text:
                found.append("rank %d: %s" % (rank, text[-300:]))
        return found

    def wait(self):
        """Waits until the training run is over, until a few seconds after the expected issues, or until a timeout."""
        self.started = time.time()
        steps = self.cell["steps"] * self.cell.get("pace", 1)
        limit = self.started + 0.5 * steps + 60
        named_at = None
        while time.time() < limit and not self.over():
            time.sleep(0.2)
            began = self.began()
            if began and steps >= 5000:
                if named_at is None and judge(self.cell, list(self.told), began)["named"]:
                    named_at = time.time()
                if named_at and time.time() > named_at + 8 or time.time() > began + self.cell["seconds"] + 5:
                    return


def version_of(binary):
    """Returns a hash that identifies the binary, including its packs. With $CELLS_RULES=files, the hash also covers the rule files."""
    seen = hashlib.sha256()
    for path in [binary] + [flag for flag in recordings.pack_flags("all") if os.path.exists(flag)]:
        with open(path, "rb") as code:
            seen.update(code.read())
    return seen.hexdigest()[:16]


def passed(result, cell, version):
    """Returns true if the result belongs to this cell and this binary, and passes the current verdict."""
    if result["binary"] != version or training_of(result["cell"]) != training_of(cell) or result["errors"]:
        return False
    return judge(cell, [tuple(event) for event in result["told"]], result["began"])["ok"]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("pitwall")
    options.add_argument("python")
    options.add_argument("--cells", nargs="+", default=["*"])
    options.add_argument("--results", default=os.path.join(REPO, "build", "cells"))
    options.add_argument("--ranks", type=int, default=8)
    options.add_argument("--again", action="store_true")
    options.add_argument("--packs", choices=("all", "default"), default="all")
    options.add_argument("--keep", action="store_true")
    options = options.parse_args()
    options.pitwall = os.path.abspath(options.pitwall)
    options.version = version_of(options.pitwall)
    try:
        os.nice(-10)  # so that other processes on the machine do not cause additional faults
    except PermissionError:
        pass
    wanted = [cell for name, cell in CELLS.items() if any(fnmatch.fnmatch(name, pattern) for pattern in options.cells)]
    left = []
    for cell in wanted:
        path = os.path.join(options.results, options.packs, cell["name"] + ".json")
        if os.path.exists(path) and not options.again:
            with open(path) as text:
                before = json.load(text)
            if passed(before, cell, options.version):
                continue
        left.append(cell)
    print("%d cells, %d to run" % (len(wanted), len(left)), flush=True)
    hooks = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=hooks.serve_forever, daemon=True).start()
    host = Host(options.python)
    budget = Budget(options.ranks)
    failed = []
    running = {}

    def stop(*_):
        for run in list(running.values()):
            run.abandon()
        os._exit(130)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)

    def work(cell):
        run = Run(options, host, hooks.server_port, cell)
        running[cell["name"]] = run
        try:
            result = run.run()
            verdict = result["verdict"]
            good = verdict["ok"] and not result["errors"]
            line = {k: v for k, v in verdict.items() if v not in ([], None) and k not in ("ok",)}
            print("%s %s %.0f s: %s%s" % ("ok    " if good else "FAILED", cell["name"], result["seconds"], json.dumps(line),
                                          " ERRORS " + str(result["errors"]) if result["errors"] else ""), flush=True)
            if not result["errors"] and options.keep and options.packs == "all":  # includes cells that no rule detects yet
                recordings.keep(options.pitwall, os.path.join(options.results, "all", cell["name"]))
        except Exception as error:
            good = False
            print("FAILED %s: %s: %s" % (cell["name"], type(error).__name__, error), flush=True)
        finally:
            del running[cell["name"]]
            budget.give(budget.weight(cell))
        if not good:
            failed.append(cell["name"])

    threads = []
    left.sort(key=lambda cell: (-cell["seconds"], cell["world"]))  # the longest cells start first
    while left:
        cell = budget.take_first(left)
        thread = threading.Thread(target=work, args=(cell,))
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join()
    host.close()
    hooks.shutdown()
    print("%d failed: %s" % (len(failed), " ".join(sorted(failed))) if failed else "all passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
