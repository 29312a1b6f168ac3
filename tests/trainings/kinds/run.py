#!/usr/bin/env python3
"""Runs each kind of training under `pitwall standalone` with all packs, one standalone process per kind, and judges the events.

run.py PITWALL PYTHON [--kinds PATTERN…] [--jobs N] [--results DIR] [--again] [--keep]

PYTHON: the last interpreter that tests/stages/parts/torch.sh prints. The results are kept in DIR (build/kinds); a kind that passed with this binary
is not rerun. --keep: stores the recording of each kind that does not have one yet. The exit code is 1 if a kind failed, unless the kind is known to
fail.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "..", "e2e")]
import kept  # noqa: E402
import recordings  # noqa: E402
from harness import CLIENT, REPO, Pitwall, write  # noqa: E402
from kinds import KINDS, issues_of, judge, jobs_of, matches  # noqa: E402
from matrix import free_port, version_of  # noqa: E402

CONFIG = "collector: {gpus: false, interval: 1s}\n"
TRAINS_S = 600   # maximum duration of a run
ENDS_S = 110     # maximum time until the jobs end; a failed job waits one minute for a restart
SETTLES_S = 15   # time between the expected issue and the verdict, for further issues


def command(python, made):
    """Returns the command that starts all ranks."""
    script, world = os.path.join(HERE, made["script"]), made["world"]
    if made["launcher"] == "torchrun":
        return [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(world), "--max-restarts",
                str(made["run"].get("restarts", 0)), script]
    if made["launcher"] == "accelerate":
        return [python, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", "1", "--num_machines", "1", "--mixed_precision", "no",
                "--dynamo_backend", "no", script]
    if made["launcher"] == "plain":
        return [python, os.path.join(HERE, "launch_plain.py"), str(world), script]
    return [python, script] + ([] if made["launcher"] == "itself" else [made["launcher"]])


def processes_with(variable):
    """Returns the PIDs of processes that have this assignment in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as environ:
                if variable.encode() in environ.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


