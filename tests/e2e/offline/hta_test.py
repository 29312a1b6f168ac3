#!/usr/bin/env python3
"""Compares Pitwall's import of PyTorch profiler traces with HolisticTraceAnalysis (PyPI), number by number.

hta_test.py BINARY [--install]

HolisticTraceAnalysis is installed in a virtual environment in the cache. The test creates the environment if it is missing. If that takes longer than
a minute, the test prints a NOTE and is skipped (exit code 77); --install removes the limit. The GPU traces are synthetic, in the format of current
PyTorch. The CPU traces are real: those in services/codec/imports/testdata, and new ones if the cache has PyTorch.
"""
import fcntl
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import REPO, write  # noqa: E402

BINARY = PYTHON = None
VERSION = "0.5.0"
# HolisticTraceAnalysis uses dtypes that pandas 3 rejects. --no-deps excludes Jupyter.
PACKAGES = ["HolisticTraceAnalysis==" + VERSION, "numpy", "pandas==2.2.3", "python-dateutil", "pytz", "tzdata", "six", "plotly", "narwhals",
            "packaging", "networkx", "pydot", "pyparsing", "psutil", "PyYAML"]
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pitwall")
TORCH = os.path.join(CACHE, "torch-2.15.0", "bin", "python")
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
DEEP_EP = "void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*, float*)"
STEPS = 6
TOLERANCE = 0.001

ANALYSIS = """
import json, logging, sys, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_dir=sys.argv[1], include_last_profiler_step=True)
steps = {}
for rank in analysis.t.get_ranks():
    table = analysis.t.get_trace(rank)
    names = analysis.t.symbol_table.get_sym_table()
    marks = [(names[name], dur) for name, dur, stream in zip(table["name"], table["dur"], table["stream"]) if stream == -1]
    steps[rank] = {name: float(dur) for name, dur in marks if name.startswith("ProfilerStep#")}
result = {"steps": steps}
if len(sys.argv) > 2:
    result["breakdown"] = analysis.get_temporal_breakdown(visualize=False).to_dict("records")
    result["overlap"] = analysis.get_comm_comp_overlap(visualize=False).to_dict("records")
print(json.dumps(result))
"""

TORCH_TRACE = """
import os, sys, torch, torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, schedule
rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method="file://" + folder + "/.store", rank=rank, world_size=2)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=4, repeat=1),
             on_trace_ready=lambda p: p.export_chrome_trace("%s/rank%d.json" % (folder, rank))) as profiler:
    for _ in range(7):
        optimizer.zero_grad()
        model(torch.randn(32, 64)).square().mean().backward()
        optimizer.step()
        profiler.step()
"""


def interpreter(limit):
    """Returns the path of an interpreter with HolisticTraceAnalysis, or None if it cannot be installed."""
    home = os.path.join(CACHE, "hta-" + VERSION)
    python = os.path.join(home, "bin", "python")

    def works():
        return os.path.exists(python) and subprocess.run(
            [python, "-c", "from hta.trace_analysis import TraceAnalysis"], capture_output=True, cwd="/").returncode == 0

    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, "hta.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if works():
            return python
        shutil.rmtree(home, ignore_errors=True)
        try:
            subprocess.run([sys.executable, "-m", "venv", home], check=True, capture_output=True, timeout=limit)
            subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", *PACKAGES], check=True,
                           capture_output=True, timeout=limit)
        except (subprocess.SubprocessError, OSError) as failed:
            print("NOTE: traces are not compared with HolisticTraceAnalysis because it cannot be installed (%s)" % type(failed).__name__)
            shutil.rmtree(home, ignore_errors=True)
            return None
        return python if works() else None


