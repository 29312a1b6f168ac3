"""Cells of the training matrix: each cell's fault, its expected issues, and the verdict for the actual issues.

A cell is a dictionary. Fields of the training run: world, steps, fault, at (the step where the fault starts), rank (None: all ranks), where, ratio,
pauses (evaluations and checkpoints that are timed as phases), every, pace (duration of a step in units of 100 ms), and interval (of the collector).
Fields of the verdict: seconds (maximum time until the report), names (alerts, each of which is correct), cause (a label of the issue), soft (correct
with or without a report), beside (additional alerts that are allowed), and once (its issues must form one incident).
"""
PLACES = ("gap", "dataloader", "forward", "backward", "optimizer")
WORLDS = (2, 3, 4, 8)
RATIOS = (1.0, 1.05, 1.2, 1.3, 2.0)

# Effects of a slow rank on its job. These alerts must not blame another rank.
SYMPTOMS = ["StragglerByWait", "StepOutlier", "SelfSlowdown", "ThroughputRegress", "Jitter", "LowAcceleratorUtilization", "WorkImbalance"]
HANGS = ["CollectiveHang", "CollectiveMismatch", "HangSuspected", "PhaseHang", "LoaderHang", "HangIdle", "HangBusy", "JobStalled", "DeadRank"]
# Facts about a shared machine. They are reported but count as neither right nor wrong. These alerts never concern a single rank.
MACHINE = {"CPUSaturated", "CPUBottleneck", "CpuPressure", "CpuWait", "IOWaitHigh", "IOBottleneck", "MemoryPressure", "SourceClockWrong", "ClockSkew",
           "CollectorBehind", "TelemetryLost", "CpuSteal", "DiskSlow", "Retransmit", "IoPressure", "CPUThrottled"}
# Effects of a busy machine on a whole job. While one of MACHINE is open, these alerts do not count against the rules and are counted separately. They
# never blame a rank.
LOADED = {"StepOutlier", "SelfSlowdown", "ThroughputRegress", "Jitter", "PeriodicStall", "LowAcceleratorUtilization", "WorkImbalance"}
# Alerts whose label `rank` blames that rank. If another rank has the fault, the verdict is wrong, even if everything else is right.
ACCUSES = {"StragglerRank", "StragglerByWait", "RankDied", "DeadRank", "CollectiveHang", "CollectiveMismatch", "HangSuspected", "PhaseHang",
           "LoaderHang", "CheckpointHang", "EvalHang", "HostLeak"}


def cell(name, world, fault, names, **more):
    made = dict(name=name, world=world, fault=fault, names=names, at=130, steps=215, rank=None, cause=None, soft=False, beside=[],
                once=True, seconds=60)
    made.update(more)
    return made


def training_of(made):
    """Returns the fields of a cell that define the training run; the other fields define the verdict."""
    return {key: made.get(key) for key in ("name", "world", "fault", "at", "steps", "rank", "where", "ratio", "pauses", "every", "pace", "interval")
            if key in made or key not in ("pace", "interval")}


def slow():
    for world in WORLDS:
        for turn, where in enumerate(PLACES):
            for ratio in RATIOS:
                quiet = ratio <= 1.05
                yield cell("slow-%s-%d-%.2f" % (where, world, ratio), world, "slow", [] if quiet else ["StragglerRank"], where=where,
                           rank=(turn + world) % world, ratio=ratio, soft=ratio == 1.2,
                           beside=SYMPTOMS[1:] if quiet else SYMPTOMS + (["DataStallShare", "Dataloader"] if where == "dataloader" else []))


def deaths():
    for world in (2, 3, 4, 8):
        rank = world - 1
        for signal, number in (("SIGKILL", 9), ("SIGTERM", 15), ("SIGSEGV", 11), ("SIGABRT", 6)):
            if world in (2, 4) or number == 9:
                yield cell("killed-%d-%d" % (number, world), world, "signal", ["RankDied"], where=signal, rank=rank,
                           cause="signal %d" % number, seconds=3, at=60, steps=10000)
    for world in (2, 4):
        yield cell("cancelled-%d" % world, world, "signal", ["JobCancelled"], where="SIGTERM", seconds=5, at=60, steps=10000)
        yield cell("exception-%d" % world, world, "exception", ["RankDied"], rank=0, cause="exception", seconds=3, at=60, steps=10000)
        yield cell("exit-3-%d" % world, world, "exit", ["RankDied"], rank=1, ratio=3, cause="exit code 3", seconds=3, at=60, steps=10000)
        yield cell("exit-0-%d" % world, world, "exit", ["RankDied"], rank=1, ratio=0, seconds=3, at=60, steps=10000)
        yield cell("memory-%d" % world, world, "memory", ["RankDied"], rank=1, cause="out of memory", seconds=10, at=60, steps=10000,
                   beside=["StepOutlier"])


def hangs():
    for world in (2, 4):
        rank = world - 1
        stuck = dict(rank=rank, at=130, steps=10000, seconds=45, beside=HANGS)
        yield cell("stopped-%d" % world, world, "stop", HANGS, **stuck)
        yield cell("skipped-%d" % world, world, "skip", HANGS, **stuck)
        for where in ("dataloader", "forward", "optimizer"):
            yield cell("asleep-%s-%d" % (where, world), world, "sleep", HANGS, where=where, **stuck)
        # Both a hang that blames rank 0 and a single report of one long step are correct.
        yield cell("evaluation-%d" % world, world, "evaluation", HANGS, rank=0, ratio=60, seconds=75, steps=180, soft=True,
                   beside=HANGS + SYMPTOMS, once=False)


