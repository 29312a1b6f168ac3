#!/usr/bin/env python3
"""Compares the history's numbers against an independent computation from the raw logs of real training runs.

history_numbers_test.py BINARY

The test uses the recording of a PyTorch training run with two ranks, and a training script that it runs itself. raw_log.py decodes the log, and the
test recomputes the API's responses from the definitions in docs/api.md in the simplest possible way.
"""
import bisect
import collections
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402
import raw_log  # noqa: E402

BINARY = None
RECORDING = os.path.join(harness.REPO, "tests", "trainings", "recordings", "healthy-2.tar.xz")
TRAINING = """
import random, sys, time
sys.path.insert(0, sys.argv[1])
import pitwall
dice = random.Random(int(sys.argv[2]))
pitwall.init(job="numbers")
for step in pitwall.steps(range(150)):
    for phase in ("forward", "backward", "optimizer"):
        with pitwall.phase(phase):
            time.sleep(dice.uniform(0, 0.01))
    pitwall.log(loss=dice.random(), step=step)
pitwall.finish()
"""
TIERS = {"10s": 10 * 10**9, "2m": 120 * 10**9, "30m": 1800 * 10**9}


class Api:
    def __init__(self, service, job):
        self.base = service.http + "/api/pitwall/v1"
        self.job = job

    def __call__(self, path, **parameters):
        query = [("job", self.job)]
        for key, value in parameters.items():
            query += [(key.rstrip("_"), one) for one in (value if isinstance(value, list) else [value])]
        return json.loads(harness.fetch(self.base + path + "?" + urllib.parse.urlencode(query))[1])


def name_of(labels):
    return dict(labels)["__name__"]


def selector(labels):
    """Returns a selector for exactly this series. The selector does not need matchers for absent labels, because no other series here would match."""
    rest = ",".join('%s="%s"' % pair for pair in labels if pair[0] != "__name__")
    return name_of(labels) + "{" + rest + "}"


def key(labels):
    return tuple(sorted(labels.items()))


def rows_of(samples, length):
    """Returns {start: (min, max, last, sum, count)} for buckets of the given length, aligned to the Unix epoch."""
    out = {}
    for s in samples:
        begin = s.time // length * length
        low, high, _, total, count = out.get(begin, (math.inf, -math.inf, 0, 0, 0))
        out[begin] = (min(low, s.value), max(high, s.value), s.value, total + s.value, count + 1)
    return out


def quantile(values, q):
    return sorted(values)[int(q * (len(values) - 1))]


class Steps:
    """Durations, phases, and waits of training steps by (step, rank). If a step is repeated, the later run counts."""

    def __init__(self, job):
        self.duration, self.end, self.phases, self.wait = {}, {}, collections.defaultdict(dict), {}
        clocks = collections.defaultdict(lambda: collections.defaultdict(float))
        for labels, samples in sorted(job.series.items()):
            given = dict(labels)
            for s in samples:
                if s.step is None or s.mode != "train" or "rank" not in given:
                    continue
                at = (s.step, int(given["rank"]), s.time)
                if given["__name__"] == "train_step_duration_seconds":
                    if s.time >= self.end.get(at[:2], 0):
                        self.duration[at[:2]], self.end[at[:2]] = s.value, s.time
                elif given["__name__"] == "train_phase_duration_seconds":
                    self.phases[at][given["phase"]] = self.phases[at].get(given["phase"], 0) + s.value
                elif given["__name__"] == "train_collective_time_seconds":
                    clocks[at][given.get("clock", "")] += s.value
        for at, end in self.end.items():
            collective = clocks.get(at + (end,))
            self.wait[at] = max(collective.values()) if collective else self.phases[at + (end,)].get("collective")