class Host:
    """Trace events of one rank, with times in microseconds, as in Kineto. Each device operation is launched by a runtime call."""

    def __init__(self, rank):
        self.rank, self.main, self.events, self.number, self.marks = rank, 100 + rank, [], 0, {}

    def add(self, category, name, pid, tid, start, duration, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": round(start, 3), "dur": round(duration, 3),
                            "args": args})

    def launch(self, thread, at, operator, category, name, stream, start, duration):
        self.number += 1
        ids = {"External id": self.number, "correlation": self.number}
        self.add("cpu_op", operator, self.main, thread, at, 12.5, **{"External id": self.number, "Record function id": 0})
        self.add("cuda_runtime", "cudaLaunchKernel", self.main, thread, at + 3.25, 5.125, cbid=211, **ids)
        self.add(category, name, 0, stream, start, duration, device=0, context=1, stream=stream, **ids)
        if thread == self.main:  # device annotations omit launches by other threads (pytorch/kineto, issue 1022)
            first, last = self.marks.get(stream, (start, start + duration))
            self.marks[stream] = (min(first, start), max(last, start + duration))

    def end_step(self, number, begin, end):
        self.add("user_annotation", "ProfilerStep#%d" % number, self.main, self.main, begin, end - begin)
        for stream, (first, last) in self.marks.items():
            self.add("gpu_user_annotation", "ProfilerStep#%d" % number, 0, stream, first - 1, last - first + 1)
        self.marks = {}


def gpu_trace(rank, seed, communication=NCCL):
    """Returns a trace in which the device lags behind the host. The forward pass runs on the main thread; backward, its all-reduces, and the
    optimizer's hooks run on autograd's thread."""
    rng, host = random.Random(seed * 1000 + rank), Host(rank)
    now = 4553521260280.342
    device = now + 500
    for step in range(STEPS):
        begin = now
        copy = rng.uniform(50, 150)
        host.launch(host.main, begin + 20, "aten::copy_", "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7, device, copy)
        device += copy + rng.uniform(5, 20)
        for n in range(6):
            duration = rng.uniform(200, 900)
            host.launch(host.main, begin + 40 + 15 * n, "aten::linear", "kernel", "ampere_sgemm_128x64_nn", 7, device, duration)
            device += duration + rng.uniform(0, 40)
        reduce = device + 100
        for n in range(10):
            duration = rng.uniform(200, 900)
            host.launch(5000, begin + 140 + 15 * n, "autograd::engine::evaluate_function: MmBackward0", "kernel", "ampere_sgemm_64x32_sliced1x4_nt",
                        7, device, duration)
            device += duration + rng.uniform(0, 40)
        for n in range(3):
            duration = rng.uniform(800, 2500)
            host.launch(5000, begin + 200 + 20 * n, "c10d::allreduce_", "kernel", communication, 24, reduce, duration)
            reduce += duration + rng.uniform(10, 500)
        device = max(device, reduce) + rng.uniform(1, 30)
        now = max(begin + 600, device - 3000) if step else begin + 600
        host.end_step(step, begin, now)
    rng.shuffle(host.events)
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}], "displayTimeUnit": "ms",
            "baseTimeNanoseconds": 1790857026000000000, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
            "traceEvents": host.events}


