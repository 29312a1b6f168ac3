"""Telemetry of simulated training runs, healthy or with one fault, as a table for `pitwall backtest --format csv`.

A job is a dict: name, family, law (kind of its noise), every (steps from one row of its log to the next), rows, steps, samples (rows of one rank),
seconds, true (alerts that are correct for its noise), and, with a fault: fault, onset (step), names (alerts that detect it), rank, beside (alerts
that may accompany it), and healthy_rows (of one rank, before the fault). Each generator draws from its own seed, derived from the set, the family,
and the job, so jobs do not depend on each other. """
import csv
import random

import noise

METRICS = {"at_step": "train_step", "seconds": "train_step_duration_seconds", "loss": "train_loss", "norm": "train_grad_norm", "rate": "train_learning_rate"}
PHASE_NAMES = ("dataloader", "forward", "backward", "optimizer", "collective", "eval", "checkpoint", "pitwall")
BASE = 1_700_000_000
# Fraction of a rank's own time in each phase. The remaining time is spent between the phases.
PHASES = {"dataloader": 0.05, "forward": 0.30, "backward": 0.50, "optimizer": 0.10}
# At this noise width (standard deviation of a rank's own time) and above, these alerts are true: the steps really differ, and the ranks really wait.
TRUE_OF_NOISE = ((0.08, ("Jitter", "WorkImbalance")), (0.15, ("LowAcceleratorUtilization",)))
EVAL_EVERY, CHECKPOINT_EVERY, SAVE_EVERY = 200, 450, 100
# Alerts that may accompany a step fault, in addition to its own alert.
SLOW = ("StepOutlier", "SelfSlowdown", "ThroughputRegress", "Jitter", "WorkImbalance", "StragglerByWait", "LowAcceleratorUtilization")


def rng_of(seeds, *key):
    return random.Random(" ".join([seeds] + [str(part) for part in key]))


def new_job(name, family, law, every, **more):
    return {"name": name, "family": family, "law": law, "every": every, "rows": [], "steps": 0, "samples": 0, "seconds": 0.0, "true": set(), "fault": None,
            "beside": set(), **more}


def values(seeds, law, every, samples, rise=0.0, length=0, onset=300, number=0):
    """Returns the loss and the gradient norm of one rank. The loss follows a decreasing power law of the step. It is raised starting at the sample
    `onset`, for `length` samples (0: until the end)."""
    fault = "+%d %%, %s" % (100 * rise, "%d samples" % length if length else "to the end") if rise else None
    job = new_job("values-%s-%d-%g-%d-%d" % (law, every, rise, length, number), "values", law, every)
    rng = rng_of(seeds, job["name"])
    loss, norm, duration = noise.factors(law, rng), noise.factors(law, rng), noise.step_noise(0.05, 0.5, rng)
    ts, last = 0.0, samples if not rise else onset + length + 120
    for i in range(last):
        raised = 1 + rise if rise and i >= onset and (length == 0 or i < onset + length) else 1.0
        seconds = 0.3 * next(duration)
        ts += every * seconds
        job["rows"].append({"ts": ts, "step": i * every, "rank": 0, "at_step": i * every, "seconds": seconds,
                            "loss": 2.5 * (1 + 10 / (i + 10)) * next(loss) * raised, "norm": next(norm) * (1 + 2 * (raised - 1)), "rate": 1e-4})
    job.update(steps=last * every, samples=last, seconds=ts)
    if rise:
        # A single batch is counted but not reported, so no alert may detect it.
        job.update(fault=fault, onset=onset * every, healthy_rows=onset, names=() if length == 1 else ("LossSpike", "GradNormSpike", "LossRaised"), rank=None,
                   until=(onset + (length or 100) + 20) * every,
                   beside={"LossSpike", "GradNormSpike", "LossRaised", "LossDivergence", "LossOutliers"} if length != 1 else {"LossOutliers"})
    if law in ("t3", "batches", "gamma", "log-normal"):
        job["true"] = {"LossOutliers"}  # LossOutliers counts the tails of these laws
    return job