class Numbers:
    """Test cases for both data sources. The subclasses below provide `service`, `api`, and `raw` (a raw_log.Job)."""

    def test_samples_are_bit_identical_to_log(self):
        listed = {key(s["labels"]): s for s in self.api("/series", limit=20000)["series"]}
        made = {labels for labels in listed if name_of(labels).startswith("node_") and name_of(labels).endswith(("_ratio", "_bytes"))}
        self.assertEqual(set(listed) - made, set(self.raw.series))
        self.assertEqual(self.api("/job")["samples"], sum(map(len, self.raw.series.values())))
        for labels, samples in self.raw.series.items():
            series = listed[labels]
            self.assertEqual((series["kind"], int(series["first_ns"]), int(series["last_ns"])),
                             (self.raw.kinds[labels], samples[0].time, samples[-1].time), labels)
            self.assertEqual(series["has_steps"], any(s.step is not None for s in samples), labels)
        compared = 0
        for name in sorted({name_of(labels) for labels in self.raw.series}):
            for series in self.api("/samples", match=name)["series"]:
                samples = self.raw.series[key(series["labels"])]
                self.assertEqual([int(t) for t in series["times_ns"]], [s.time for s in samples])
                self.assertEqual(series["values"], [None if not math.isfinite(s.value) else s.value for s in samples])
                if series["steps"] is not None:
                    self.assertEqual(series["steps"], [s.step for s in samples])
                compared += len(samples)
        self.assertEqual(compared, sum(map(len, self.raw.series.values())))

    def test_rollups_match_up_to_bucket_edges(self):
        chosen = [labels for labels in self.raw.series if name_of(labels) in self.ROLLED]
        self.assertGreater(len(chosen), 0)
        times = [s.time for labels in chosen for s in self.raw.series[labels]]
        rows = 0
        for length in (60, 3600, 24 * 3600):  # ranges in seconds around the job's middle, chosen so that each tier is used
            middle = (min(times) + max(times)) // 2
            begin, end = middle - length * 5 * 10**8, middle + length * 5 * 10**8
            for labels in chosen:
                chart = self.api("/chart", match=selector(labels), from_=begin, to=end, width=4 if length == 60 else 20)
                self.assertIn(chart["tier"], TIERS)
                bucket = int(chart["bucket_ns"])
                self.assertEqual(bucket % TIERS[chart["tier"]], 0)
                grown = [s for s in self.raw.series[labels] if int(chart["from_ns"]) <= s.time < int(chart["to_ns"])]
                right = rows_of(grown, bucket)
                series = chart["series"][0]
                got = {int(t): (low, high, last) for t, low, high, last in
                       zip(series["times_ns"], series["min"], series["max"], series["last"]) if low is not None}
                self.assertEqual(got, {t: row[:3] for t, row in right.items()}, (labels, chart["tier"]))
                rows += len(got)
                heat = self.api("/heatmap", match=selector(labels), from_=begin, to=end, width=4 if length == 60 else 20)
                for column, mean in enumerate(heat["rows"][0]["cells"]):
                    row = right.get(int(heat["from_ns"]) + column * int(heat["bucket_ns"]))
                    if row is None:
                        self.assertIsNone(mean)
                    else:
                        self.assertLessEqual(abs(mean - row[3] / row[4]), 1e-12 * max(1, abs(mean)))
        self.assertGreater(rows, 20)

    def test_partial_range_returns_only_its_samples(self):
        labels = next(labels for labels in sorted(self.raw.series) if name_of(labels) == self.ROLLED[0])
        samples = self.raw.series[labels]
        times = [s.time for s in samples]
        for first, last in ((1, 5), (0, 1), (len(times) // 3, len(times) // 2)):
            begin, end = times[first], times[last]
            got = self.api("/samples", match=selector(labels), from_=begin, to=end)["series"][0]["times_ns"]
            self.assertEqual([int(t) for t in got], times[bisect.bisect_left(times, begin):bisect.bisect_left(times, end)])

    def test_node_quantiles_and_means_match(self):
        rows = {(n["node"], m["resource"]): m for n in self.api("/resources")["nodes"] for m in n["metrics"]}
        values = collections.defaultdict(list)
        cores = collections.defaultdict(dict)
        for labels, samples in self.raw.series.items():
            given = dict(labels)
            if given["__name__"] == "system_memory_utilization_ratio":
                values[given["node"], "cpu_memory"] += [s.value for s in samples]
            if given["__name__"] == "system_cpu_utilization_ratio" and given["mode"] in ("idle", "iowait"):
                for s in samples:
                    cores[given["node"], s.time].setdefault(given["cpu"], {})[given["mode"]] = s.value
        for (node, _), by_core in sorted(cores.items(), key=lambda item: item[0][1]):
            if all(len(c) == 2 for c in by_core.values()):
                values[node, "cpu"].append(statistics.fmean(1 - c["idle"] - c["iowait"] for c in by_core.values()))
        self.assertGreaterEqual(len(values), 2)
        for place, of in values.items():
            row = rows[place]
            self.assertEqual((row["basis"], row["count"]), ("samples", len(of)), place)
            for name, right in (("min", min(of)), ("max", max(of)), ("mean", statistics.fmean(of))):
                self.assertAlmostEqual(row[name], right, 12, (place, name))
            for name, q in (("p50", .5), ("p90", .9), ("p95", .95), ("p99", .99)):
                self.assertLessEqual(abs(row[name] - quantile(of, q)), 0.0005 + 1e-12, (place, name))

    def test_steps_phases_and_waits_match(self):
        right = Steps(self.raw)
        answer = self.api("/steps", limit=200000)
        self.assertIsNone(answer["next"])
        self.assertEqual(len(answer["rows"]), len(right.duration))
        for row in answer["rows"]:
            at = (row["step"], row["rank"])
            self.assertEqual((row["duration_seconds"], int(row["end_ns"])), (right.duration[at], right.end[at]))
            self.assertEqual({p: s for p, s in zip(answer["phases"], row["phases"]) if s is not None}, right.phases[at + (right.end[at],)])
            if right.wait[at] is None:
                self.assertIsNone(row["wait_seconds"])
            else:
                self.assertAlmostEqual(row["wait_seconds"], right.wait[at], 12)

    def test_phase_shares_of_recent_steps_match(self):
        right = Steps(self.raw)
        last = sorted({step for step, _ in right.duration})[-30:]
        sums, total = collections.Counter(), 0
        for at, seconds in right.duration.items():
            if at[0] < last[0]:
                continue
            phases = right.phases[at + (right.end[at],)]
            sums.update(phases)
            total += seconds
            if seconds - sum(phases.values()) > 1e-9 * seconds:
                sums["other"] += seconds - sum(phases.values())
        answer = self.api("/phases", last=30)
        self.assertEqual((answer["from_step"], answer["to_step"], answer["steps"]), (last[0], last[-1] + 1, len(last)))
        self.assertAlmostEqual(answer["total_seconds"], total, 9)
        self.assertEqual({p["phase"] for p in answer["phases"]}, set(sums))
        for phase in answer["phases"]:
            self.assertAlmostEqual(phase["seconds"], sums[phase["phase"]], 9)
            self.assertAlmostEqual(phase["share"], sums[phase["phase"]] / sum(sums.values()), 9)

    def test_step_heatmap_matches(self):
        right = Steps(self.raw)
        for basis in ("duration", "own"):
            own_known = basis == "own" and all(wait is not None for wait in right.wait.values())
            seconds = {at: max(0, s - right.wait[at]) if own_known else s for at, s in right.duration.items()}
            heat = self.api("/heatmap/steps", width=16, basis=basis)
            self.assertEqual(heat["basis"], "own" if own_known else "duration")
            by_step = collections.defaultdict(list)
            for (step, _), s in seconds.items():
                by_step[step].append(s)
            worst = {}
            for (step, rank), s in seconds.items():
                middle = statistics.median(by_step[step])
                place = rank, (step - heat["from_step"]) // heat["bucket_steps"]
                if middle > 0:
                    worst[place] = max(worst.get(place, 0), s / middle)
            got = {(row["rank"], column): cell for row in heat["rows"] for column, cell in enumerate(row["cells"]) if cell is not None}
            self.assertEqual(set(got), set(worst))
            for place, cell in got.items():
                self.assertAlmostEqual(cell, worst[place], 9)


class Recorded(Numbers, unittest.TestCase):
    ROLLED = ("system_cpu_utilization_ratio", "train_loss", "train_step_duration_seconds", "system_cpu_time_seconds_total")

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="pitwall-numbers-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        data = os.path.join(cls.dir, "data")
        with tarfile.open(RECORDING) as archive:
            archive.extractall(data)
        jobs = raw_log.read(os.path.join(data, "log"))
        job = next(name for name in jobs if not name.startswith("node:"))
        cls.raw = jobs[job]
        # A recording contains only telemetry, so `log repair` rebuilds the other topics of the log.
        subprocess.run([BINARY, "log", "repair", os.path.join(data, "log")], check=True, stdout=subprocess.DEVNULL)
        cls.service = harness.Pitwall(BINARY, os.path.join(cls.dir, "log"), "--data-dir", data, "--accept-log-reset")
        cls.addClassCleanup(cls.service.kill)
        cls.api = Api(cls.service, job)
        wanted = sum(map(len, cls.raw.series.values()))
        harness.wait_for("all samples", lambda: any(
            j["id"] == job and j["samples"] == wanted
            for j in json.loads(harness.fetch(cls.api.base + "/jobs")[1])["jobs"]))


class Live(Numbers, unittest.TestCase):
    ROLLED = ("train_loss", "train_step_duration_seconds", "system_cpu_utilization_ratio")

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="pitwall-numbers-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        data = os.path.join(cls.dir, "data")
        cls.service = harness.Pitwall(BINARY, os.path.join(cls.dir, "log"), "--data-dir", data, "--interval", "100ms")
        cls.addClassCleanup(cls.service.kill)
        ranks = [subprocess.Popen([sys.executable, "-c", TRAINING, harness.CLIENT, str(rank)],
                                  env=dict(os.environ, PITWALL_SOCKET=os.path.join(data, "collector.sock"), RANK=str(rank),
                                           WORLD_SIZE="2", LOCAL_RANK=str(rank), MASTER_PORT="29511"))
                 for rank in range(2)]
        for rank in ranks:
            assert rank.wait(harness.PATIENCE) == 0
        base = cls.service.http + "/api/pitwall/v1/jobs"
        ended = harness.wait_for("the job's end", lambda: [
            j for j in json.loads(harness.fetch(base)[1])["jobs"] if j["state"] == "ended" and j["ranks"] == 2])
        cls.api = Api(cls.service, ended[0]["id"])
        # Waits until the whole log is on disk. The job has no batches after its end.
        def whole():
            cls.raw = raw_log.read(os.path.join(data, "log"))[ended[0]["id"]]
            return cls.api("/job")["samples"] == sum(map(len, cls.raw.series.values()))
        harness.wait_for("the log's last samples", whole)

    def test_spans_match_log(self):
        right = sorted(((s.start, s.rank, ("step", "phase", "operator").index(s.kind), s.name, s.end, s.step, s.mode, s.node, s.source)
                        for s in self.raw.spans), key=lambda s: s[:5])
        self.assertGreaterEqual(len(right), 2 * 150 * 4)
        answer = self.api("/spans", limit=200000)["spans"]
        got = list(zip(map(int, answer["start_ns"]), answer["rank"], map(("step", "phase", "operator").index, answer["kind"]),
                       answer["name"], map(int, answer["end_ns"]), answer["step"], answer["mode"], answer["node"], answer["source"]))
        self.assertEqual(got, right)
        middle = right[len(right) // 2][0]
        cut = self.api("/spans", limit=200000, from_=middle, to=middle + 10**8, rank=1, kind="phase")["spans"]
        self.assertEqual(list(map(int, cut["start_ns"])),
                         [s[0] for s in right if s[1] == 1 and s[2] == 1 and s[4] > middle and s[0] < middle + 10**8])

    def test_phase_totals_match(self):
        right = collections.defaultdict(list)
        for s in self.raw.spans:
            if s.kind == "phase":
                right[s.name].append(s.end - s.start)
        answer = self.api("/operators", kind="phase")
        self.assertEqual({o["name"] for o in answer["operators"]}, set(right))
        whole = sum(map(sum, right.values()))
        for o in answer["operators"]:
            lengths = right[o["name"]]
            self.assertEqual((o["count"], int(o["total_ns"]), int(o["min_ns"]), int(o["max_ns"])),
                             (len(lengths), sum(lengths), min(lengths), max(lengths)))
            self.assertAlmostEqual(o["share"], sum(lengths) / whole, 9)

    def test_loop_extends_from_first_to_last_step(self):
        steps = [s for s in self.raw.spans if s.kind == "step"]
        attempt = self.api("/job")["summary"]["attempts"][0]
        self.assertEqual((int(attempt["loop_begin_ns"]), int(attempt["loop_end_ns"])),
                         (min(s.start for s in steps), max(s.end for s in steps)))
        parts = {p["part"]: p["seconds"] for p in attempt["parts"]}
        self.assertAlmostEqual(parts["training_loop"], (max(s.end for s in steps) - min(s.start for s in steps)) / 1e9, 6)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main(verbosity=2)