class HtaComparison(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="pitwall-hta-")
        self.addCleanup(shutil.rmtree, self.dir)

    def theirs(self, folder, *more):
        done = subprocess.run([PYTHON, "-c", ANALYSIS, folder, *more], capture_output=True, text=True, timeout=300, cwd="/",
                              env={**os.environ, "HTA_DISABLE_NS_ROUNDING": "1"})
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return json.loads(done.stdout.splitlines()[-1])

    def ours(self, folder, metrics, last):
        """Returns {(metric, rank): sum over the steps}."""
        rules = ["  - {alert: %s, expr: 'sum_over_time(%s[1000]) and on (rank) train_step >= %d'}" % (metric, metric, last) for metric in metrics]
        path = write(os.path.join(self.dir, "rules.yaml"),
                     "groups:\n- name: sums\n  clock: step\n  mode: train\n  interval: 1\n  rules:\n" + "\n".join(rules) + "\n")
        done = subprocess.run([BINARY, "backtest", "--format", "chrome-trace", "--no-status", "--rules", path, "--input", folder],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        data = [json.loads(line)["data"] for line in done.stdout.splitlines()]
        return {(d["alert"], int(d["labels"]["rank"])): d["value"] for d in data if "value" in d}

    def assert_close(self, ours, theirs, what):
        self.assertLessEqual(abs(ours - theirs), TOLERANCE * abs(theirs), "%s: ours %r, theirs %r" % (what, ours, theirs))

    def gpu_folder(self, name, seed, **options):
        folder = os.path.join(self.dir, name)
        os.makedirs(folder)
        for rank in range(2):
            write(os.path.join(folder, "rank%d.json" % rank), json.dumps(gpu_trace(rank, seed, **options)))
        return folder

    METRICS = ["train_computation_seconds", "train_communication_seconds", "train_exposed_communication_seconds", "train_device_copy_seconds",
               "train_device_idle_seconds"]

    def test_temporal_breakdown_and_overlap_match(self):
        folder = self.gpu_folder("nccl", 1)
        ours, theirs = self.ours(folder, self.METRICS, STEPS - 1), self.theirs(folder, "device")
        for row in theirs["breakdown"]:
            def us(metric):
                return ours["train_" + metric + "_seconds", row["rank"]] * 1e6
            self.assert_close(us("computation"), row["compute_time(us)"], "computation")
            self.assert_close(us("device_idle"), row["idle_time(us)"], "idle")
            # Copies do not overlap in these traces, so the time that is neither idle nor computation consists of copies and exposed communication.
            self.assert_close(us("device_copy") + us("exposed_communication"), row["non_compute_time(us)"], "neither")
            self.assertGreater(us("device_copy"), 0)
        for row in theirs["overlap"]:
            communication = ours["train_communication_seconds", row["rank"]]
            exposed = ours["train_exposed_communication_seconds", row["rank"]]
            self.assertLess(abs(100 * (1 - exposed / communication) - row["comp_comm_overlap_pctg"]), 0.006)  # HolisticTraceAnalysis rounds to 0.01
        # This difference is documented. HolisticTraceAnalysis matches only ^nccl.*Kernel, so it counts DeepEP's kernels as computation. Pitwall
        # counts these kernels as communication.
        other = self.gpu_folder("deep_ep", 1, communication=DEEP_EP)
        self.assertEqual(self.ours(other, self.METRICS, STEPS - 1), ours)
        for with_nccl, with_deep_ep in zip(theirs["breakdown"], self.theirs(other, "device")["breakdown"]):
            self.assertEqual(with_deep_ep["idle_time(us)"], with_nccl["idle_time(us)"])
            self.assertGreater(with_deep_ep["compute_time(us)"], with_nccl["compute_time(us)"])

    def test_steps_of_real_traces_match(self):
        folder = os.path.join(self.dir, "torch")
        os.makedirs(folder)
        if os.path.exists(TORCH):
            ranks = [subprocess.Popen([TORCH, "-c", TORCH_TRACE, str(rank), folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                     for rank in range(2)]
            self.assertEqual([rank.wait(timeout=120) for rank in ranks], [0, 0])
            if os.path.exists(os.path.join(folder, ".store")):
                os.remove(os.path.join(folder, ".store"))
        else:
            print("NOTE: PyTorch is not in the cache; comparing its recorded trace")
            shutil.copy(os.path.join(REPO, "services/codec/imports/testdata/torch_2_cpu.json"), os.path.join(folder, "rank0.json"))
        theirs = self.theirs(folder)["steps"]
        numbers = sorted(int(name.partition("#")[2]) for name in theirs["0"])
        self.assertGreaterEqual(len(numbers), 2)
        ours = self.ours(folder, ["train_step_duration_seconds"], numbers[-1])
        self.assertEqual({str(rank) for _, rank in ours}, set(theirs))
        for (_, rank), seconds in ours.items():
            self.assert_close(seconds * 1e6, sum(theirs[str(rank)].values()), "steps of rank %d" % rank)


if __name__ == "__main__":
    install = "--install" in sys.argv
    if install:
        sys.argv.remove("--install")
    BINARY = os.path.abspath(sys.argv.pop(1))
    PYTHON = interpreter(None if install else 60)
    if PYTHON is None:
        sys.exit(77)
    os.chdir(REPO)
    unittest.main()
