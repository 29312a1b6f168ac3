"""Training script for one rank of a cell: DistributedDataParallel over gloo, watched by pitwall.watch(), with at most one fault.

train(cell) is called in its own process. Rank, world size, and rendezvous address are read from the environment, as under torchrun. A step takes
about 100 ms, mostly sleep, so that several ranks fit on two cores. cells.py documents the fields of a cell.
"""
import math
import os
import signal
import sys
import time

import torch
import torch.distributed as distributed

import pitwall
from timed_net import timed

STEP = {"gap": 0, "dataloader": 0.01, "forward": 0.03, "backward": 0.05, "optimizer": 0.01}
STEP_SECONDS = sum(STEP.values())
NAP = 3600


class Fault:
    """The fault of this rank and the step at which it starts."""

    def __init__(self, cell, rank):
        self.kind = cell["fault"]
        self.where = cell.get("where")
        self.ratio = cell.get("ratio", 1.0)
        self.pace = cell.get("pace", 1)
        self.culprit = cell.get("rank")
        self.mine = self.culprit in (None, rank)
        self.begins = cell["at"]
        self.step = -1
        self.leaked = []

    def begin_step(self, number):
        self.step = number
        if number == self.begins and self.kind != "none" and (self.mine and self.culprit is not None or int(os.environ["RANK"]) == 0):
            print("fault %.6f %d" % (time.time(), number), flush=True)

    def is_now(self, *kinds):
        return self.kind in kinds and self.step >= self.begins and self.mine

    def begins_now(self, *kinds):
        return self.kind in kinds and self.step == self.begins and self.mine

    def do(self, part):
        """Simulates the work of one part of a step, and the fault if it is due."""
        lost = 0
        if self.is_now("slow") and part == self.where:
            lost = (self.ratio - 1) * STEP_SECONDS
        if self.is_now("data_stall") and part == "dataloader":
            lost = STEP_SECONDS
        time.sleep((STEP[part] + lost) * self.pace)
        if part == self.where and self.begins_now("sleep"):
            time.sleep(NAP)
        if part == "forward" and self.begins_now("signal"):
            self._signal()
        if part == "forward" and self.begins_now("exception"):
            raise RuntimeError("requested by the test")
        if part == "forward" and self.begins_now("exit"):
            os._exit(self.ratio)

    def _signal(self):
        number = getattr(signal, self.where)
        if self.culprit is None:  # rank 0 signals all ranks, like a scheduler
            with open(os.environ["CELL_PIDS"]) as pids:
                others = [int(word) for word in pids.read().split()]
            if int(os.environ["RANK"]) == 0:
                for pid in sorted(others, key=lambda pid: pid == os.getpid()):  # the own process last
                    os.kill(pid, number)
            time.sleep(NAP)
        os.kill(os.getpid(), number)
        time.sleep(1)


def join_group():
    """Joins the cgroup in which the rank must run out of memory."""
    with open(os.path.join(os.environ["CELL_GROUP"], "cgroup.procs"), "w") as procs:
        procs.write(str(os.getpid()))


def allocate(megabytes):
    held = []
    while len(held) < megabytes:
        held.append(b"x" * (1 << 20))
    return held


def learning_rate(cell, fault):
    """Returns the learning rate. With the fault rate_ramp, it grows by a tenth per step up to a level at which this model still learns."""
    steps = fault.step - fault.begins
    return 0.01 * min(1.1 ** steps, 20) if fault.is_now("rate_ramp") else 0.01


def evaluate(model, loss_of, x, y, seconds):
    """Evaluates on a single rank, without declaring a phase, while the other ranks wait in their collective."""
    end = time.monotonic() + seconds
    model.eval()
    with torch.no_grad():
        while time.monotonic() < end:
            loss_of(model(x), y)
    model.train()


def train(cell):
    rank = int(os.environ["RANK"])
    fault = Fault(cell, rank)
    work = fault.do
    Net, Optimizer = timed(work)

    def batches():
        generator = torch.Generator().manual_seed(100 + rank)
        for number in range(cell["steps"]):
            fault.begin_step(number)
            work("dataloader")
            yield torch.randn(64, 32, generator=generator)

    torch.set_num_threads(1)
    torch.manual_seed(1)
    if fault.kind == "memory" and fault.mine:
        join_group()
    distributed.init_process_group("gloo")
    everyone = distributed.new_group(list(range(cell["world"])))
    pitwall.init()
    model = torch.nn.parallel.DistributedDataParallel(Net())
    loss_of = torch.nn.MSELoss()
    optimizer = Optimizer(model.parameters(), lr=0.01)
    noise = torch.Generator().manual_seed(900 + rank)
    truth = torch.randn(32, 8, generator=torch.Generator().manual_seed(7)) / 32 ** 0.5
    sparse = cell.get("every", 1)
    pitwall.watch(model, optimizer, loss_of)
    print("ready", flush=True)
    for number, x in enumerate(pitwall.steps(batches())):
        work("gap")
        y = x @ truth + 0.3 * torch.randn(64, 8, generator=noise)
        if fault.begins_now("nan"):
            x[0, 0] = math.nan
        if fault.is_now("raised"):  # adds label noise from which the model cannot learn
            y = y + 2 * torch.randn(64, 8, generator=noise)
        if fault.kind == "rate_ramp":
            optimizer.param_groups[0]["lr"] = learning_rate(cell, fault)
        if fault.begins_now("evaluation"):
            evaluate(model.module, loss_of, x, y, fault.ratio)
        if fault.begins_now("stop"):
            os.kill(os.getpid(), signal.SIGSTOP)
        if fault.begins_now("memory"):
            allocate(1 << 20)
        if fault.is_now("leak"):
            fault.leaked += allocate(int(fault.ratio))
        if fault.begins_now("skip"):  # enters a collective of another group, which the other ranks do not enter
            distributed.barrier(everyone)
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
        if cell.get("pauses") and number % 100 == 99:
            with pitwall.phase("eval"):
                time.sleep(1)
            with pitwall.phase("checkpoint"):
                time.sleep(0.5)
        if number % (10 * sparse) == 0:
            print("step", number, flush=True)
    pitwall.finish()
    print("done", flush=True)


def main(cell):
    """Runs the rank and returns its exit status. Reports exceptions as the interpreter does."""
    try:
        train(cell)
        return 0
    except SystemExit as end:
        return end.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
