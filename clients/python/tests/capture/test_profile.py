"""Tests for profile() and checkpoint(): the computation on synthetic events, and the real profilers on real steps."""
import asyncio
import json
import logging
import os
import re
import subprocess
import sys
import unittest
import unittest.mock
from types import SimpleNamespace

import support
import torch_support
from framework_support import CallbackTest
from torch_support import requires_torch, torch

import pitwall
from pitwall import _guard
from pitwall.capture import _operators, _profile


def event(name, begin, end, device="CPU", own=None, on_device=0, is_async=False):
    return SimpleNamespace(
        name=name, device_type=SimpleNamespace(name=device), time_range=SimpleNamespace(start=begin, end=end),
        is_async=is_async, self_cpu_time_total=(end - begin if own is None else own) if device == "CPU" else 0,
        self_device_time_total=on_device)


class OperatorsTest(unittest.TestCase):
    def of(self, events):
        return {(metric,) + tuple(value for _, value in labels): number for metric, labels, number in
                _operators.totals(events)}

    def test_overlapping_intervals_are_merged(self):
        self.assertEqual(_operators.merge([(5, 7), (1, 3), (2, 4), (7, 8), (9, 9), (1, 2)]), [(1, 4), (5, 8)])
        self.assertEqual(_operators.length([(1, 4), (5, 8)]), 6)

    def test_gpu_kernels_are_classified(self):
        values = self.of([
            event("aten::mm", 0, 10, own=4, on_device=2000), event("nccl:all_reduce", 10, 12, on_device=900),
            event("aten::mm", 20, 30, own=6, on_device=1000),
            event("ampere_sgemm_128x64", 100, 2100, "CUDA"), event("ampere_sgemm_128x64", 3000, 4000, "CUDA"),
            event("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1600, 2500, "CUDA"),
            event("ncclKernel_AllGather_RING_LL_Sum_int8_t", 2400, 2600, "CUDA"),
            event("Memcpy HtoD (Pinned -> Device)", 0, 90, "CUDA"), event("Memset (Device)", 2500, 2550, "CUDA"),
            event("nccl:all_reduce", 0, 9000, "CUDA")])  # the mirrored annotation, not a kernel
        self.assertAlmostEqual(values["train_computation_seconds",], 3000e-6)
        self.assertAlmostEqual(values["train_communication_seconds",], 1000e-6)
        self.assertAlmostEqual(values["train_exposed_communication_seconds",], 500e-6)
        self.assertAlmostEqual(values["train_operator_seconds", "gpu", "aten::mm"], 3000e-6)
        self.assertAlmostEqual(values["train_operator_seconds", "cpu", "aten::mm"], 10e-6)

    def test_kernels_of_other_communication_libraries_are_recognized(self):
        values = self.of([
            event("void at::native::vectorized_elementwise_kernel<4>(int)", 0, 100, "CUDA"),
            event("void deep_ep::internode_ll::dispatch<true, 7168>(void*)", 100, 300, "CUDA"),
            event("mscclKernel_Sum_half_Simple_false(ncclDevComm*)", 300, 400, "CUDA"),
            event("Memcpy PtoP (Device -> Device)", 400, 450, "CUDA"), event("Memcpy HtoD (Pinned -> Device)", 450, 500, "CUDA"),
            event("triton_poi_fused_all_reduce_0", 500, 600, "CUDA"), event("void f<ncclDataType_t>(ncclDevComm*)", 600, 700, "CUDA")])
        self.assertAlmostEqual(values["train_communication_seconds",], 350e-6)
        self.assertAlmostEqual(values["train_computation_seconds",], 300e-6)

    def test_kernel_table_matches_importers(self):
        root = os.path.join(os.path.dirname(__file__), "../../../..")
        if not os.path.exists(os.path.join(root, "CMakeLists.txt")):
            self.skipTest("the package without the repository")
        table = os.path.join(root, "services/codec/imports/traces/communication_kernels.cc")
        with open(table, encoding="utf-8") as file:
            texts = re.findall(r'^    \{"([^"]+)",', file.read(), re.M)
        self.assertEqual(sorted(texts), sorted(_operators.COMMUNICATION_KERNELS))

    def test_operators_without_gpu_are_classified(self):
        values = self.of([
            event("Optimizer.step#SGD.step", 0, 1000), event("autograd::engine::evaluate_function: X", 0, 1000),
            event("c10d::allreduce_", 10, 20), event("gloo:all_reduce", 15, 115, is_async=True),
            event("aten::mm", 65, 165), event("aten::add", 100, 200)])
        self.assertAlmostEqual(values["train_communication_seconds",], 105e-6)
        self.assertAlmostEqual(values["train_computation_seconds",], 135e-6)
        self.assertAlmostEqual(values["train_exposed_communication_seconds",], 55e-6)
        self.assertAlmostEqual(values["train_operator_seconds", "cpu", "gloo:all_reduce"], 100e-6)

    def test_only_largest_operators_are_sent(self):
        values = self.of([event("aten::op%d" % n, 0, n) for n in range(100)])
        self.assertEqual({key[2] for key in values if key[0] == "train_operator_seconds"},
                         {"aten::op%d" % n for n in range(80, 100)})


class ProfileTest(CallbackTest):
    def steps_of(self, values, metric="train_operator_seconds"):
        return sorted({value[3] for value in values if value[0] == metric})

    def run_steps(self, count, body=lambda: sorted(range(1000), key=str)):
        for _ in range(count):
            with pitwall.step():
                body()

    def test_python_functions_are_profiled(self):
        def slow_part():
            return sum(n * n for n in range(20000))
        pitwall.profile(tools="python")
        self.run_steps(5, slow_part)
        self.assertIsNone(sys.getprofile())
        self.assertIsNone(self.recorder().step_watcher)
        values = self.sent()
        self.assertEqual(self.steps_of(values), [0, 1])  # two steps by default
        names = [v[1]["operator"] for v in values if v[0] == "train_operator_seconds" and v[3] == 0]
        self.assertLessEqual(len(names), 20)
        self.assertTrue(any(name.startswith("capture/test_profile.py:") and "slow_part" in name for name in names) or
                        any("genexpr" in name for name in names), names)
        self.assertEqual({v[1]["device"] for v in values}, {"python"})

    def test_selected_steps_are_profiled(self):
        pitwall.profile(2, start=3, tools="python")
        self.run_steps(7)
        pitwall.profile([8, 10], tools="python")
        self.run_steps(5)
        pitwall.profile([1], tools="python")  # a step in the past
        self.run_steps(1)
        self.assertIsNone(self.recorder().step_watcher)
        self.assertEqual(self.steps_of(self.sent()), [3, 4, 8, 10])

    def test_second_call_adds_more_steps(self):
        pitwall.profile([5], tools="python")  # as in SageMaker Debugger's plan: detailed, loader, and Python profiling
        pitwall.profile([7, 5], tools="python")
        pitwall.profile([9], tools=("python",))
        self.run_steps(12)
        self.assertIsNone(self.recorder().step_watcher)
        pitwall.profile(1, start=13, tools="python")
        pitwall.profile(3, start=14, tools="python")
        self.run_steps(8)
        self.assertIsNone(self.recorder().step_watcher)
        self.assertEqual(self.steps_of(self.sent()), [5, 7, 9, 13, 14, 15, 16])

    def test_pending_calls_are_bounded(self):
        _guard._logged.clear()
        with self.assertLogs("pitwall", logging.WARNING) as log:
            for number in range(_profile.MAX_WANTED + 3):
                pitwall.profile([1000 + number], tools="python")
        self.assertEqual(len(log.output), 1)
        self.run_steps(2)
        self.assertEqual(self.steps_of(self.sent()), [])

    def test_failed_step_and_empty_loader_are_not_profiled(self):
        pitwall.profile(2, tools="python")
        with self.assertRaises(KeyError):
            with pitwall.step():
                raise KeyError
        self.assertIsNone(sys.getprofile())
        for _ in pitwall.steps(range(1)):  # the loader is empty while a profile waits for a step
            sorted(range(100))
        self.assertIsNone(sys.getprofile())
        self.run_steps(3)
        self.assertEqual(self.steps_of(self.sent()), [0, 1])

    def test_profile_is_discarded_when_training_ends(self):
        pitwall.profile(2, tools="python")
        step = pitwall.step()
        step.__enter__()
        self.assertIsNotNone(sys.getprofile())
        values = self.sent()
        self.assertIsNone(sys.getprofile())
        self.assertEqual(self.steps_of(values), [])

    def test_invalid_call_is_logged_once_and_ignored(self):
        _guard._logged.clear()
        with self.assertLogs("pitwall", logging.DEBUG) as log:
            for _ in range(2):
                pitwall.profile(0)
                pitwall.profile(_profile.MAX_STEPS + 1)
                pitwall.profile(tools="gdb")
                pitwall.profile([1], start=2)
                pitwall.profile(None)
        self.assertEqual(len([line for line in log.output if line.startswith("WARNING:pitwall:pitwall.profile: ")]), 5)
        self.assertIsNone(self.recorder().step_watcher)

    def test_unavailable_tool_is_reported_once(self):
        for tool, expected in (("torch", r"profile: PyTorch cannot be imported \('torch'\); "), ("python", r"profile: another profiler is running \('python'\); ")):
            _guard._logged.clear()
            with self.subTest(tool), unittest.mock.patch.dict(sys.modules, {"torch": None}), self.assertLogs("pitwall", logging.WARNING) as log:
                if tool == "python":
                    sys.setprofile(lambda *_: None)
                try:
                    for _ in range(2):
                        pitwall.profile(2, tools=tool)
                        self.run_steps(3)
                finally:
                    sys.setprofile(None)
                self.assertEqual(len(log.output), 1, log.output)
                self.assertRegex(log.output[0], r"^WARNING:pitwall:pitwall\." + expected)
        self.assertIsNone(self.recorder().step_watcher)

    def test_script_profiler_keeps_working(self):
        def look(*_):
            pass
        sys.setprofile(look)
        try:
            pitwall.profile(tools="python")
            self.run_steps(2)
            self.assertIs(sys.getprofile(), look)
        finally:
            sys.setprofile(None)
        self.assertEqual(self.steps_of(self.sent()), [])

    def test_calls_without_client_do_nothing(self):
        pitwall.finish(timeout=5)
        pitwall.profile()
        self.run_steps(1)
        with pitwall.checkpoint():
            pass

    def test_checkpoint_records_phase_and_step(self):
        with pitwall.checkpoint():
            pass  # before any step, so that the phase does not have a checkpoint step
        for number in range(4):
            with pitwall.step():
                if number == 2:
                    with pitwall.checkpoint():
                        pass
                if number == 3:
                    with pitwall.checkpoint(step=1):
                        pass
                    with self.assertRaises(OSError):
                        with pitwall.checkpoint():
                            raise OSError
        pitwall.checkpoint()(lambda: None)()
        self.assertEqual(self.of(self.sent(), "train_checkpoint_step"), [(2, 2.0), (3, 1.0), (3, 3.0)])
        self.assertEqual(self.spans_of("checkpoint"), [-1, 2, 3, 3, -1])

    def test_asynchronous_checkpoint_completes_after_await(self):
        @pitwall.checkpoint()
        async def save():
            await asyncio.sleep(0)
            with pitwall.step():  # work during the wait
                pass
            raise OSError

        with pitwall.step():
            pass
        with self.assertRaises(OSError):
            asyncio.run(save())
        self.assertEqual(self.of(self.sent(), "train_checkpoint_step"), [])
        self.assertEqual(len(self.spans_of("checkpoint")), 1)


@requires_torch
class TorchProfileTest(torch_support.TorchTest):
    def test_operators_of_requested_steps_are_sent(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss)  # its steps start and end inside the profiled functions
        pitwall.profile(start=2, tools=("torch", "python"), trace_dir=os.path.join(self.folder, "traces"))
        self.train(model, optimizer, loss, 6)
        self.assertFalse(torch.autograd._profiler_enabled())
        values = self.sent()
        for metric in ("train_operator_seconds", "train_communication_seconds", "train_computation_seconds",
                       "train_exposed_communication_seconds"):
            self.assertEqual(sorted({v[3] for v in values if v[0] == metric}), [2, 3], metric)
        self.assertTrue(self.of(values, "train_operator_seconds", device="cpu", operator="aten::addmm"))
        self.assertEqual(set(self.of(values, "train_communication_seconds").values()), {0.0})
        self.assertGreater(min(self.of(values, "train_computation_seconds").values()), 0)
        self.assertEqual({v[1]["device"] for v in values if v[0] == "train_operator_seconds"}, {"cpu", "python"})
        traces = os.listdir(os.path.join(self.folder, "traces"))
        self.assertEqual(sorted(traces), ["pitwall-rank0-step2.json", "pitwall-rank0-step3.json"])
        with open(os.path.join(self.folder, "traces", traces[0])) as file:
            trace = json.load(file)
        entries = trace if isinstance(trace, list) else trace["traceEvents"]  # a list before PyTorch 2.0 without CUDA
        self.assertIn("aten::addmm", {entry.get("name") for entry in entries})

    def test_profile_is_discarded_when_training_ends(self):
        pitwall.profile()
        step = pitwall.step()
        step.__enter__()
        self.assertTrue(torch.autograd._profiler_enabled())
        pitwall.finish(timeout=5)
        self.assertFalse(torch.autograd._profiler_enabled())

    def test_script_profiler_keeps_working(self):
        with torch.profiler.profile() as own:
            pitwall.profile()
            for _ in range(2):
                with pitwall.step():
                    torch.ones(3).add(1)
        self.assertIn("aten::add", {entry.key for entry in own.key_averages()})
        self.assertFalse([v for v in self.sent() if v[0] == "train_computation_seconds"])

    def test_communication_of_two_ranks_is_measured(self):
        script = """
import os, sys, torch, torch.distributed as distributed, pitwall
torch.set_num_threads(1)
rank = int(sys.argv[1])
distributed.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=2)
pitwall.init(job="demo", rank=rank, world_size=2)
pitwall.profile(2)
for _ in range(3):
    with pitwall.step():
        torch.ones(64, 64).mm(torch.ones(64, 64))
        distributed.all_reduce(torch.ones(100000))
pitwall.finish(timeout=5)
distributed.destroy_process_group()
"""
        env = dict(os.environ, PYTHONPATH=support.SOURCES, PITWALL_SOCKET=self.path)
        ranks = [subprocess.Popen([sys.executable, "-c", script, str(rank), self.folder + "/ranks"], env=env,
                                  stderr=subprocess.PIPE) for rank in range(2)]
        for rank in ranks:
            _, errors = rank.communicate(timeout=60)
            self.assertEqual(rank.returncode, 0, errors.decode())
        values = self.sent()
        communication = [v[2] for v in values if v[0] == "train_communication_seconds"]
        self.assertEqual(len(communication), 4)
        self.assertGreater(min(communication), 0)
        self.assertTrue([v for v in values if v[1].get("operator") == "gloo:all_reduce" and v[2] > 0])
