#!/usr/bin/env python3
"""Tests `pitwall backtest` with the formats smdebug, chrome-trace, tensorflow, and csv, on files and directories as written by the respective tools.

backtest_traces_test.py BINARY
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import REPO, write  # noqa: E402

BINARY = None
BASE = 1600000000
TESTDATA = os.path.join("services", "codec", "imports", "testdata")

# Group whose rules are evaluated at every training step.
STEPS = """
- name: steps
  clock: step
  mode: train
  interval: 1
  rules:
"""
SYSTEM_RULES = """
groups:
- name: system
  interval: 1s
  rules:
  - {alert: Idle, expr: hw_gpu_utilization_ratio < 0.1, for: 5s}
  - {alert: Waits, expr: 'system_cpu_utilization_ratio{mode="iowait"} > 0.5'}
  - {alert: Full, expr: hw_gpu_memory_usage_bytes / hw_gpu_memory_limit_bytes > 0.9}
  - {alert: Receives, expr: 'rate(system_network_io_bytes_total{direction="receive"}[5s]) > 900'}
  - {alert: Never, expr: system_memory_utilization_ratio > 0.5}
""" + STEPS + """
  - {alert: SlowStep, expr: train_step_duration_seconds > 0.15}
  - {alert: SlowLoader, expr: 'train_phase_duration_seconds{phase="dataloader"} > 0.1'}
  - {alert: Missing, expr: absent(train_step)}
"""

TRACE_RULES = "groups:\n" + STEPS + """
  - {alert: Exposed, expr: train_exposed_communication_seconds / on (rank) train_step_duration_seconds > 0.2}
  - {alert: SlowStep, expr: train_step_duration_seconds > 0.15}
  - {alert: BigOperator, expr: 'train_operator_seconds{device="gpu"} > 0.05'}
