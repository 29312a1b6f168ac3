"""Telemetry of jobs in which two faults start one after the other, as a table for `pitwall backtest --format csv`.

Nine ranks on three nodes (a: 0 to 2, b: 3 to 5, c: 6 to 8) train in steps of one second, with a measured wait. Each fault is a function of the job's
Sim. The fault sets a state that determines its effects on steps, losses, phases, and machines.
"""
import csv
import random

MAPPING = """time: {column: ts, unit: s}
step: {column: step}
job: {column: run}
labels: {rank: {column: rank}, node: {column: node}, cause: {column: cause}, verdict: {column: verdict}}
metrics:
- {column: seconds, name: train_step_duration_seconds}
- {column: at_step, name: train_step}
- {column: loss, name: train_loss}
- {column: rate, name: train_learning_rate}
- {column: dataloader, name: train_phase_duration_seconds, labels: {phase: dataloader}}
- {column: forward, name: train_phase_duration_seconds, labels: {phase: forward}}
- {column: backward, name: train_phase_duration_seconds, labels: {phase: backward}}
- {column: optimizer, name: train_phase_duration_seconds, labels: {phase: optimizer}}
- {column: collective, name: train_phase_duration_seconds, labels: {phase: collective}}
- {column: in_forward, name: train_phase_state, labels: {phase: forward}}
- {column: in_collective, name: train_phase_state, labels: {phase: collective}}
- {column: operations, name: train_collective_operations_total, labels: {group: dp}}
- {column: world, name: train_world_size}
- {column: memory, name: process_memory_usage_bytes}
- {column: cpu, name: process_cpu_seconds_total}
- {column: idle, name: system_cpu_utilization_ratio, labels: {cpu: "0", mode: idle}}
- {column: watch, name: gpu_xid_watch_state, labels: {gpu: "2"}}
- {column: xid, name: gpu_xid_errors_total, labels: {gpu: "2", code: "79"}}
- {column: died, name: pitwall_rank_lost}
- {column: ranks_lost, name: pitwall_job_ranks_lost}
- {column: attempts, name: pitwall_job_attempts_begun_total}
"""
COLUMNS = ("ts", "step", "run", "rank", "node", "cause", "verdict", "seconds", "at_step", "loss", "rate", "dataloader", "forward", "backward", "optimizer",
           "collective", "in_forward", "in_collective", "operations", "world", "memory", "cpu", "idle", "watch", "xid", "died", "ranks_lost", "attempts")
RANKS = 9
NODES = "abc"
# Seconds per step: loader, forward, backward, and optimizer.
PHASES = {"dataloader": 0.05, "forward": 0.30, "backward": 0.50, "optimizer": 0.10}
BASE = 1_700_000_000
FIRST, SECOND = 120, 165    # seconds at which the faults begin
GOES_ON = 150               # seconds for which a job continues after that
STANDS = 700                # seconds for which the telemetry of a stopped job continues


