#!/usr/bin/env python3
"""One rank of a real training run with DistributedDataParallel over gloo, watched by pitwall.watch(). One rank can be slowed down in a selected part
of the step.

ddp.py CONTROL [--steps N]

Rank, world size, and rendezvous address are read from the environment, as under torchrun. CONTROL is a JSON file that is replaced atomically, e.g.
{"rank": 1, "where": "forward", "seconds": 0.03}. It is read before each step. where: gap, dataloader, forward, backward, or optimizer. A step takes
about 100 ms, mostly sleep, so that several ranks fit on two cores.
"""
import argparse
import json
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.distributed as distributed

try:
    import pitwall
except ImportError:
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "python", "src"))
    import pitwall

from timed_net import timed

SECONDS = {"gap": 0, "dataloader": 0.01, "forward": 0.03, "backward": 0.05, "optimizer": 0.01}
RANK = int(os.environ["RANK"])


class Work:
    """Duration of each part of a step, and this rank's delay as of the last change to the control file."""

    def __init__(self, path):
        self._path = path
        self._seen = None
        self._lost = {}

    def read(self):
        try:
            changed = os.stat(self._path).st_mtime_ns
            if changed != self._seen:
                with open(self._path, encoding="utf-8") as text:
                    now = json.load(text)
                self._lost = {now["where"]: now["seconds"]} if now["rank"] == RANK else {}
                self._seen = changed
        except FileNotFoundError:
            pass

    def do(self, part):
        time.sleep(SECONDS[part] + self._lost.get(part, 0))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("control")
    options.add_argument("--steps", type=int, default=100000)
    options = options.parse_args()
    work = Work(options.control)
    Net, Optimizer = timed(work.do)

    def batches():
        generator = torch.Generator().manual_seed(100 + RANK)
        for _ in range(options.steps):
            work.read()
            work.do("dataloader")
            yield torch.randn(16, 32, generator=generator)

    torch.set_num_threads(1)
    torch.manual_seed(1)
    distributed.init_process_group("gloo")
    pitwall.init()
    model = torch.nn.parallel.DistributedDataParallel(Net())
    loss_of = torch.nn.MSELoss()
    optimizer = Optimizer(model.parameters(), lr=0.05)
    truth = torch.randn(32, 8, generator=torch.Generator().manual_seed(7))
    pitwall.watch(model, optimizer, loss_of)
    print("ready", flush=True)
    for number, x in enumerate(pitwall.steps(batches())):
        work.do("gap")
        optimizer.zero_grad()
        loss_of(model(x), x @ truth).backward()
        optimizer.step()
        print("step", number, flush=True)
    pitwall.finish()
    print("done", flush=True)


if __name__ == "__main__":
    main()
