"""Issues that the packs report for simulated jobs: runs `pitwall backtest`, counts false alarms by rule, and measures the detected faults and their
delays."""
import concurrent.futures
import json
import os
import subprocess
import tempfile

import noise
import simulate

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKS = os.path.join(REPO, "rules", "packs")
# Excluded from all packs: the SageMaker Debugger criteria, and packs that need other runs.
LEFT_OUT = ("across-runs", "summary")
AT_A_TIME = 24  # jobs per backtest


def packs_of(folder, which, trial=False):
    if trial:
        return [path for path in packs_of(folder, which) if "\ninclude:" not in open(path, encoding="utf-8").read()]
    names = ["default"] if which == "default" else sorted(name[:-5] for name in os.listdir(folder) if name.endswith(".yaml") and "_test" not in name)
    return [os.path.join(folder, name + ".yaml") for name in names if name not in LEFT_OUT and not name.startswith("debugger-compat")]


def backtest(pitwall, rules, jobs):
    """Returns {job: [{alert, labels, step, ts, began, ended}]}."""
    with tempfile.TemporaryDirectory() as folder:
        mapping, table = os.path.join(folder, "mapping.yaml"), os.path.join(folder, "jobs.csv")
        simulate.write(table, mapping, jobs)
        done = subprocess.run([pitwall, "backtest", "--format", "csv", "--mapping", mapping, "--no-status", "--input", table, "--rules", *rules],
                              capture_output=True, text=True)
    if done.returncode:
        raise SystemExit("backtest failed: " + done.stderr)
    reports = {job["name"]: [] for job in jobs}
    for line in done.stdout.splitlines():
        event = json.loads(line)
        data = event["data"]
        if event["type"].endswith("issue.found"):
            # Two packs have a StepOutlier. The one in debugger-profiler counts long steps among the last 500.
            alert = "profiler's " + data["alert"] if data["rule"].startswith("debugger-profiler") else data["alert"]
            reports[data["job"]["name"]].append({"alert": alert, "labels": data["labels"], "step": data.get("step")})
    return reports


def judge(pitwall, which, jobs, folder=PACKS, workers=2, trial=False):
    """Returns the same as backtest(), for any number of jobs."""
    rules, reports = packs_of(folder, which, trial), {}
    parts = [jobs[i:i + AT_A_TIME] for i in range(0, len(jobs), AT_A_TIME)]
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for part in pool.map(lambda some: backtest(pitwall, rules, some), parts):
            reports.update(part)
    return reports


class Tally:
    """Counts for one family, or for all families."""

    def __init__(self):
        self.steps, self.samples, self.seconds, self.jobs = 0, 0, 0.0, 0
        self.untrue = {}    # alert -> number in healthy time
        self.noisy = {}     # alert -> number of issues that the noise justifies
        self.beside = {}    # alert -> number after the onset of a fault that does not explain it
        self.where = {}     # alert -> jobs
        self.faults = {}    # (fault, every) -> {"jobs", "found", "wrong rank", "steps": [delay], "by": {alert: number}}

    def add(self, job, reports):
        healthy = job["healthy_rows"] if job["fault"] else job["samples"]
        share = healthy / job["samples"]
        self.jobs += 1
        self.samples += healthy
        self.steps += healthy * job["every"]
        self.seconds += job["seconds"] * share
        first, by = None, set()
        for issue in reports:
            alert, step = issue["alert"], issue["step"]
            after = job["fault"] and (step is None or step >= job["onset"])
            if after and alert in job["names"]:
                if job["rank"] is not None and issue["labels"].get("rank") != str(job["rank"]):
                    self.count(self.beside, alert + " of another rank", job)
                elif step is None or step <= job["until"]:
                    by.add(alert)
                    if step is not None and (first is None or step < first):
                        first = step
            elif after and alert in job["beside"]:
                pass
            elif alert in job["true"]:
                self.count(self.noisy, alert, job)
            else:
                self.count(self.beside if after else self.untrue, alert, job)
        if job["fault"]:
            entry = self.faults.setdefault((job["fault"], job["every"]), {"jobs": 0, "found": 0, "delays": [], "by": {}})
            entry["jobs"] += 1
            entry["found"] += bool(by)
            for alert in by:
                entry["by"][alert] = entry["by"].get(alert, 0) + 1
            if first is not None:
                entry["delays"].append((first - job["onset"]) // job["every"])

    def plain(self):
        """Returns the counts as a JSON object."""
        return {"jobs": self.jobs, "steps": self.steps, "samples": self.samples, "seconds": round(self.seconds), "untrue": self.untrue, "noisy": self.noisy,
                "beside": self.beside, "faults": [{"fault": fault, "every": every, **entry} for (fault, every), entry in sorted(self.faults.items())]}

    def count(self, table, alert, job):
        table[alert] = table.get(alert, 0) + 1
        self.where.setdefault(alert, []).append(job["name"])

    def per_1000(self, alerts):
        """Returns (rate, 95% bound) per 1000 logged steps."""
        return 1000 * alerts / self.samples, 1000 * noise.upper_bound(alerts) / self.samples

    def per_hour(self, alerts):
        return 3600 * alerts / self.seconds, 3600 * noise.upper_bound(alerts) / self.seconds


def tallies(jobs, reports):
    """Returns {family: Tally}, with "all" for all families together."""
    found = {"all": Tally()}
    for job in jobs:
        for family in (job["family"], "all"):
            found.setdefault(family, Tally()).add(job, reports[job["name"]])
    return found
