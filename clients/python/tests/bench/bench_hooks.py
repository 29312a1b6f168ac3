"""Cost of pitwall.watch() per training step: `python3 clients/python/tests/bench/bench_hooks.py [--steps N] [--model mlp|cnn]`.

Three copies of a small real model train in turn, one step each, on the same data: one copy without hooks, one watched with the default settings, and
one that saves its tensors on every step. The copies are otherwise identical, so other load on the machine affects all of them. The ratio is computed
from medians and assumes the default of one saved step in 500: (499 watched + 1 saved) / 500 plain. Wall time shows the cost that a user observes on a
quiet machine. CPU time shows the cost of the hooks on any machine. It is measured in the training thread and, for a watched step, also in the
client's own thread. The goal is a ratio of 1.02. The exit status is 1 if the ratio exceeds 1.25, which cannot be noise.
"""
import argparse
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src"))
import pitwall  # noqa: E402
from bench_sink import Sink  # noqa: E402
from pitwall._client import client  # noqa: E402

EVERY = 500  # default of watch()
LIMIT = 1.25
WARM_UP = 10


def _model(torch, kind):
    nn = torch.nn
    if kind == "mlp":
        model = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
        return model, (torch.randn(256, 784), torch.randint(0, 10, (256,)))
    layers, channels = [], 3
    for wide in (32, 32, 64, 64, 128, 128):
        layers += [nn.Conv2d(channels, wide, 3, padding=1, stride=1 + (wide > channels > 3)), nn.BatchNorm2d(wide),
                   nn.ReLU()]
        channels = wide
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))
    return model, (torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,)))


class Runner:
    """One copy of the model. It is trained one step at a time."""

    def __init__(self, torch, kind):
        torch.manual_seed(0)
        self.model, self.batch = _model(torch, kind)
        self.loss = torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.wall, self.cpu = [], []

    def step(self):
        wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
        self.optimizer.zero_grad()
        self.loss(self.model(self.batch[0]), self.batch[1]).backward()
        self.optimizer.step()
        self.cpu.append((time.thread_time_ns() - cpu) / 1e3)
        self.wall.append((time.perf_counter_ns() - wall) / 1e3)


def _sender_cpu(runner, steps):
    """Returns the CPU time, in microseconds, that the client's own thread uses for a watched step without a save."""
    clock = time.pthread_getcpuclockid(client.sender._thread.ident)
    time.sleep(0.5)  # drains earlier data
    begin = time.clock_gettime(clock)
    for _ in range(steps):
        runner.step()
    time.sleep(0.3)
    return (time.clock_gettime(clock) - begin) / steps * 1e6


def measure(torch, kind, steps):
    plain, watched, saving = (Runner(torch, kind) for _ in range(3))
    pitwall.watch(watched.model, watched.optimizer, watched.loss)
    pitwall.watch(saving.model, saving.optimizer, saving.loss, every=1)
    for _ in range(WARM_UP):
        plain.step()
        watched.step()
    sender = _sender_cpu(watched, WARM_UP)
    for runner in (plain, watched):
        runner.wall, runner.cpu = [], []
    for number in range(steps):
        for runner in (plain, watched) if number % 2 else (watched, plain):  # neither copy always runs after the saving copy
            runner.step()
        if number % 5 == 0:
            saving.step()
    print("%s, %d parameters" % (kind, sum(p.numel() for p in plain.model.parameters())))
    for name, extra in (("wall", 0), ("cpu", sender)):
        times = [statistics.median(getattr(runner, name)) for runner in (plain, watched, saving)]
        ratio = ((EVERY - 1) * times[1] + times[2] + EVERY * extra) / EVERY / times[0]
        print("  %-4s %8.0f us per step, %8.0f watched, %8.0f saved%s: ratio %.3f"
              % ((name,) + tuple(times) + (", %.0f in the client's thread" % extra if extra else "", ratio)))
    return ratio


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--steps", type=int, default=100)
    options.add_argument("--model", choices=("mlp", "cnn"), action="append")
    options = options.parse_args()
    try:
        import torch
    except ImportError as missing:
        print("PyTorch is not installed: %s" % missing)
        return 2
    torch.set_num_threads(1)  # with two threads, the result would depend on the machine's load
    print("PyTorch %s, %d threads, Python %s" % (torch.__version__, torch.get_num_threads(), sys.version.split()[0]))
    sink = Sink()
    sink.connect(pitwall)
    worst = max(measure(torch, kind, options.steps) for kind in options.model or ("mlp", "cnn"))
    sink.close(pitwall)
    if worst > LIMIT:
        print("FAILED: a watched step takes more than %.2f times a plain one" % LIMIT)
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
