"""The load: jobs with several ranks that end, are killed, and restart. Each rank is a separate process (rank.py).

A long job runs from the start of the era to its end; short jobs run one after another. Each incarnation of a rank has its own journal,
journals/<job>.<rank>.<incarnation>. ranks.jsonl contains the other facts for the checker: job, rank, journal, start time, and, if the rank was
killed, the time of the kill.
"""
import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT = os.path.join(os.path.dirname(os.path.dirname(HERE)), "clients", "python", "src")
RANGE = 1_000_000  # number of values in the range of an incarnation
END_PATIENCE = 70


class Rank:
    """One incarnation of a rank."""

    def __init__(self, process, record, clock):
        self.process = process
        self.record = record  # entry for ranks.jsonl
        self.clock = clock    # path of the file with the rank's clock offset


class Load:
    def __init__(self, era, socket, random, clock_file):
        self.era = era                  # folder of the era
        self.socket = socket
        self.random = random
        self.clock_file = clock_file    # function that returns the path of a rank's clock file
        self.running = []
        self.over = []
        self.incarnations = {}          # (job, rank) -> number of incarnations
        self.shorts = 0
        self.next_range = 1
        os.makedirs(os.path.join(era, "journals"), exist_ok=True)

    def start(self, job, rank, world, seconds):
        incarnation = self.incarnations[job, rank] = self.incarnations.get((job, rank), 0) + 1
        name = "%s.%d.%d" % (job, rank, incarnation)
        journal = os.path.join(self.era, "journals", name)
        config = {"job": job, "rank": rank, "world": world, "journal": journal, "first": self.next_range * RANGE,
                  "clock": self.clock_file(name), "step_s": 0.04, "trouble_every_s": 7.0 + rank, "trouble_s": 3.0, "seconds": seconds}
        self.next_range += 1
        with open(journal + ".config", "w") as out:
            json.dump(config, out)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PITWALL_", "SLURM_"))}
        environment.update(PITWALL_SOCKET=self.socket, PYTHONPATH=CLIENT)
        with open(journal + ".log", "w") as log:
            process = subprocess.Popen([sys.executable, os.path.join(HERE, "rank.py"), journal + ".config"], env=environment,
                                       stdout=log, stderr=log)
        record = {"job": job, "rank": rank, "world": world, "incarnation": incarnation, "journal": name,
                  "first": config["first"], "began": time.monotonic(), "killed": None, "ended": None}
        self.running.append(Rank(process, record, config["clock"]))
        return self.running[-1]

    def start_job(self, job, world, seconds=3600):
        for rank in range(world):
            self.start(job, rank, world, seconds)

    def tend(self):
        """Reaps processes that have ended, and starts the next short job if none is running."""
        for rank in list(self.running):
            if rank.process.poll() is not None:
                self._over(rank)
        if not any(r.record["job"].startswith("short-") for r in self.running):
            self.shorts += 1
            self.start_job("short-%s-%d" % (os.path.basename(self.era), self.shorts), 1 + self.shorts % 2,
                           seconds=self.random.uniform(5, 9))

    def _over(self, rank):
        self.running.remove(rank)
        rank.record["ended"] = time.monotonic()
        rank.record["exit"] = rank.process.returncode
        self.over.append(rank)

    def lasting(self):
        return [r for r in self.running if not r.record["job"].startswith("short-")]

    def kill(self, rank):
        """Kills one rank with kill -9. start_again() starts its next incarnation."""
        rank.record["killed"] = time.monotonic()
        rank.process.kill()
        rank.process.wait()
        self._over(rank)

    def start_again(self, rank):
        return self.start(rank.record["job"], rank.record["rank"], rank.record["world"], 3600)

    def finish(self):
        """Ends all jobs normally."""
        for rank in self.running:
            rank.process.send_signal(signal.SIGCONT)
            rank.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + END_PATIENCE
        for rank in list(self.running):
            try:
                rank.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                rank.record["killed"] = time.monotonic()
                rank.process.kill()
                rank.process.wait()
            self._over(rank)

    def write(self):
        with open(os.path.join(self.era, "ranks.jsonl"), "w") as out:
            for rank in self.over:
                out.write(json.dumps(rank.record) + "\n")

    def stop(self):
        """Kills all remaining processes."""
        for rank in list(self.running):
            if rank.process.poll() is None:
                self.kill(rank)
