"""Breakdown of the cost of a watched step in the training thread: `python3 clients/python/tests/bench/bench_where.py [--sources DIR]`.

Each row adds one part to the previous row: `steps()`; hooks of the model, the loss, and the optimizer that do nothing; the same hooks as the client's
Hook objects; and all work of `watch()` in a typical step, without a save or a norm. The method is the same as in bench_share.py: CPU time,
alternating training runs in both orders, only the turns in which the machine was fastest, and trimmed means (10% at each end) with 95% confidence
intervals.
"""
import argparse
import os
import sys

import bench_share
from bench_sink import Sink

ROWS = ("steps()", "+ hooks that do nothing", "+ as our Hook objects", "+ watch()")


def nothing(*_):
    return None


def training(pitwall, torch, row):
    from pitwall.pytorch import _hook, _optimizer_hooks
    made = bench_share.Training(pitwall, torch, ("steps",))
    if row == ROWS[3]:
        pitwall.watch(made._model, made._optimizer, made._loss, every=0, grad_norm_every=0)
    elif row != ROWS[0]:
        hook = nothing if row == ROWS[1] else _hook.Hook(nothing)
        made._model.register_forward_pre_hook(hook, with_kwargs=True)
        made._model.register_forward_hook(hook)
        made._loss.register_forward_hook(hook)
        _optimizer_hooks.hook_step(made._optimizer, hook, hook)
    return made


def measure(pitwall, torch, milliseconds, quads):
    plain = bench_share.Training(pitwall, torch, ())
    trainings = [plain] + [training(pitwall, torch, row) for row in ROWS]
    for _ in range(40):
        for one in trainings:
            one.step()
    small = bench_share.Estimate([plain.step() for _ in range(100)]).mean
    work = bench_share.Work(torch, milliseconds / 1e3 - small)

    def timed(one):
        work()
        return one.step()
    turns = []
    for _ in range(quads):
        pace = bench_share._pace()
        there = [timed(one) for one in trainings]
        back = [timed(one) for one in reversed(trainings)][::-1]
        turns.append((pace + bench_share._pace(), there, back))
    turns = bench_share._fastest(turns, 50)
    for place, row in enumerate(ROWS, 1):
        extra = [taken[place] - (there[0] + back[0]) / 2 for _, there, back in turns for taken in (there, back)]
        print("%-26s %4.1f ms: %s us in the training thread" % (row, milliseconds, bench_share.Estimate(extra)), flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sources", default=os.path.join(bench_share.TESTS, "..", "src"))
    options.add_argument("--ms", type=float, nargs="+", default=[0.6, 10])
    options.add_argument("--quads", type=int, default=1000)
    options = options.parse_args()
    sys.path.insert(0, options.sources)
    import pitwall
    import torch
    torch.set_num_threads(1)
    sink = Sink()
    sink.connect(pitwall)
    print("PyTorch %s, load %.1f" % (torch.__version__, os.getloadavg()[0]))
    for milliseconds in options.ms:
        measure(pitwall, torch, milliseconds, options.quads)
    sink.close(pitwall)


if __name__ == "__main__":
    main()