"""


def backtest(format_, *arguments):
    return subprocess.run([BINARY, "backtest", "--format", format_, *arguments], capture_output=True, text=True, timeout=60)


def found(format_, *arguments):
    """Returns the sorted issues as (alert, labels without alertname, step or None, job ID)."""
    done = backtest(format_, "--no-status", *arguments)
    assert done.returncode == 0, done.stderr
    issues = []
    for event in map(json.loads, done.stdout.splitlines()):
        if event["type"] == "io.pitwall.issue.found":
            labels = {k: v for k, v in event["data"]["labels"].items() if k != "alertname"}
            issues.append((event["data"]["alert"], labels, event["data"].get("step"), event["data"]["job"]["id"]))
    return sorted(issues, key=str)


class Traces(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="pitwall-traces-")
        self.addCleanup(shutil.rmtree, self.dir)

    def file(self, name, text):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return write(path, text)

    def debugger_folder(self):
        """Writes two minutes of data from algo-1 and algo-2. In the second minute, GPU 1 of algo-2 is idle. A slow loader delays step 7 of algo-2."""
        rows = {}
        for tick in range(240):
            time = BASE + tick / 2
            for node in ("algo-1", "algo-2"):
                idle = node == "algo-2" and tick >= 120
                values = [("cpu", "cpu0", "CPUUtilization", 20), ("cpu", "cpu0", "I/OWaitPercentage", 70 if idle else 2),
                          ("gpu", "gpu0", "GPUUtilization", 95), ("gpu", "gpu1", "GPUUtilization", 1 if idle else 95),
                          ("gpu", "gpu0", "GPUMemoryUtilization", 95 if node == "algo-1" else 50),
                          ("memory", "MemoryUsedPercent", "", 30),
                          ("network", "ReceiveBytesPerSecond", "Algorithm", 1000 if node == "algo-1" else 100)]
                rows.setdefault((node, tick // 120), []).extend(
                    json.dumps({"Type": kind, "Name": name, "Dimension": dimension, "Value": value, "NodeId": node, "Timestamp": time})
                    for kind, name, dimension, value in values)
        for (node, minute), lines in rows.items():
            end = BASE + 60 * (minute + 1)
            # The process that wrote this file died in the middle of a line.
            self.file("job-1/system/incremental/2020091312/%d.%s.json" % (end, node), "\n".join(lines) + "\n" + lines[-1][:40])
        for rank, node in enumerate(("algo-1", "algo-2")):
            events = [{"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros": BASE * 1000000}}]
            events += [{"name": "process_name", "ph": "M", "pid": pid, "args": {"name": phase}}
                       for pid, phase in enumerate(("Step:ModeKeys.TRAIN", "Forward", "DataLoaderIter"), 1)]
            at = 1000000
            for step in range(20):
                load = 150000 if (rank, step) == (1, 7) else 5000
                events += [{"name": "loader::GetNext", "pid": 3, "ph": "X", "ts": at, "dur": load, "args": {}},
                           {"name": "Forward", "pid": 2, "ph": "X", "ts": at + load, "dur": 40000, "args": {}},
                           {"name": "Step:ModeKeys.TRAIN", "pid": 1, "ph": "X", "ts": at, "dur": load + 80000,
                            "args": {"pid": 905, "step_num": str(step)}}]
                at += load + 80000
            # The closing bracket is missing, as in a timeline that is still being written.
            self.file("job-1/framework/pevents/2020091312/%d_905-%s_pythontimeline.json" % (BASE * 1000000 + at, node),
                      "[\n" + ",\n".join(json.dumps(event) for event in events) + ",\n")
        self.file("job-1/rule-output/profiler-report.json", "{}")
        return os.path.join(self.dir, "job-1")

    def test_smdebug_directory_raises_expected_issues(self):
        folder = self.debugger_folder()
        rules = self.file("rules.yaml", SYSTEM_RULES)
        issues = found("smdebug", "--rules", rules, "--input", folder + "/")
        self.assertEqual({job for *_, job in issues}, {"job-1"})
        self.assertEqual([(alert, labels) for alert, labels, _, _ in issues],
                         [("Full", {"gpu": "0", "node": "algo-1"}),
                          ("Idle", {"gpu": "1", "node": "algo-2"}),
                          ("Receives", {"device": "algorithm", "direction": "receive", "node": "algo-1"}),
                          ("SlowLoader", {"phase": "dataloader", "rank": "1"}),
                          ("SlowStep", {"rank": "1"}),
                          ("Waits", {"cpu": "0", "mode": "iowait", "node": "algo-2"})])
        # A single file from the directory works too.
        one = os.path.join(folder, "system/incremental/2020091312/%d.algo-2.json" % (BASE + 120))
        self.assertEqual([alert for alert, *_ in found("smdebug", "--rules", rules, "--input", one)], ["Idle", "Waits"])

    def chrome_trace(self, rank):
        """Returns a trace with ten steps of 100 ms. In step 4, rank 1 waits 90 ms for NCCL."""
        events, at = [], 0
        for step in range(10):
            wait = 90000 if (rank, step) == (1, 4) else 5000
            events += [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": 1, "tid": 1, "ts": at, "dur": 95000 + wait},
                       {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 100, "dur": 40000},
                       {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 9, "ts": at + 30000,
                        "dur": 10100 + wait}]
            at += 95000 + wait
        return json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
                           "baseTimeNanoseconds": BASE * 10**9, "traceEvents": events})

    def test_chrome_trace_raises_expected_issues(self):
        rules = self.file("rules.yaml", TRACE_RULES)
        plain = self.file("run/rank0.pt.trace.json", self.chrome_trace(0))
        packed = os.path.join(os.path.dirname(plain), "rank1.pt.trace.json.gz")
        with gzip.open(packed, "wt") as file:
            file.write(self.chrome_trace(1))
        issues = found("chrome-trace", "--rules", rules, "--input", os.path.dirname(plain))
        nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
        self.assertEqual([(alert, labels, job) for alert, labels, _, job in issues],
                         [("BigOperator", {"device": "gpu", "mode": "train", "operator": nccl, "rank": "1"}, "run"),
                          ("Exposed", {"rank": "1"}, "run"), ("SlowStep", {"rank": "1"}, "run")])
        self.assertEqual(found("chrome-trace", "--rules", rules, "--input", plain), [])
        # These files are the original output of torch.
        loose = self.file("loose.yaml", TRACE_RULES.replace("0.15", "0.0005"))
        for name in ("torch_1_13_cpu.json", "torch_2_cpu.json"):
            issues = found("chrome-trace", "--rules", loose, "--job", "j", "--input", os.path.join(TESTDATA, name))
            self.assertEqual([(alert, job) for alert, _, _, job in issues], [("SlowStep", "j")], name)

    def test_traces_without_steps_are_rejected_with_reason(self):
        rules = self.file("rules.yaml", TRACE_RULES)
        kernels = [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at, "dur": 100}
                   for name, at in (("gemm", 0), ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 50), ("gemm", 350))]
        bare = self.file("bare.json", json.dumps({"traceEvents": kernels}))
        done = backtest("chrome-trace", "--rules", rules, "--input", bare)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn("bare.json: no samples: a trace has samples only if steps (prof.step() after each one)", done.stderr)
        self.assertIn("found no ProfilerStep#N, so there are no steps", done.stderr)
        self.assertIn("of 0.00045 s the device computed 44.4 %, communicated 22.2 % (11.1 % with nothing computed meanwhile), "
                      "copied 0 % and was idle 44.4 %", done.stderr)
        # PyTorch exports such a trace after the loop, when the profiler's schedule has already discarded the data.
        nothing = self.file("nothing.json", json.dumps({"traceEvents": [
            {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 1.5, "dur": 2}]}))
        done = backtest("chrome-trace", "--rules", rules, "--input", nothing)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("the profiler recorded nothing; with schedule=, export the trace in on_trace_ready=", done.stderr)
        # If another file is valid, a file without steps causes only a warning.
        done = backtest("chrome-trace", "--rules", rules, "--input", bare, self.file("good.json", self.chrome_trace(0)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("bare.json: no samples", done.stderr)

    def test_tensorflow_profile_raises_expected_issues(self):
        rules = self.file("rules.yaml", "groups:\n" + STEPS + """
  - {alert: SlowStep, expr: train_step_duration_seconds > 0.04}
  - {alert: SlowLoader, expr: 'train_phase_duration_seconds{phase="dataloader"} > 0.01'}
