"""Tests for watch() with model wrappers: torch.compile, DataParallel, DistributedDataParallel, checkpointing, and schedulers."""
import ast
import os
import subprocess
import sys
from unittest import mock

import support
from torch_support import TorchTest, VERSION, requires_torch, torch

import pitwall


class WrappedTest(TorchTest):
    def test_gradient_checkpointing_counts_each_pass_once(self):
        from torch.utils.checkpoint import checkpoint

        class Checkpointed(torch.nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, data):
                options = {"use_reentrant": False} if VERSION >= (1, 11) else {}
                return checkpoint(self.inner, data, **options)
        model, loss = Checkpointed(self.model()), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss, every=1)
        self.train(model, optimizer, loss, 2)
        values = self.sent()
        tensors = {v[1]["tensor"] for v in values if v[1].get("collection") == "relu_input"}
        self.assertEqual(tensors, {"inner.1.relu_input_0"})
        self.assertEqual(self.spans_of("backward"), [(0, "train"), (1, "train")])

    def test_module_called_twice_has_two_outputs(self):
        class Shared(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.act, self.second = torch.nn.Linear(8, 8), torch.nn.ReLU(inplace=True), \
                    torch.nn.Linear(8, 3)

            def forward(self, data):
                return self.second(self.act(self.first(self.act(self.first(data)))))
        model, loss = Shared(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss, every=1)
        self.train(model, optimizer, loss, 1)
        values = self.sent()
        self.assertEqual({v[1]["tensor"] for v in values if v[1].get("collection") == "relu_output"},
                         {"act.relu_output_0", "act.relu_output_1"})
        # The hook must read the input before the module overwrites it.
        least = self.of(values, "train_tensor_min", collection="relu_input", tensor="act.relu_input_0")
        self.assertLess(least[0], 0)

    def test_failed_forward_pass_leaves_no_phases(self):
        class Failing(torch.nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner, self.fail = inner, False

            def forward(self, data):
                if self.fail:
                    raise RuntimeError("planted")
                return self.inner(data)
        model, loss = Failing(self.model()), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss, every=1)
        model.fail = True
        with self.assertRaises(RuntimeError):
            model(self.batch()[0])
        model.fail = False
        self.train(model, optimizer, loss, 2)
        self.sent()
        self.assertEqual(self.spans_of("forward"), [(0, "train"), (1, "train")])
        self.assertFalse(model.inner[1]._forward_hooks)

    def test_schedulers_created_before_and_after_watch_work(self):
        import warnings
        for after in (False, True):
            model, loss = self.model(), torch.nn.CrossEntropyLoss()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                if not after:
                    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
                handle = pitwall.watch(model, optimizer, loss)
                if after:
                    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
                for _ in range(3):
                    self.train(model, optimizer, loss, 1)
                    scheduler.step()
                handle.close()
                self.train(model, optimizer, loss, 1)
        self.assertEqual(list(self.of(self.sent(), "train_learning_rate").values()), [0.5, 0.25, 0.125] * 2)

    def test_lbfgs_closure_inside_step_is_recorded(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
        pitwall.watch(model, optimizer, loss, every=1)
        data, labels = self.batch()

        def closure():
            optimizer.zero_grad()
            value = loss(model(data), labels)
            value.backward()
            return value
        for _ in range(2):
            optimizer.step(closure)
        self.assertEqual(sorted(self.of(self.sent(), "train_loss")), [0, 1])
        self.assertEqual(len(self.spans_of("step")), 2)

    def test_data_parallel_model_is_watched(self):
        model, loss = torch.nn.DataParallel(self.model()), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss, every=1)
        self.train(model, optimizer, loss, 1)
        self.assertIn("0.weight", {v[1].get("tensor") for v in self.sent()})

    def compile_counter(self):
        if not hasattr(torch, "compile"):
            self.skipTest("PyTorch %s has no torch.compile" % torch.__version__)
        from torch import _dynamo
        from torch._dynamo.testing import CompileCounter
        _dynamo.reset()
        return CompileCounter()

    def test_compiled_models_are_watched(self):
        counter = self.compile_counter()
        model, loss = torch.compile(self.model(), backend=counter), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss, every=2)
        self.train(model, optimizer, loss, 5)
        values = self.sent()
        self.assertEqual(counter.frame_count, 1, "hooks must neither break the graph nor cause recompilation")
        self.assertEqual(sorted(self.of(values, "train_loss")), list(range(5)))
        for name in ("forward", "backward", "optimizer"):
            self.assertEqual(len(self.spans_of(name)), 5, name)
        self.assertEqual(sorted(self.of(values, "train_tensor_mean", collection="gradients",
                                        tensor="gradient/0.weight")), [0, 2, 4])
        self.assertFalse([v for v in values if v[1].get("collection") == "relu_input"])

    def test_model_compiled_after_watch_still_trains(self):
        counter = self.compile_counter()
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss, every=2)
        compiled = torch.compile(model, backend=counter)
        self.train(compiled, optimizer, loss, 5)
        self.assertEqual(counter.frame_count, 1)
        self.assertIn("train_learning_rate", {v[0] for v in self.sent()})