def node_of(rank):
    return NODES[rank // 3]


class Sim:
    def __init__(self, run, seed):
        self.run, self.rng, self.rows = run, random.Random(seed), []
        self.slow = dict.fromkeys(range(RANKS), 1.0)    # factor of forward
        self.loader = 0.0                               # additional seconds in the loader, all ranks
        self.nan = self.raised = self.rate_ramp = False
        self.busy = set()                               # nodes with cores that other processes use
        self.xid_since = None
        self.hung = None                                # the rank missing in the collective
        self.lost = None                                # (rank, cause) of the first death
        self.since = {}                                 # step at which a fault began
        self.step, self.operations = 0, 0

    def row(self, ts, **cells):
        self.rows.append({"ts": "%.3f" % (BASE + ts), "run": self.run, **cells})

    # Faults.
    def death(self, _):
        self.lost = self.lost or (2, "signal 9")

    def oom(self, _):
        self.lost = self.lost or (4, "out of memory")

    def nan_loss(self, _):
        self.nan = True

    def data_stall(self, _):
        self.loader = 0.8

    def straggler(self, _):
        self.slow[1] = 2.5

    def slow_node(self, _):
        for rank in (6, 7, 8):
            self.slow[rank] = 2.5

    def hang(self, _):
        self.hung = 7

    def cpu_busy(self, _):
        self.busy.add("b")

    def xid(self, ts):
        self.xid_since = ts

    def loss_raised(self, _):
        self.raised, self.since["raised"] = True, self.step

    # Telemetry.
    def machines(self, ts):
        for node in NODES:
            fell_off = {"xid": 1} if self.xid_since is not None and node == "c" else {}
            self.row(ts, node=node, idle=0.02 if node in self.busy else 0.6, watch=1, **fell_off)
        self.row(ts, ranks_lost=RANKS if self.lost else 0, attempts=1)
        if self.lost:
            rank, cause = self.lost
            self.row(ts, rank=rank, node=node_of(rank), cause=cause, verdict="died", died=1)
            return
        for rank in range(RANKS):
            waits = self.hung is not None and rank != self.hung
            self.row(ts, rank=rank, node=node_of(rank), memory=4e9, cpu="%.1f" % ts if waits else 100)
            self.row(ts, rank=rank, world=RANKS, in_forward=int(not waits), in_collective=int(waits), operations=self.operations + waits,
                     at_step=self.step)

    def loss(self):
        level = 2.0 + 3.0 * 20 / (self.step + 20)
        if self.raised:
            level *= 1 + min(1.0, (self.step - self.since["raised"]) / 20)
        return "NaN" if self.nan else "%.5f" % (level * (1 + 0.01 * self.rng.gauss(0, 1)))

    def train_step(self, ts):
        """Runs one step starting at ts and returns its end."""
        spent = {}
        for rank in range(RANKS):
            noise = 1 + 0.01 * self.rng.gauss(0, 1)
            spent[rank] = {phase: seconds * noise for phase, seconds in PHASES.items()}
            spent[rank]["forward"] *= self.slow[rank]
            spent[rank]["dataloader"] += self.loader
        own = {rank: sum(phases.values()) for rank, phases in spent.items()}
        length = max(own.values()) + 0.05
        end = ts + length
        loss = self.loss()
        rate = 1e-4 * (1 + (self.step - self.since["raised"]) / 2) if self.raised else 1e-4
        for rank in range(RANKS):
            wait = length - own[rank]
            phases = {phase: "%.5f" % seconds for phase, seconds in spent[rank].items()}
            # The all-reduce of the gradients runs inside backward.
            phases.update(backward="%.5f" % (spent[rank]["backward"] + wait), collective="%.5f" % wait)
            self.row(end, step=self.step, rank=rank, seconds="%.5f" % length, loss=loss, rate="%.6g" % rate, **phases)
        self.step += 1
        self.operations += 10
        return end

    def simulate(self, first, second):
        ts, machine, faults = 0.0, 0.0, [(FIRST, first), (SECOND, second)]
        end = SECOND + GOES_ON
        while ts < end:
            while faults and ts >= faults[0][0]:
                faults.pop(0)[1](self, ts)
                if self.hung is not None:
                    end = max(end, ts + STANDS)
            while machine <= ts:
                self.machines(machine)
                machine += 5
            if self.hung is None and self.lost is None:
                ts = self.train_step(ts)
            else:
                ts += 1
        return self.rows


FAULTS = {
    "death": Sim.death, "oom": Sim.oom, "nan": Sim.nan_loss, "data": Sim.data_stall, "rank": Sim.straggler,
    "node": Sim.slow_node, "hang": Sim.hang, "cpu": Sim.cpu_busy, "xid": Sim.xid, "loss": Sim.loss_raised,
}


def nothing(_sim, _ts):
    """Has no effect. Placeholder for jobs without a second fault."""


def write(path, jobs):
    """Writes the jobs, {job name: (first fault, second fault)}. Each fault is a name from FAULTS, or "" for no fault."""
    with open(path, "w", encoding="utf-8", newline="") as out:
        table = csv.DictWriter(out, COLUMNS, restval="")
        table.writeheader()
        for seed, (name, (first, second)) in enumerate(jobs.items()):
            sim = Sim(name, seed)
            table.writerows(sim.simulate(FAULTS.get(first, nothing), FAULTS.get(second, nothing)))