class Run:
    """Runs one kind from start to verdict."""

    def __init__(self, options, made):
        self.options, self.made = options, made
        self.events = []
        self.folder = tempfile.mkdtemp(prefix="pitwall-kind-")
        self.socket = os.path.join(self.folder, "c.sock")

    def watch(self, stream):
        for line in stream:
            event = json.loads(line)
            if event["type"].startswith(("io.pitwall.issue.", "io.pitwall.job.")):
                self.events.append((event["type"].rpartition(".")[2], dict(event["data"], event=event["id"]), time.time()))

    def launch(self):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PITWALL_", "SLURM_"))}
        environment.update(PITWALL_SOCKET=self.socket, PITWALL_JOB=self.made["name"], PITWALL_CLIENT=CLIENT, PITWALL_KIND=json.dumps(self.made["run"]),
                           MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", IPYTHONDIR=self.folder)
        if self.made["launcher"] in ("fork", "forkserver", "spawn"):
            environment["WORLD_SIZE"] = str(self.made["world"])
        with open(os.path.join(self.folder, "output"), "w") as output:
            return subprocess.Popen(command(self.options.python, self.made), stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=self.folder)

    def output(self):
        with open(os.path.join(self.folder, "output"), errors="replace") as text:
            return text.read()

    def kill_ranks(self):
        for pid in processes_with("PITWALL_SOCKET=" + self.socket):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def wait(self, launcher):
        """Waits until the jobs have ended or, if they are not expected to end, until a few seconds after the expected issues. Returns an error or
        None."""
        limit = time.monotonic() + TRAINS_S
        named_at = None
        while launcher.poll() is None:
            if time.monotonic() > limit:
                return "the run did not end in time" if self.made["ends"] else None
            if self.made["ends"] is None and self.all_named():
                named_at = named_at or time.monotonic()
                if time.monotonic() > named_at + SETTLES_S:
                    return None
            time.sleep(0.2)
        limit = time.monotonic() + ENDS_S
        while time.monotonic() < limit and not self.all_ended():
            time.sleep(0.2)
        time.sleep(3)  # time for issues of the last steps
        return None

    def all_named(self):
        issues = issues_of(list(self.events))[0].values()
        return all(any(matches(data, expected) for data in issues) for expected in self.made["expects"])

    def all_ended(self):
        jobs = jobs_of(list(self.events))
        return len(jobs) >= len(self.made["ends"] or [None]) and all(ended for ended, _ in jobs)

    def run(self):
        pitwall = watching = launcher = None
        try:
            began = time.time()
            data = os.path.join(self.folder, "data")
            pitwall = Pitwall(self.options.pitwall, os.path.join(self.folder, "standalone"), "--data-dir", data, "--socket", self.socket, "--node", "gn07",
                              "--config", write(os.path.join(self.folder, "pitwall.yaml"), CONFIG), "--rules", *recordings.pack_flags("all"))
            watching = subprocess.Popen([self.options.pitwall, "issues", "watch", "--json", "--from-start", "--target", pitwall.grpc],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            threading.Thread(target=self.watch, args=(watching.stdout,), daemon=True).start()
            launcher = self.launch()
            error = self.wait(launcher)
            until = time.time()
            events = list(self.events)
            self.kill_ranks()
            pitwall.stop()
            result = {"kind": self.made, "binary": self.options.version, "until": until, "seconds": round(time.time() - began, 1), "error": error,
                      "verdict": judge(self.made, events), "events": events, "output": self.output()[-6000:], "load": os.getloadavg()[0]}
            self.save(data, result)
            return result
        finally:
            self.kill_ranks()
            for process in (launcher, watching):
                if process is not None:
                    process.kill()
                    process.wait()
            if pitwall is not None:
                pitwall.kill()
            shutil.rmtree(self.folder, ignore_errors=True)

    def save(self, data, result):
        path = os.path.join(self.options.results, self.made["name"])
        recordings.pack(data, path + ".tar.xz")
        with open(path + ".json", "w") as out:
            json.dump(result, out, indent=1)


def passed_before(options, made):
    """Returns true if an earlier run of this kind with this binary passes the current verdict."""
    path = os.path.join(options.results, made["name"] + ".json")
    if options.again or not os.path.exists(path):
        return False
    with open(path) as text:
        before = json.load(text)
    return (before["binary"] == options.version and before["kind"]["run"] == made["run"] and not before["error"]
            and judge(made, before["events"])["ok"])


def run_one(options, made):
    """Runs one kind. Returns (true if the kind passed or is known to fail, the line to print)."""
    try:
        result = Run(options, made).run()
    except Exception as error:
        return False, "FAILED %s: %s: %s" % (made["name"], type(error).__name__, error)
    verdict = result["verdict"]
    good = verdict["ok"] and not result["error"]
    word = "ok    " if good else "KNOWN " if made["known_wrong"] else "FAILED"
    shown = {key: value for key, value in verdict.items() if value not in ([], None) and key != "ok"}
    line = "%s %s %.0f s: %s" % (word, made["name"], result["seconds"], json.dumps(shown)) + (" ERROR " + result["error"] if result["error"] else "")
    if options.keep and not result["error"]:
        line += ", " + kept.keep(options.pitwall, options.results, made["name"])
    return good or bool(made["known_wrong"]), line


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pitwall")
    parser.add_argument("python")
    parser.add_argument("--kinds", nargs="+", default=["*"])
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--results", default=os.path.join(REPO, "build", "kinds"))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    options.pitwall = os.path.abspath(options.pitwall)
    options.version = version_of(options.pitwall)
    os.makedirs(options.results, exist_ok=True)
    wanted = [made for name, made in KINDS.items() if any(fnmatch.fnmatch(name, pattern) for pattern in options.kinds)]
    left = [made for made in wanted if not passed_before(options, made)]
    print("%d kinds, %d to run" % (len(wanted), len(left)), flush=True)
    failed = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(run_one, options, made): made["name"] for made in left}
        for job in concurrent.futures.as_completed(running):
            good, line = job.result()
            print(line, flush=True)
            if not good:
                failed.append(running[job])
    print("%d failed: %s" % (len(failed), " ".join(sorted(failed))) if failed else "all passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
