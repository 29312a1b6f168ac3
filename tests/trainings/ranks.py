#!/usr/bin/env python3
"""One rank of a real data-parallel training run over gloo, with faults that are enabled externally.

ranks.py CONTROL [--steps N]

Rank, world size, and rendezvous address are read from the environment, as under torchrun. A step trains a small network: forward, backward, an
all-reduce of the gradients, and the optimizer. Forward and backward are mostly sleep, so that several ranks fit on two cores. A slow rank computes
longer, like a rank on a throttled GPU.

CONTROL is a JSON file that is replaced atomically, e.g. {"slow": {"2": 0.3}, "stop": true}. It is read before each step:
    slow     {rank: share}: forward and backward of this rank take longer by this share ("all": on every rank)
    absent   rank: never enters its next collective (hangs in forward)
    stuck    rank: enters a collective that no other rank enters
    stop     all ranks end at the same step boundary
"""
import argparse
import json
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.distributed as dist

try:
    import pitwall
except ImportError:
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "python", "src"))
    import pitwall

FORWARD_SECONDS = 0.025
BACKWARD_SECONDS = 0.05
NAP = 3600


class Control:
    """The active faults as of the last change to the control file."""

    def __init__(self, path):
        self._path = path
        self._seen = None
        self._now = {}

    def read(self):
        try:
            changed = os.stat(self._path).st_mtime_ns
            if changed != self._seen:
                with open(self._path, encoding="utf-8") as text:
                    self._now = json.load(text)
                self._seen = changed
        except FileNotFoundError:
            pass
        return self._now


class Compute:
    """Extends a block to the given duration, increased by the share `slow`."""

    def __init__(self, seconds, slow):
        self._seconds = seconds * (1 + slow)

    def __enter__(self):
        self._end = time.perf_counter() + self._seconds

    def __exit__(self, *_):
        rest = self._end - time.perf_counter()
        if rest > 0:
            time.sleep(rest)


def all_reduce_gradients(model, world):
    flat = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
    dist.all_reduce(flat)
    flat /= world
    at = 0
    for p in model.parameters():
        p.grad.copy_(flat[at:at + p.numel()].view_as(p))
        at += p.numel()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("control")
    options.add_argument("--steps", type=int, default=100000)
    options = options.parse_args()
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    everyone_again = dist.new_group(list(range(world)))
    pitwall.init()
    pitwall.watch_collectives()
    control = Control(options.control)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(100 + rank)
    truth = torch.randn(32, 8, generator=torch.Generator().manual_seed(7))
    print("ready", flush=True)
    for number in range(options.steps):
        now = control.read()
        slow = now.get("slow", {})
        slow = slow.get("all", slow.get(str(rank), 0.0))
        # All ranks must leave at the same step, so rank 0 broadcasts the decision.
        leave = torch.tensor([1.0 if rank == 0 and now.get("stop") else 0.0])
        dist.broadcast(leave, 0)
        if leave.item():
            break
        with pitwall.step():
            x = torch.randn(16, 32, generator=generator)
            with pitwall.phase("forward"), Compute(FORWARD_SECONDS, slow):
                if now.get("absent") == rank:
                    time.sleep(NAP)
                loss = torch.nn.functional.mse_loss(model(x), x @ truth)
            with pitwall.phase("backward"), Compute(BACKWARD_SECONDS, slow):
                optimizer.zero_grad()
                loss.backward()
            if now.get("stuck") == rank:
                dist.barrier(everyone_again)
            try:
                all_reduce_gradients(model, world)
            except RuntimeError as gone:  # waits, as under an elastic agent, until it is killed
                print("lost another rank: %s" % gone, flush=True)
                time.sleep(NAP)
            with pitwall.phase("optimizer"):
                optimizer.step()
            pitwall.log(loss=loss.item())
        if rank == 0:
            print("step", number, flush=True)
    pitwall.finish()
    print("done", flush=True)


if __name__ == "__main__":
    main()