def learning():
    numerics = ["LossSpike", "GradNormSpike", "LossNotFinite", "ExplodingTensor", "LossDivergence", "LossIncreasing", "LossNotDecreasing",
                "WeightUpdateRatio", "TensorVariance", "LossRaised", "UnchangedTensor", "AllZero", "StalledTrainingRule"]
    for world in (2, 4):
        yield cell("nan-%d" % world, world, "nan", ["NonFinite", "LossNotFinite"], rank=0, seconds=3, steps=200, beside=numerics)
        yield cell("rate-ramp-%d" % world, world, "rate_ramp", ["LearningRateAnomaly"], at=300, steps=420, beside=numerics + ["NonFinite"])
        yield cell("never-recovers-%d" % world, world, "raised", ["LossRaised", "LossSpike"], at=200, steps=320,
                   beside=numerics + ["LearningRateAnomaly"])
        yield cell("data-stall-%d" % world, world, "data_stall", ["DataStallShare"], beside=SYMPTOMS + ["Dataloader"])
    yield cell("leak-2", 2, "leak", ["HostLeak"], rank=1, ratio=20, at=4, steps=275, seconds=500, pace=20, interval="1s",  # few, rare samples
               beside=SYMPTOMS + ["HostMemoryHigh"])


def healthy():
    for world in WORLDS:
        yield cell("healthy-%d" % world, world, "none", [], at=0, steps=400)
    for world, steps in ((2, 250), (3, 190), (4, 140), (8, 70)):  # few enough steps for a recording
        yield cell("healthy-brief-%d" % world, world, "none", [], at=0, steps=steps, pauses=world == 2)
    for world in (2, 4):
        yield cell("healthy-pauses-%d" % world, world, "none", [], at=0, steps=450, pauses=True)
        yield cell("healthy-long-%d" % world, world, "none", [], at=0, steps=1200, pauses=True)


CELLS = {made["name"]: made for group in (healthy, slow, deaths, hangs, learning) for made in group()}


def of_machine(issue):
    return issue["alert"] in MACHINE


def root_of(issue, issues):
    """Returns the root cause of the issue's incident, or the issue itself if it has no root cause."""
    return issues.get(issue.get("root_cause") or "", issue)


def judge(of, told, began, covered=None):
    """Returns the verdict for the events of a cell. told: [(kind, data, Unix seconds)] in order. began: start time of the fault. covered: the alerts
    in the packs, which may not include every expected alert; None means all."""
    issues = {}  # ID of the issue's first event -> data of its last event
    first = {}
    ids = {}
    busy = set()    # IDs of open issues of MACHINE
    loaded = set()  # IDs of LOADED issues reported while `busy` is not empty
    expected = [name for name in of["names"] if covered is None or name in covered]
    for kind, data, at in told:
        if kind in ("found", "updated", "resolved"):
            key = data["rule"], data["started_at"], tuple(sorted(data["labels"].items()))
            number = ids.setdefault(key, data["event"])
            issues[number] = data
            first.setdefault(number, at)
            if of_machine(data):
                (busy.discard if kind == "resolved" else busy.add)(number)
            elif busy and kind == "found" and data["alert"] in LOADED and data["alert"] not in expected:
                loaded.add(number)
    mine = {i: data for i, data in issues.items() if not of_machine(data)}

    def rank_is_right(data):
        return of["rank"] is None or data["labels"].get("rank") in (None, str(of["rank"]))

    named = [i for i in sorted(mine, key=first.get)
             if mine[i]["alert"] in expected and rank_is_right(mine[i]) and (not of["cause"] or mine[i]["labels"].get("cause") == of["cause"])]
    wrong = sorted({"%s%s" % (data["alert"], " rank " + data["labels"]["rank"] if data["alert"] in ACCUSES and "rank" in data["labels"] else "")
                    for i, data in mine.items() if i not in loaded
                    if (data["alert"] not in expected and data["alert"] not in of["beside"]) or
                    (data["alert"] in ACCUSES and (not rank_is_right(data) or of["rank"] is None)) or
                    (data["alert"] in expected and of["cause"] and i not in named)})
    own = {mine[i]["incident"] for i in named}
    apart = {i for i in loaded if mine[i]["incident"] not in own}
    verdict = {"named": sorted({mine[i]["alert"] for i in named}), "wrong": wrong,
               "beside": sorted({data["alert"] for i, data in mine.items() if i not in apart} - {mine[i]["alert"] for i in named}),
               "loaded": sorted({mine[i]["alert"] for i in apart}),
               "incidents": len({data["incident"] for i, data in mine.items() if i not in apart}),
               "notices": sum(kind == "notice" for kind, _, _ in told), "machine": sorted({d["alert"] for d in issues.values() if of_machine(d)})}
    if named:
        verdict["seconds"] = round(first[named[0]] - began, 2) if began else None
        verdict["summary"] = mine[named[0]]["summary"]
        verdict["rank"] = mine[named[0]]["labels"].get("rank")
        verdict["root"] = all(root_of(mine[i], issues)["alert"] in expected or of_machine(root_of(mine[i], issues)) for i in named)
        verdict["place"] = place(mine[named[0]].get("description", ""))
    verdict["ok"] = passes(of, expected, verdict)
    return verdict


def place(description):
    """Returns the part of the step where a straggler loses time, according to the issue's description."""
    if "outside of the phases" in description:
        return "gap"
    for where in PLACES[1:]:
        if "loses is in %s." % where in description:
            return where
    return None


def passes(of, expected, verdict):
    if verdict["wrong"]:
        return False
    if not expected or not verdict["named"]:
        return not expected or of["soft"]
    in_time = verdict["seconds"] is None or verdict["seconds"] <= of["seconds"]
    return bool(in_time and verdict["root"] and (not of["once"] or verdict["incidents"] == 1))
