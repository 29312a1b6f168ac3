"""Tests for the time that a rank waits for other ranks: two ranks with gloo and DistributedDataParallel. Rank 1 loses 60 ms per step in different
places.

own = step - wait must identify the slow rank, wherever the time is lost.
"""
import os
import statistics
import subprocess
import sys

import support
from torch_support import requires_torch

STEP = 1  # span kind of a step

RANKS = """
import os, sys, time
rank, rendezvous, slow, way = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
import torch, torch.distributed as distributed, pitwall
torch.set_num_threads(1)
distributed.init_process_group("gloo", store=distributed.FileStore(rendezvous, 2), rank=rank, world_size=2)
pitwall.init(job="ranks", rank=rank, world_size=2)
torch.manual_seed(1)

def lose(where):
    if rank == 1 and slow == where:
        time.sleep(0.06)

class Pause(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        lose("forward")
        return x.clone()
    @staticmethod
    def backward(context, gradient):
        time.sleep(0.01)
        lose("backward")
        return gradient

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(8, 16), torch.nn.Linear(16, 3)
    def forward(self, x):
        return self.last(Pause.apply(torch.relu(self.first(x))))

class Slow(torch.optim.SGD):
    def step(self, closure=None):
        lose("optimizer")
        return super().step(closure)

class Batches:
    def __iter__(self):
        for step in range(14):
            lose("dataloader")
            yield torch.randn(16, 8), torch.randint(0, 3, (16,))

model = Net()
whole = model if way == "async" else torch.nn.parallel.DistributedDataParallel(model)
loss = torch.nn.CrossEntropyLoss()
optimizer = Slow(whole.parameters(), lr=0.1)
if way == "watch":
    pitwall.watch(whole, optimizer, loss)
elif way == "off":
    pitwall.watch(whole, optimizer, loss, collectives=False)
else:
    pitwall.watch_collectives(ddp=whole if way == "hook" else None)
for x, y in pitwall.steps(Batches()):
    lose("gap")
    optimizer.zero_grad()
    loss(whole(x), y).backward()
    if way == "async":
        for p in model.parameters():
            distributed.all_reduce(p.grad, distributed.ReduceOp.SUM, None, True).wait()
    optimizer.step()
pitwall.finish(timeout=5)
distributed.barrier()
os._exit(0)
"""


@requires_torch
class WaitTest(support.ClientTest):
    def medians(self, slow, way):
        """Returns (step, waiting, time in the groups' collectives, number of collectives) per rank. The values are medians that exclude the first
        steps."""
        fake = self.collector()
        self.addCleanup(fake.close)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PITWALL_", "SLURM_"))}
        env.update(PYTHONPATH=support.SOURCES, PITWALL_SOCKET=self.path)
        ranks = [subprocess.Popen([sys.executable, "-c", RANKS, str(rank), os.path.join(self.folder, slow + way), slow, way],
                                  env=env, stderr=subprocess.PIPE, universal_newlines=True) for rank in range(2)]
        try:
            errors = [rank.communicate(timeout=120)[1] for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
        self.assertEqual([rank.returncode for rank in ranks], [0, 0], errors)
        fake.wait_for(lambda c: len(c.messages("goodbye")) == 2)
        found = {}
        for connection in fake.connections:
            spans = [s for name, u, _ in connection if name == "update" for s in u["spans"]]
            steps = {s["step_plus_one"]: s["duration"] / 1e9 for s in spans if s["kind"] == STEP}
            waits = dict.fromkeys(steps, 0)
            for span in spans:
                if span["name"] == "collective" and span["step_plus_one"] in waits:
                    waits[span["step_plus_one"]] += span["duration"] / 1e9
            late = [s for s in steps if s > 4]
            found[connection[0][1]["rank"]] = (statistics.median(steps[s] for s in late),
                                               statistics.median(waits[s] for s in late),
                                               *(statistics.median(self.sums(connection, metric).get(s, 0) for s in late)
                                                 for metric in ("train_collective_time_seconds", "train_collective_calls")))
        self._collectors.pop().close()
        return found

    def sums(self, connection, metric):
        """Returns {step + 1: sum over the groups}."""
        found = {}
        for name, update, _ in connection:
            for value in update["values"] if name == "update" else ():
                if value["metric"] == metric:
                    found[value["step_plus_one"]] = found.get(value["step_plus_one"], 0) + value["value"]
        return found

    def check(self, slow, way):
        found = self.medians(slow, way)
        own = {rank: step - wait for rank, (step, wait, _, _) in found.items()}
        print("\n%s, %s: step %.0f and %.0f ms, own %.0f and %.0f ms" % (
            slow, way, *(1e3 * found[r][0] for r in (0, 1)), *(1e3 * own[r] for r in (0, 1))), flush=True)
        self.assertGreater(own[1], 1.5 * own[0])
        self.assertGreater(found[0][1], 0.03)
        if way == "hook":
            return
        # The dicts contain times by (group, sequence number). The numbers are the same on both ranks, and the faster rank's additional time is its
        # wait.
        self.assertEqual(found[0][3], found[1][3])
        self.assertGreater(found[0][3], 0)
        self.assertGreater(found[0][2] - found[1][2], 0.03)

    def test_watch_measures_wait_regardless_of_cause(self):
        for slow in ("gap", "dataloader", "forward", "backward", "optimizer"):
            with self.subTest(slow=slow):
                self.check(slow, "watch")

    def test_communication_hook_measures_wait(self):
        for slow in ("gap", "backward"):
            with self.subTest(slow=slow):
                self.check(slow, "hook")

    def test_wait_of_asynchronous_collective_is_measured(self):
        self.check("forward", "async")

    def test_wait_measurement_can_be_disabled(self):
        self.assertEqual([wait for _, wait, _, _ in self.medians("gap", "off").values()], [0, 0])