""")
        run = os.path.join(self.dir, "logs", "plugins", "profile", "2026_11_23_05_17_44")
        os.makedirs(run)
        shutil.copy(os.path.join(TESTDATA, "tensorflow_cpu.xplane.pb"), os.path.join(run, "vm.xplane.pb"))
        issues = found("tensorflow", "--rules", rules, "--input", os.path.join(self.dir, "logs"))
        self.assertEqual([(alert, labels["rank"], step, job) for alert, labels, step, job in issues],
                         [("SlowLoader", "0", 0, "logs"), ("SlowStep", "0", 3, "logs")])
        # A JAX profile that exists in both formats counts once. The text format alone is sufficient.
        both = os.path.join(self.dir, "jax", "plugins", "profile", "2026_11_23_05_18_14")
        os.makedirs(both)
        with open(os.path.join(TESTDATA, "jax_cpu.trace.json"), "rb") as text, gzip.open(os.path.join(both, "vm.trace.json.gz"), "wb") as packed:
            packed.write(text.read())
        rules = self.file("jax.yaml", "groups:\n- {name: s, clock: step, mode: train, interval: 1, rules: "
                          "[{alert: Slow, expr: train_step_duration_seconds > 0.004}]}\n")
        for _ in range(2):
            issues = found("tensorflow", "--rules", rules, "--input", os.path.join(self.dir, "jax"))
            self.assertEqual([(alert, labels["rank"], step) for alert, labels, step, _ in issues], [("Slow", "0", 1)])
            shutil.copy(os.path.join(TESTDATA, "jax_cpu.xplane.pb"), os.path.join(both, "vm.xplane.pb"))

    def test_csv_tables_are_read_with_mapping(self):
        rules = self.file("rules.yaml", "groups:\n- {name: g, interval: 1s, rules: [{alert: High, expr: train_loss > 2}]}\n")
        mapping = self.file("m.yaml", "time: {column: ts}\nmetrics:\n- {column: loss, name: train_loss}\n- {column: acc, name: train_accuracy}\n")
        twice = self.file("log.csv", "ts,loss,acc\n1700000000,1,\n1700000001,1,\n1700000001,3,\n")

        def run(*more, path=twice):
            return backtest("csv", "--mapping", mapping, "--rules", rules, "--no-status", "--input", path, *more)

        done = run()
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn("log.csv:4:1: train_loss has a different value at this time on line 3; use --duplicates first or --duplicates last to keep one", done.stderr)
        self.assertIn('skipped columns that are empty in all 3 rows: "acc"', done.stderr)
        for which, issues in (("first", 0), ("last", 1)):
            done = run("--duplicates", which)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(done.stdout.splitlines()), issues, which)
            self.assertIn("1 samples conflicted with another sample at the same timestamp", done.stderr)
        self.assertIn("--duplicates: must be refuse, first, or last", run("--duplicates", "both").stderr)
        # A number that looks like a year must not be accepted as Unix seconds.
        done = run("--start", "2023")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--start 2023: ambiguous: year or seconds since 1970? Use 2023-01-01T00:00:00Z or 2023.0", done.stderr)
        self.assertIn("--start 20231114: ambiguous: day or seconds since 1970? Use 2023-11-14T00:00:00Z or 20231114.0", run("--start", "20231114").stderr)
        done = run("--start", "2023.0", "--duplicates", "last")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run("--end", "2022-01-01T00:00:00Z")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--start, --end: exclude all 3 samples (from 2023-11-14T22:13:20.000Z to 2023-11-14T22:13:21.000Z",
                      done.stderr)
        done = run(path=self.file("header.csv", "ts,loss,acc\n"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("header.csv: no samples: no row has a value", done.stderr)
        self.assertNotIn("empty in all 0 rows", done.stderr)
        done = run(path=self.file("empty.csv", ""))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("empty.csv: the file is empty", done.stderr)
        # A gzipped log is read directly.
        with open(twice, "rb") as log, gzip.open(twice + ".gz", "wb") as packed:
            packed.write(log.read())
        done = run("--duplicates", "last", path=twice + ".gz")
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 1), done.stderr)
        # The process that wrote this log was killed. The value in the incomplete row is not used.
        with gzip.open(twice + ".gz", "wb") as packed:
            packed.write(b"ts,loss,acc\n1700000000,1,\n1700000001,3")
        os.truncate(twice + ".gz", os.path.getsize(twice + ".gz") - 8)
        done = run(path=twice + ".gz")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertIn("log.csv.gz:3:1: the input is truncated in this row", done.stderr)

    def test_invalid_records_are_skipped_and_reported(self):
        rules = self.file("high.yaml", "groups: [{name: g, interval: 1s, rules: [{alert: High, expr: 'x > 5'}]}]")
        mapping = self.file("x.yaml", "time: {column: t, unit: datetime}\nmetrics: [{column: x}]\n")
        table = self.file("x.csv", "t, x\n2026/01/01 00:00:00.5, 9\n2026/01/01 00:00:01, 9 ,\n2026/01/0")
        text = self.file("x.prom", "# TYPE x gauge\nx 9 1700000000\nx oops 1700000001\nx 9 1700000002\n# EOF\n")
        step = '{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","ts":%d,"dur":%d}'
        trace = self.file("x/rank0.json", "[%s,\n%s,\n%s" % (step % (1, 10, 10), step % (2, 20, -10), step % (3, 30, 10)))
        self.file("x/empty.json", "")
        for arguments, said in [
                (("csv", "--mapping", mapping, "--rules", rules, "--input", table), "x.csv: skipped 1 invalid row: " + table + ":4:1: 1 cells, but"),
                (("openmetrics", "--rules", rules, "--input", text), "x.prom: skipped 1 invalid line: " + text + ":3:3: the value \"oops\""),
                (("chrome-trace", "--rules", rules, "--input", os.path.dirname(trace)), trace + ":2:1: event has a negative dur"),
                (("chrome-trace", "--rules", rules, "--input", os.path.dirname(trace)), "empty.json:1:1: not a trace: the file is empty")]:
            done = backtest(*arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(said, done.stderr)
            if arguments[0] != "chrome-trace":
                self.assertIn('"alert":"High"', done.stdout)

    def test_unusable_file_among_several_is_skipped(self):
        rules = self.file("rules.yaml", SYSTEM_RULES)
        folder = self.debugger_folder()
        before = found("smdebug", "--rules", rules, "--input", folder)
        metrics = self.file("job-1/system/incremental/2020091312/%d.algo-0.json" % BASE, "<html>\n")
        timeline = self.file("job-1/framework/pevents/2020091312/1_9-algo-0_pythontimeline.json", "")
        done = backtest("smdebug", "--rules", rules, "--input", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        for path in (metrics, timeline):
            self.assertIn("skipped a file: " + path, done.stderr)
        self.assertEqual(found("smdebug", "--rules", rules, "--input", folder), before)
        slow = self.file("slow.yaml", "groups:\n- {name: s, clock: step, mode: train, interval: 1, rules: "
                         "[{alert: Slow, expr: train_step_duration_seconds > 0.04}]}\n")
        run = os.path.join(self.dir, "tf", "plugins", "profile", "2026_11_23_05_17_44")
        os.makedirs(run)
        shutil.copy(os.path.join(TESTDATA, "tensorflow_cpu.xplane.pb"), os.path.join(run, "vm.xplane.pb"))
        profile = write(os.path.join(run, "a.xplane.pb"), "text")
        done = backtest("tensorflow", "--rules", slow, "--input", os.path.join(self.dir, "tf"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("skipped a file: " + profile, done.stderr)
        self.assertEqual([labels["rank"] for _, labels, _, _ in found("tensorflow", "--rules", slow, "--input", os.path.join(self.dir, "tf"))], ["0"])

    def test_errors_include_their_cause(self):
        rules = self.file("rules.yaml", TRACE_RULES)
        self.file("empty/notes.txt", "")
        for format_, path, said in [
                ("smdebug", os.path.join(self.dir, "empty"), "no file named <seconds>.algo-N.json"),
                ("chrome-trace", os.path.join(self.dir, "empty"), "no file named"),
                ("smdebug", os.path.join(self.dir, "none"), "none: No such file"),
                ("smdebug", self.file("d/1.algo-1.json", "{}\n{}\n"), "1.algo-1.json:1:1: Type is missing"),
                ("smdebug", self.file("d/1_2-algo-1_pythontimeline.json", "[{}"), "_pythontimeline.json: no samples: the files have"),
                ("tensorflow", os.path.join(self.dir, "empty"), "no file named HOST.xplane.pb"),
                ("tensorflow", self.file("d/h.xplane.pb", "text"), "h.xplane.pb: invalid or truncated XSpace at byte"),
                ("smdebug", self.file("e/1_2-algo-1_pythontimeline.json", '[\n{"ph":'), "_pythontimeline.json:2:1: the trace is truncated"),
                ("chrome-trace", self.file("t.json", '{"traceEvents": ['), "t.json:1:1: the trace is truncated"),
                ("chrome-trace", self.file("t.json.gz", "\x1f"), "t.json.gz:1:1: not a trace")]:
            done = backtest(format_, "--rules", rules, "--input", path)
            self.assertEqual((done.returncode, done.stdout), (2, ""), (path, done.stderr))
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    os.chdir(REPO)
    unittest.main()