class AwaitedTest(TorchTest):
    def test_failed_start_of_a_collective_leaves_none_awaited(self):
        from pitwall.pytorch import _collectives, _operations

        recorder = self.recorder()
        with mock.patch.object(_collectives._collective_times, "of", side_effect=RuntimeError), \
                mock.patch.object(_collectives, "_device", return_value="cuda:0"):
            self.assertIsNone(_collectives._begin("barrier", (), {}))
        self.assertIsNone(_operations.of(recorder).awaited())


RANKS = """
import os, sys, threading, time
rank, port = int(sys.argv[1]), sys.argv[2]
import torch, torch.distributed as distributed, pitwall
torch.set_num_threads(1)
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=str(rank), WORLD_SIZE="2")
store = distributed.FileStore(port, 2)
distributed.init_process_group("gloo", store=store, rank=rank, world_size=2)
pitwall.init(job="ranks", rank=rank, world_size=2)
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
whole = torch.nn.parallel.DistributedDataParallel(model)
loss = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(whole.parameters(), lr=0.1)
handle = pitwall.watch(whole, optimizer, loss, every=2, grad_norm_every=1)
bucket = pitwall.watch_collectives(ddp=whole) if sys.argv[3] == "hook" else None
pair = distributed.new_group([0, 1])
norms = []
for step in range(4):
    torch.manual_seed(100 * step + rank)
    optimizer.zero_grad()
    loss(whole(torch.randn(16, 8)), torch.randint(0, 3, (16,))).backward()
    norms.append(float(torch.linalg.vector_norm(torch.cat([p.grad.reshape(-1) for p in model.parameters()]))))
    mean = torch.ones(1000)
    distributed.all_reduce(mean)
    assert mean[0] == 2
    work = distributed.all_reduce(mean, group=pair, async_op=True)
    work.wait()
    assert work.is_completed() and mean[0] == 4
    distributed.barrier()
    optimizer.step()
seen = []
def await_collective():  # the state that a capture would report while rank 0 waits for rank 1
    while not seen:
        awaited = pitwall._client.client.recorder.operations.awaited()
        if awaited is not None and awaited[0] != "default":
            seen.append(awaited[1:2] + awaited[3:])
        time.sleep(0.001)
    open(port + ".seen", "w").close()
if rank == 0:
    threading.Thread(target=await_collective).start()
while rank == 1 and not os.path.exists(port + ".seen"):
    time.sleep(0.01)
distributed.all_reduce(mean, group=pair)
found = [torch.empty(3) for _ in range(2)]
distributed.all_gather(found, torch.full((3,), float(rank)))
assert found[1][0] == 1
wrapped = distributed.all_reduce
handle.close()
if bucket is not None:
    bucket.close()
assert distributed.all_reduce is not wrapped
print(repr((norms, [float(p.detach().sum()) for p in model.parameters()], seen)), flush=True)
pitwall.finish(timeout=5)
distributed.barrier()
os._exit(0)  # gloo's threads may crash at interpreter exit, with or without pitwall
"""


