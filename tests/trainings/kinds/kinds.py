"""Kinds of training runs: how each is started, the issues that it must raise, and the verdict for the events.

A kind is a dictionary. Fields of the run: script, launcher (how the ranks are started; see run.py), world (number of ranks), run (arguments of the
script). Fields of the verdict: expects (issues that must be raised, each with its accepted alerts, rank, cause, and a part of the summary), beside
(further alerts that are allowed in the same incident), ends (how its jobs end, in start order; None: the ranks are alive until the test kills them),
attempts (of the first job).
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cells import ACCUSES, LOADED, MACHINE  # noqa: E402

COMPLETED, FAILED = ("completed",), ("failed", "died")
HANG = ["CollectiveHang", "HangSuspected", "RankFrozen", "RankSpinning", "FirstCollectiveHang"]


def kind(name, script="loop.py", launcher="plain", world=1, expects=(), beside=(), ends=(COMPLETED,), attempts=1, wrong=None, **run):
    run = dict(dict(steps=60, pace=0.05, at=None), **run)
    return dict(name=name, script=script, launcher=launcher, world=world, expects=list(expects), beside=list(beside), ends=ends and list(ends),
                attempts=attempts, known_wrong=wrong, run=run)


def issue(*alerts, rank=None, cause=None, summary=""):
    return dict(alerts=list(alerts), rank=rank, cause=cause, summary=summary)


def died(rank, cause, summary):
    return [issue("RankDied", rank=rank, cause=cause, summary=summary)]


# End -> (cause, part of the summary). None is a normal end.
ENDS = {
    "return": None,
    "immediate_0": None,
    "exec": None,
    "exception": ("exception", "failed: ValueError: no such label"),
    "replaced_hook": ("exception", "failed: ValueError: no such label"),
    "system_exit": ("exit code 3", "exited with code 3"),
    "system_exit_text": ("exit code 1", "exited with code 1"),
    "exit": ("exit code 3", "exited with code 3"),
    "SIGKILL": ("signal 9", "was killed (SIGKILL)"),
    "SIGTERM": ("signal 15", "was terminated (SIGTERM)"),
    "immediate_3": ("exit code 3", "exited with code 3"),
    "teardown_crash": ("signal 11", "crashed (SIGSEGV, segmentation fault)"),
    "immediate_0_in_loop": (None, "exited with status 0"),
}


def end(name, of, rank, **more):
    """Returns a kind with a rank that ends in the given way: in the loop at step 40, or after the loop for a normal end."""
    said = ENDS[of]
    inside = said is not None and of != "teardown_crash"
    return kind(name, rank=rank, end=of.replace("_in_loop", ""), at=40 if inside else None, expects=died(rank, *said) if said else (),
                ends=[FAILED if said else COMPLETED], **more)


def ends():
    for of in ENDS:
        yield end("plain-" + of.lower(), of, 1, world=2)
    for launcher in ("fork", "forkserver", "spawn"):
        for of in ("return", "exception", "system_exit", "SIGKILL", "immediate_0"):
            yield end("%s-%s" % (launcher, of.lower()), of, 1, world=2, launcher=launcher)
    for of in ("return", "exception", "system_exit", "SIGKILL", "teardown_crash"):
        yield end("torchrun-" + of.lower(), of, 1, world=2, launcher="torchrun")
    restarted = end("torchrun-restart", "SIGKILL", 1, world=2, launcher="torchrun", restarts=1, once=True, attempts=2)
    yield dict(restarted, name="torchrun-restart-sigkill", ends=[COMPLETED])
    for of in ("return", "exception", "system_exit", "SIGKILL", "teardown_crash"):
        yield end("accelerate-" + of.lower(), of, 0, script="accelerate_run.py", launcher="accelerate")
    for of in ("return", "exception"):
        yield end("accelerate-ddp-" + of, of, 1, script="accelerate_run.py", world=2, launcher="torchrun")


def frameworks():
    for name in ("lightning", "transformers", "xgboost"):
        script = name + "_run.py"
        for of in ("return", "exception", "system_exit", "SIGKILL", "immediate_0"):
            yield end("%s-%s" % (name, of.lower()), of, 0, script=script)
        yield kind(name + "-idle", script=script, after="idle")
        yield kind(name + "-second", script=script, after="second_fit")
    yield kind("lightning-ddp", script="lightning_run.py", world=2, launcher="itself", devices=2)
    yield end("lightning-ddp-exception", "exception", 1, script="lightning_run.py", world=2, launcher="itself", devices=2)
    yield kind("lightning-bf16", script="lightning_run.py", precision="bf16-mixed")
    yield kind("transformers-ddp", script="transformers_run.py", world=2, launcher="torchrun")
    yield end("transformers-ddp-exception", "exception", 1, script="transformers_run.py", world=2, launcher="torchrun")
    yield kind("transformers-bf16", script="transformers_run.py", bf16=True)


def notebooks():
    def notebook(name, *cells, **more):
        return kind("notebook-" + name, script="notebook_run.py", launcher="itself", cells=["init"] + list(cells), **more)
    yield notebook("return", "train")
    yield notebook("idle", "train", 25, "train")
    yield notebook("exception", "raise", 25)
    yield notebook("interrupt", "interrupt", "train")
    yield notebook("second-init", "train", "again", "train", ends=[COMPLETED, COMPLETED])
    yield notebook("finish", "train", "finish", 15)
    yield notebook("killed", "kill", expects=died(0, *ENDS["SIGKILL"]), ends=[FAILED])
    yield notebook("exit", "exit", expects=died(0, *ENDS["immediate_3"]), ends=[FAILED])


def after():
    for world in (1, 2):
        for what in ("idle", "export", "second_loop"):
            yield kind("after-%s-%d" % (what.replace("_", "-"), world), world=world, after=what)
        yield kind("after-second-model-%d" % world, world=world, after="second_model", steps=150, pace=0.03)
        yield kind("after-second-init-%d" % world, world=world, after="second_init", ends=[COMPLETED, COMPLETED])
    yield kind("after-export-of-one-rank", world=2, after="export_of_one_rank")
    yield kind("after-late-barrier", world=2, after="late_barrier")
    yield kind("after-last-barrier", world=2, after="last_barrier", rank=1, expects=[issue(*HANG, rank=1)], ends=None)


def computes():
    for world in (1, 2):
        for numerics in ("fp32", "amp", "bf16", "gan", "rl", "noisy"):
            yield kind("%s-%d" % (numerics, world), world=world, numerics=numerics, steps=200, pace=0.03)
    for numerics in ("nan", "bf16_nan", "amp_nan"):
        yield kind(numerics.replace("_", "-"), numerics=numerics, steps=90, expects=[issue("NonFinite", "LossNotFinite", rank=0)],
                   beside=["LossNotFinite", "NonFinite"])


def faults():
    for launcher in ("plain", "torchrun"):
        # The other ranks wait for the rank in a collective, so CollectiveHang may blame it.
        for fault, names in (("stopped", ["RankFrozen", "CollectiveHang"]), ("holds_gil", ["RankFrozen", "CollectiveHang"]),
                             ("spins", ["RankSpinning", "CollectiveHang"]), ("sleeps", HANG)):
            yield kind("%s-%s" % (launcher, fault.replace("_", "-")), launcher=launcher, world=2, rank=1, at=40, steps=10000, fault=fault,
                       expects=[issue(*names, rank=1)], beside=HANG + ["HangIdle", "HangBusy", "DeadRank"], ends=None)
    for fault, name in (("stopped", "RankFrozen"), ("holds_gil", "RankFrozen"), ("spins", "RankSpinning")):
        yield kind("single-" + fault.replace("_", "-"), at=40, steps=10000, fault=fault, expects=[issue(name, rank=0)], ends=None)
    yield kind("plain-slow", world=2, rank=1, at=120, steps=240, fault="slow", expects=[issue("StragglerRank", rank=1)],
               beside=["StragglerByWait", "SelfSlowdown", "ThroughputRegress", "StepOutlier", "WorkImbalance", "LowAcceleratorUtilization"])
    for fault in ("sleeps", "stopped", "holds_gil"):
        yield kind("first-step-" + fault.replace("_", "-"), world=2, rank=1, at=0, steps=10000, fault=fault,
                   expects=[issue("FirstCollectiveHang", "FirstStepHang", "RankFrozen", rank=1)], beside=HANG + ["FirstStepHang"], ends=None)


KINDS = {made["name"]: made for group in (ends, frameworks, notebooks, after, computes, faults) for made in group()}


def issues_of(events):
    """Converts [(kind, data, Unix seconds)] to ({ID of the first event: last data}, {ID: seconds}, IDs of issues reported while the machine was busy)."""
    issues, first, ids, busy, loaded = {}, {}, {}, set(), set()
    for what, data, at in events:
        if what not in ("found", "updated", "resolved"):
            continue
        key = data["rule"], data["started_at"], tuple(sorted(data["labels"].items()))
        number = ids.setdefault(key, data["event"])
        issues[number] = data
        first.setdefault(number, at)
        if data["alert"] in MACHINE:
            (busy.discard if what == "resolved" else busy.add)(number)
        elif busy and what == "found" and data["alert"] in LOADED:
            loaded.add(number)
    return issues, first, loaded


def matches(data, expected):
    rank = expected["rank"]
    return (data["alert"] in expected["alerts"] and (rank is None or data["labels"].get("rank") in (None, str(rank), "all"))
            and (expected["cause"] is None or data["labels"].get("cause") == expected["cause"]) and expected["summary"] in data["summary"])


def described(data):
    return data["alert"] + (" rank " + data["labels"]["rank"] if "rank" in data["labels"] else "") + (
        " (%s)" % data["labels"]["cause"] if "cause" in data["labels"] else "") + ": " + data["summary"]


def jobs_of(events):
    """Returns [(end or None, number of attempts)] for the jobs of ranks, in start order."""
    jobs = {}
    for what, data, _ in events:
        number = data["job"]["id"]
        if what != "changed" or number.startswith("node:"):
            continue
        ended, attempts = jobs.get(number, (None, 0))
        jobs[number] = (data["end_detail"] if data["job_change"] == "ended" else ended, attempts + (data["job_change"] == "attempt_began"))
    return list(jobs.values())


def ends_right(made, jobs):
    if made["ends"] is None:
        return len(jobs) == 1 and jobs[0][0] is None
    return (len(jobs) == len(made["ends"]) and all(ended in right for (ended, _), right in zip(jobs, made["ends"]))
            and jobs[0][1] == made["attempts"])


def judge(made, events, covered=None):
    """Returns the verdict for the events, [(last word of the event's type, data, Unix seconds)] in order. covered: the alerts in the packs, which may
    not include every expected alert; None means all."""
    issues, first, loaded = issues_of(events)
    expects = [dict(e, alerts=[a for a in e["alerts"] if covered is None or a in covered]) for e in made["expects"]]
    expects = [e for e in expects if e["alerts"]]
    mine = {i: data for i, data in issues.items() if data["alert"] not in MACHINE and i not in loaded}
    named = {i for i, data in mine.items() if any(matches(data, e) for e in expects)}
    incidents = {mine[i]["incident"] for i in named}
    ranks = {str(e["rank"]) for e in expects}

    def is_beside(data):
        return (data["alert"] in made["beside"] and data["incident"] in incidents
                and (data["alert"] not in ACCUSES or data["labels"].get("rank", "all") in ranks | {"all"}))
    jobs = jobs_of(events)
    verdict = {"named": sorted({mine[i]["alert"] for i in named}),
               "missing": [" or ".join(e["alerts"]) for e in expects if not any(matches(data, e) for data in mine.values())],
               "wrong": sorted({described(data) for i, data in mine.items() if i not in named and not is_beside(data)}),
               "roots": sorted({described(root) for root in (issues.get(mine[i].get("root_cause") or "") for i in named)
                                if root and root["alert"] not in MACHINE and not any(matches(root, e) for e in expects)}),
               "incidents": len(incidents), "jobs": [list(job) for job in jobs], "machine": sorted({d["alert"] for d in issues.values() if d["alert"] in MACHINE})}
    verdict["ok"] = bool(not verdict["missing"] and not verdict["wrong"] and not verdict["roots"] and len(incidents) <= 1 and ends_right(made, jobs))
    return verdict