class Machine:
    """A training run with several ranks, each with its own step time. All ranks wait for the slowest one."""

    def __init__(self, seeds, name, family, law, every, ranks, sigma, rho, base=0.25, stages=1, pauses=False, timer=None):
        self.job = new_job(name, family, law, every)
        rng = rng_of(seeds, name)
        self.ranks, self.base, self.stages, self.every, self.pauses, self.timer = ranks, base, stages, every, pauses, timer
        self.own = [noise.step_noise(sigma, rho, rng) for _ in range(ranks)]
        self.slow = {}          # rank -> {phase: factor}, "all" for each phase
        self.longer = 1.0       # factor of all ranks
        self.loader = 0.0       # additional seconds in the loader
        self.stall_at, self.stall = -1, 0.0
        self.period, self.period_cost = 0, 0.0
        self.ts, self.step = 0.0, 0
        self.sums = [dict.fromkeys(("seconds", *PHASE_NAMES), 0.0) for _ in range(ranks)]
        if timer and 500 * base / timer[0] > 5:
            self.job["true"].add("profiler's StepOutlier")  # more than 10 of 500 steps are long
        if timer:
            self.job["true"].add("PeriodicStall")  # PeriodicStall reports the period in seconds
        for least, alerts in TRUE_OF_NOISE:
            if sigma >= least:
                self.job["true"] |= set(alerts)

    def run(self, steps):
        for _ in range(steps):
            self.one()
        self.job.update(steps=self.step, samples=self.step // self.every, seconds=self.ts)
        return self.job

    def one(self):
        spent = []
        for rank in range(self.ranks):
            own = self.base * next(self.own[rank]) * self.longer
            parts = {phase: own * share for phase, share in PHASES.items()}
            gap = own * 0.05
            for phase, factor in self.slow.get(rank, {}).items():
                if phase == "all":
                    parts = {p: seconds * factor for p, seconds in parts.items()}
                    gap *= factor
                else:
                    parts[phase] *= factor
            parts["dataloader"] += self.loader
            if self.step == self.stall_at:
                gap += self.stall
            if self.period and self.step and self.step % self.period == 0:
                gap += self.period_cost
            spent.append((parts, gap))
        own = [sum(parts.values()) + gap for parts, gap in spent]
        length = max(own) + 0.02 * self.base
        if self.timer:  # another process runs periodically and slows all ranks
            period, cost = self.timer
            if int((self.ts + length) / period) > int(self.ts / period):
                length += cost
                own = [seconds + cost for seconds in own]
        pauses = {}
        if self.pauses and self.step:
            if self.step % EVAL_EVERY == 0:
                pauses["eval"] = 15 * self.base
            if self.step % CHECKPOINT_EVERY == 0:
                pauses["checkpoint"] = 8 * self.base
            if self.step % SAVE_EVERY == 0:
                pauses["pitwall"] = 4 * self.base
        length += sum(pauses.values())
        self.ts += length
        for rank, (parts, _) in enumerate(spent):
            wait = length - sum(pauses.values()) - own[rank]
            sums = self.sums[rank]
            for phase, seconds in dict(parts, seconds=length, collective=wait, **pauses).items():
                sums[phase] += seconds
            sums["backward"] += wait
        self.step += 1
        if self.step % self.every == 0:
            self.log()

    def log(self):
        for rank, sums in enumerate(self.sums):
            row = {name: seconds / self.every for name, seconds in sums.items()}
            if not self.pauses:
                for phase in ("eval", "checkpoint", "pitwall"):
                    del row[phase]
            if self.stages > 1:
                row["stage"] = rank * self.stages // self.ranks
            self.job["rows"].append({"ts": self.ts, "step": self.step, "rank": rank, "at_step": self.step, **row})
            for name in sums:
                sums[name] = 0.0


def law_of(sigma, rho):
    return "σ %g ρ %g" % (sigma, rho)


def healthy_steps(seeds, ranks, sigma, rho, steps, every=1, base=0.25, number=0, **more):
    name = "steps-%d-%g-%g-%d-%g-%d%s" % (ranks, sigma, rho, every, base, number, "-" + "-".join(sorted(more)) if more else "")
    family = "pauses" if more else "steps" if every == 1 else "sparse steps"
    return Machine(seeds, name, family, law_of(sigma, rho), every, ranks, sigma, rho, base, **more).run(steps)


FAULTS = ("rank 1.3x", "rank 2x", "all 1.3x", "one stall of 60 s", "every 20", "every 50", "every 100", "data stall", "stages 1.4x")


# Machine faults are periodic in seconds. They are periodic in steps only if all steps have the same duration.
TIMER_FAULT = "every 12 s"


def faulty_steps(seeds, fault, ranks, sigma, rho, every=1, base=0.25, number=0):
    """Yields a healthy run followed by a run with one of FAULTS."""
    name = "fault-%s-%d-%g-%g-%d-%g-%d" % (fault.replace(" ", "-"), ranks, sigma, rho, every, base, number)
    machine = Machine(seeds, name, "steps" if every == 1 else "sparse steps", law_of(sigma, rho), every, ranks, sigma, rho, base,
                      stages=2 if fault.startswith("stages") else 1)
    onset = 150 * every if every > 1 else 300
    after = 100 * every if every > 1 else 700
    names, rank = (), None
    job = machine.job
    if fault.startswith("stages"):
        onset, after, names = 0, 45, ("StageImbalance",)
        for r in range(ranks // 2, ranks):
            machine.slow[r] = {"all": 1.4}
    machine.run(onset)
    if fault.startswith("rank"):
        names, rank = ("StragglerRank",), 1
        machine.slow[1] = {"forward": 2.0 if fault == "rank 1.3x" else 1 + 1 / 0.3}
    elif fault.startswith("all"):
        names, machine.longer = ("SelfSlowdown", "ThroughputRegress"), 1.3
    elif fault.startswith("one"):
        names, machine.stall_at, machine.stall = ("StepOutlier",), onset + 3, 60.0
    elif fault == TIMER_FAULT:
        names, machine.timer = ("PeriodicStall",), (12.0, 4 * base)
    elif fault.startswith("every"):
        names, machine.period, machine.period_cost = ("PeriodicStall",), int(fault.split()[1]), 4 * base
    elif fault.startswith("data"):
        names, machine.loader = ("DataStallShare",), base
    machine.run(after)
    job.update(fault=fault, onset=onset, until=onset + after, healthy_rows=onset // every, names=names, rank=rank, beside=set(SLOW) | set(names) | {"profiler's StepOutlier"} | ({"HangSuspected", "HangIdle", "HangBusy"} if fault.startswith("one") else set()))
    return job


def short_profile(seeds, ranks, sigma, steps, number):
    return Machine(seeds, "short-%d-%g-%d-%d" % (ranks, sigma, steps, number), "short", law_of(sigma, 0.3), 1, ranks, sigma, 0.3).run(steps)


def decay(seeds, shape, every, samples, number=0):
    """Returns a learning rate with a warm-up followed by a linear or cosine decay to zero at the last row."""
    import math
    job = new_job("decay-%s-%d-%d" % (shape, every, number), "decay", shape, every)
    rng = rng_of(seeds, job["name"])
    loss, ts, warmup = noise.factors("gauss", rng), 0.0, samples // 20
    for i in range(samples):
        left = (samples - i) / (samples - warmup)
        rate = 3e-4 * (min(1.0, (i + 1) / warmup) if i < warmup else left if shape == "linear" else 0.5 * (1 - math.cos(math.pi * left)))
        ts += 0.3 * every
        job["rows"].append({"ts": ts, "step": i * every, "rank": 0, "at_step": i * every, "loss": 2.5 * (1 + 10 / (i + 10)) * next(loss), "rate": rate})
    job.update(steps=samples * every, samples=samples, seconds=ts)
    return job


def mapping(columns):
    """Returns the mapping file for a table with these columns. A mapped column without rows would be an error."""
    lines = ["time: {column: ts, unit: s}", "step: {column: step}", "job: {column: run}",
             "labels: {node: a, rank: {column: rank}%s}" % (", stage: {column: stage}" if "stage" in columns else ""), "metrics:"]
    lines += ["- {column: %s, name: %s}" % (column, name) for column, name in METRICS.items() if column in columns]
    lines += ["- {column: %s, name: train_phase_duration_seconds, labels: {phase: %s}}" % (phase, phase) for phase in PHASE_NAMES if phase in columns]
    return "\n".join(lines) + "\n"


def write(path, mapping_path, jobs):
    columns = sorted({column for job in jobs for row in job["rows"] for column in row} - {"ts"})
    with open(mapping_path, "w", encoding="utf-8") as out:
        out.write(mapping(columns))
    with open(path, "w", encoding="utf-8", newline="") as out:
        table = csv.writer(out)
        table.writerow(["ts", "run", *columns])
        for job in jobs:
            for row in job["rows"]:
                cells = [row.get(column, "") for column in columns]
                table.writerow(["%.4f" % (BASE + row["ts"]), job["name"], *["%.6g" % cell if isinstance(cell, float) else cell for cell in cells]])