@requires_torch
class RanksTest(support.ClientTest):
    def run_ranks(self, option):
        fake = self.collector()
        rendezvous = os.path.join(self.folder, "store-" + option)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PITWALL_", "SLURM_"))}
        env.update(PYTHONPATH=support.SOURCES, PITWALL_SOCKET=self.path)
        ranks = [subprocess.Popen([sys.executable, "-c", RANKS, str(rank), rendezvous, option], env=env,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
                 for rank in range(2)]
        try:
            results = [rank.communicate(timeout=240) for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
        for rank, (_, errors) in zip(ranks, results):
            self.assertEqual(rank.returncode, 0, errors)
        fake.wait_for(lambda c: len(c.messages("goodbye")) == 2)
        by_rank = {}
        for connection in fake.connections:
            hello = connection[0][1]
            by_rank[hello["rank"]] = [u for name, u, _ in connection if name == "update"]
        return [ast.literal_eval(text) for text, _ in results], by_rank

    def of(self, updates, metric):
        return [({p["name"]: p["value"] for p in v["labels"]}, v["value"], v["step_plus_one"] - 1)
                for u in updates for v in u["values"] if v["metric"] == metric]

    def test_two_ranks_with_gloo_record_collectives(self):
        results, by_rank = self.run_ranks("plain")
        self.assertEqual(results[0][1], results[1][1])  # the ranks stay in sync
        self.assertEqual(results[0][2], [("all_reduce", 4000)])
        for rank, updates in by_rank.items():
            norms = self.of(updates, "train_grad_norm")
            self.assertEqual([step for _, _, step in norms], [0, 1, 2, 3])
            for (_, found, _), right in zip(norms, results[rank][0]):
                self.assertAlmostEqual(found, right, 4, "the norm must be that of the reduced gradients")
            counts = self.of(updates, "train_collective_operations_total")
            self.assertEqual(max(n for labels, n, _ in counts if labels["group"] == "default"), 9)
            other = {labels["group"] for labels, _, _ in counts} - {"default", "gradients"}
            self.assertEqual(len(other), 1)
            # A rank that waits for the other ranks' gradients has started one more collective than it has completed.
            for metric in ("train_collective_operations_total", "train_collective_completed_total"):
                gradients = [n for labels, n, _ in self.of(updates, metric) if labels["group"] == "gradients"]
                self.assertEqual(max(gradients), 4, metric)
            completed = self.of(updates, "train_collective_completed_total")
            self.assertEqual(max(n for labels, n, _ in completed if labels["group"] == "default"), 9)
            newest = {labels["op"]: n for labels, n, _ in self.of(updates, "train_collective_last_number")
                      if labels["group"] == "default"}
            self.assertEqual(max(newest.values()), 9)
            times = self.of(updates, "train_collective_duration_seconds")
            self.assertEqual({(t[0]["op"], t[0]["size"]) for t in times},
                             {("all_reduce", "32KiB"), ("barrier", "1KiB"), ("all_gather", "1KiB")})
            self.assertTrue(all(t[1] > 0 for t in times))
            self.assertTrue(self.of(updates, "train_collective_bus_bandwidth_bytes_per_second"))
            spans = [s for u in updates for s in u["spans"] if s["name"] == "collective"]
            self.assertEqual(len(spans), 14 + 4 + 4)  # waits for asynchronous collectives and for DDP's collectives
        groups = [{labels["group"] for labels, _, _ in self.of(u, "train_collective_operations_total")}
                  for u in by_rank.values()]
        self.assertEqual(groups[0], groups[1])

    def test_hook_records_all_reduces_of_ddp(self):
        plain, _ = self.run_ranks("plain")
        self._collectors.pop().close()
        hooked, by_rank = self.run_ranks("hook")
        for a, b in zip(plain[0][1], hooked[0][1]):
            self.assertAlmostEqual(a, b, 4, "the hook must compute the same result as DDP")
        for updates in by_rank.values():
            counts = self.of(updates, "train_collective_operations_total")
            self.assertEqual(max(n for labels, n, _ in counts if labels["group"] == "default"), 13)
