"""Tests for collective counts in fully sharded training: two ranks with gloo, one of which may hang or skip a step."""
import os
import re
import subprocess
import sys
import unittest

import support
from torch_support import requires_torch, torch, VERSION

STEPS = 6

RANKS = """
import os, sys, time
rank, rendezvous, way, fault = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
import torch, torch.distributed as distributed, pitwall
torch.set_num_threads(1)
distributed.init_process_group("gloo", store=distributed.FileStore(rendezvous, 2), rank=rank, world_size=2)
pitwall.init(job="ranks", rank=rank, world_size=2)
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
if way == "fully_shard":
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    mesh = init_device_mesh("cpu", (2,))
    for module in (model[0], model[2], model):
        fully_shard(module, mesh=mesh)
else:
    from torch.distributed.fsdp import FullyShardedDataParallel
    model = FullyShardedDataParallel(model, device_id=torch.device("cpu"))
loss = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
pitwall.watch(model, optimizer, loss)
for step in pitwall.steps(range(%d)):
    if rank == 1 and step == 4 and fault == "stuck":
        time.sleep(600)
    if rank == 1 and step == 4 and fault == "skip":
        continue
    optimizer.zero_grad()
    loss(model(torch.randn(16, 8)), torch.randint(0, 3, (16,))).backward()
    optimizer.step()
if fault == "skip" and rank == 1:
    time.sleep(600)
pitwall.finish(timeout=5)
distributed.barrier()
os._exit(0)
""" % STEPS


@requires_torch
@unittest.skipIf(VERSION < (2, 6), "Debian's PyTorch %d.%d cannot import FSDP, or has no fully_shard" % VERSION)
class FullyShardedTest(support.ClientTest):
    def begin(self, way, fault):
        fake = self.collector()
        self.addCleanup(fake.close)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PITWALL_", "SLURM_"))}
        env.update(PYTHONPATH=support.SOURCES, PITWALL_SOCKET=self.path)
        ranks = [subprocess.Popen([sys.executable, "-c", RANKS, str(rank), os.path.join(self.folder, way + fault), way, fault],
                                  env=env, stderr=subprocess.PIPE, universal_newlines=True) for rank in range(2)]
        self.addCleanup(self.end, ranks)
        return fake, ranks

    def end(self, ranks):
        for rank in ranks:
            rank.kill()
            rank.wait()
            rank.stderr.close()

    def counts(self, fake, metric, label="group"):
        """Returns {rank: {label value: latest number}}."""
        found = {}
        for connection in list(fake.connections):
            if not connection or connection[0][0] != "hello":
                continue
            newest = found.setdefault(connection[0][1]["rank"], {})
            for name, update, _ in connection:
                for value in update["values"] if name == "update" else ():
                    if value["metric"] == metric:
                        labels = {pair["name"]: pair["value"] for pair in value["labels"]}
                        newest[labels[label]] = max(value["value"], newest.get(labels[label], 0))
        return found

    def check_counts(self, way):
        fake, ranks = self.begin(way, "none")
        errors = [rank.communicate(timeout=120)[1] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0], errors)
        fake.wait_for(lambda c: len(c.messages("goodbye")) == 2)
        begun = self.counts(fake, "train_collective_operations_total")
        self.assertEqual(begun[0], begun[1])
        # Each step has at least one gather before the forward pass and one scatter after the backward pass.
        self.assertGreaterEqual(sum(begun[0].values()), 2 * STEPS)
        self.assertEqual(self.counts(fake, "train_collective_completed_total")[0], begun[0])
        kinds = " ".join(self.counts(fake, "train_collective_last_number", "op")[0])
        self.assertIn("all_gather", kinds)
        self.assertIn("reduce_scatter", kinds)

    def test_each_collective_of_fully_shard_is_counted(self):
        self.check_counts("fully_shard")

    def test_each_collective_of_wrapped_model_is_counted(self):
        self.check_counts("wrapped")

    def check_behind(self, fault):
        fake, _ = self.begin("fully_shard", fault)

        def is_reported(_):
            begun = self.counts(fake, "train_collective_operations_total")
            completed = self.counts(fake, "train_collective_completed_total")
            return any(number > begun.get(1, {}).get(group, 0) > 2 * 3 and completed[0][group] < number
                       for group, number in begun.get(0, {}).items() if group in completed.get(0, {}))
        fake.wait_for(is_reported, timeout=60)

    def test_hung_rank_has_started_fewer_collectives(self):
        self.check_behind("stuck")

    def test_rank_skipping_a_step_has_started_fewer_collectives(self):
        self.check_behind("skip")


@requires_torch
class FunctionsTest(unittest.TestCase):
    def test_all_collective_functions_of_pytorch_are_timed(self):
        """Detects functions added by a new version of PyTorch. Collectives through such functions would not be counted, as happened with FSDP."""
        from pitwall.pytorch import _collectives
        found = {name for name in dir(torch.distributed) if name.islower() and callable(getattr(torch.distributed, name))
                 and re.search("gather|scatter|reduce|broadcast|barrier|to_all", name)}
        # The test excludes obsolete functions for several GPUs per process, and a function used during DDP's startup.
        left = {name for name in found if name.endswith("_multigpu")} | {"_broadcast_coalesced"}
        self.assertEqual(found - left - set(_collectives.FUNCTIONS), set())
