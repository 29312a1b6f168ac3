#!/usr/bin/env python3
"""`pitwall backtest --format smdebug` and `--format chrome-trace` over folders as those tools leave them.

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

from harness import REPO, write

BINARY = None
BASE = 1600000000
TESTDATA = os.path.join("services", "codec", "imports", "testdata")

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
- name: steps
  clock: step
  mode: train
  interval: 1
  rules:
  - {alert: SlowStep, expr: train_step_duration_seconds > 0.15}
  - {alert: SlowLoader, expr: 'train_phase_duration_seconds{phase="dataloader"} > 0.1'}
  - {alert: Missing, expr: absent(train_step)}
"""

TRACE_RULES = """
groups:
- name: steps
  clock: step
  mode: train
  interval: 1
  rules:
  - {alert: Exposed, expr: train_exposed_communication_seconds / on (rank) train_step_duration_seconds > 0.2}
  - {alert: SlowStep, expr: train_step_duration_seconds > 0.15}
  - {alert: BigOperator, expr: 'train_operator_seconds{device="gpu"} > 0.05'}
"""


def backtest(format_, *arguments):
    return subprocess.run([BINARY, "backtest", "--format", format_, *arguments], capture_output=True, text=True, timeout=60)


def found(format_, *arguments):
    """Sorted (alert, labels without alertname, step or None) of the issues found."""
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
        """Two minutes of algo-1 and algo-2; GPU 1 of algo-2 is idle in the second one; step 7 of algo-2 is slow, by its loader."""
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
            # The writer died within a line.
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
            # No closing bracket.
            self.file("job-1/framework/pevents/2020091312/%d_905-%s_pythontimeline.json" % (BASE * 1000000 + at, node),
                      "[\n" + ",\n".join(json.dumps(event) for event in events) + ",\n")
        self.file("job-1/rule-output/profiler-report.json", "{}")
        return os.path.join(self.dir, "job-1")

    def test_debugger(self):
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
        # One file of it, too.
        one = os.path.join(folder, "system/incremental/2020091312/%d.algo-2.json" % (BASE + 120))
        self.assertEqual([alert for alert, *_ in found("smdebug", "--rules", rules, "--input", one)], ["Idle", "Waits"])

    def chrome_trace(self, rank):
        """Ten steps of 100 ms; step 4 of rank 1 waits 90 ms for NCCL alone."""
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

    def test_chrome_trace(self):
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
        # As torch wrote them.
        loose = self.file("loose.yaml", TRACE_RULES.replace("0.15", "0.0005"))
        for name in ("torch_1_13_cpu.json", "torch_2_cpu.json"):
            issues = found("chrome-trace", "--rules", loose, "--job", "j", "--input", os.path.join(TESTDATA, name))
            self.assertEqual([(alert, job) for alert, _, _, job in issues], [("SlowStep", "j")], name)

    def test_errors(self):
        rules = self.file("rules.yaml", TRACE_RULES)
        self.file("empty/notes.txt", "")
        for format_, path, said in [
                ("smdebug", os.path.join(self.dir, "empty"), "no file below is called <seconds>.algo-N.json"),
                ("chrome-trace", os.path.join(self.dir, "empty"), "no file below is called"),
                ("smdebug", os.path.join(self.dir, "none"), "none: No such file"),
                ("smdebug", self.file("d/1.algo-1.json", "{}\n{}\n"), "1.algo-1.json:1:1: Type is missing"),
                ("smdebug", self.file("d/1_2-algo-1_pythontimeline.json", "[{}"), ""),
                ("smdebug", self.file("e/1_2-algo-1_pythontimeline.json", '[\n{"ph":'), "_pythontimeline.json:2:1: the trace is cut short"),
                ("chrome-trace", self.file("t.json", '{"traceEvents": ['), "t.json:1:1: the trace is cut short"),
                ("chrome-trace", self.file("t.json.gz", "\x1f"), "t.json.gz:1:1: no trace")]:
            done = backtest(format_, "--rules", rules, "--input", path)
            self.assertEqual((done.returncode, done.stdout), (2 if said else 0, ""), (path, done.stderr))
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    os.chdir(REPO)
    unittest.main()
