"""Cost of a training step with the client, by part: `python3 clients/python/tests/bench/bench_step.py [--sources DIR]`.

Each row adds one part of the client to the previous row. A step is a real step of a small PyTorch model. The rows take turns, one block of steps
each, so other load on the machine affects all of them. A step's time is the CPU time of the training thread. The results are the mean of the fastest
fifth of all steps, and the median, because contention for caches and cores can only increase the time. Steps that save or compute a norm are not
among the fastest. Their cost is reported separately, as the mean of their own fastest fifth. The client's own thread is timed separately, and only
the best third of its blocks counts.

--sources: the `src` of another version, or a directory written by native_build.py, to compare two versions.
"""
import argparse
import os
import statistics
import sys
import time

from bench_sink import Sink

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = 25


class Training:
    """A training run with the given parts of the client. A step takes about step_ms on this machine."""

    def __init__(self, pitwall, torch, width, rows, parts):
        self._pitwall, self._parts = pitwall, parts
        self.cpu = []
        self._torch = torch
        torch.manual_seed(0)
        nn = torch.nn
        self._model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
        self._batch = torch.randn(rows, width), torch.randint(0, 10, (rows,))
        self._loss = nn.CrossEntropyLoss()
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=0.01)
        if "watch" in parts:
            pitwall.watch(self._model, self._optimizer, self._loss, every=0 if "save" not in parts else 500,
                          grad_norm_every=10 if "norm" in parts else 0)

    def block(self, count):
        """Trains for this number of steps. Returns the CPU seconds of this thread for each step."""
        pitwall = self._pitwall
        loader = [self._batch] * count
        clock, seconds = time.thread_time_ns, []
        if "steps" in self._parts:
            loader = pitwall.steps(loader)
        begin = clock()
        if "phases" in self._parts:
            for data, labels in loader:
                self._optimizer.zero_grad()
                with pitwall.phase("forward"):
                    loss = self._loss(self._model(data), labels)
                with pitwall.phase("backward"):
                    loss.backward()
                with pitwall.phase("optimizer"):
                    self._optimizer.step()
                pitwall.log(loss=0.5, learning_rate=0.1)
                end = clock()
                seconds.append((end - begin) / 1e9)
                begin = end
        else:
            for data, labels in loader:
                self._optimizer.zero_grad()
                self._loss(self._model(data), labels).backward()
                self._optimizer.step()
                end = clock()
                seconds.append((end - begin) / 1e9)
                begin = end
        return seconds


ROWS = (("plain", ()), ("steps()", ("steps",)), ("+ 3 phases and log()", ("steps", "phases")),
        ("steps() and watch(), no norm", ("steps", "watch")), ("+ the norm every 10 steps", ("steps", "watch", "norm")))


def best(values, share=1 / 3):
    return statistics.mean(sorted(values)[:max(1, int(len(values) * share))])


def measure(pitwall, torch, width, rows, blocks):
    trainings = [Training(pitwall, torch, width, rows, parts) for _, parts in ROWS]
    clock = time.pthread_getcpuclockid(pitwall._client.client.sender._thread.ident)
    sender = [[] for _ in ROWS]
    for training in trainings:
        training.block(BLOCK)
    for turn in range(blocks):
        order = range(len(ROWS)) if turn % 2 else reversed(range(len(ROWS)))
        for place in order:
            time.sleep(0.15)  # drains the previous row
            before = time.clock_gettime(clock)
            trainings[place].cpu.append(trainings[place].block(BLOCK))
            time.sleep(0.15)
            sender[place].append((time.clock_gettime(clock) - before) / BLOCK)
    steps = [[seconds for block in training.cpu for seconds in block] for training in trainings]
    plain, middle, idle = best(steps[0], 0.2), statistics.median(steps[0]), best(sender[0])
    print("a step of %.2f ms (median %.2f ms)" % (plain * 1e3, middle * 1e3))
    for place, (name, parts) in enumerate(ROWS):
        own, client = best(steps[place], 0.2) - plain, best(sender[place]) - idle
        seldom = ""
        if "norm" in parts:  # every tenth step, regardless of the first step's position in its block
            tenths = [[s for block in trainings[place].cpu for s in block[first::10]] for first in range(10)]
            extra = max(best(tenth, 0.2) for tenth in tenths) - best(steps[place], 0.2)
            seldom = ", and %.0f us at a step with a norm" % (extra * 1e6)
            own += extra / 10
        print("  %-30s %6.1f us in the training thread (by medians %6.1f us%s), %5.1f us in the client's: %+5.2f%%"
              % (name, own * 1e6, (statistics.median(steps[place]) - middle) * 1e6, seldom, client * 1e6, (own + client) / plain * 100))
    return plain


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sources", default=os.path.join(TESTS, "..", "src"))
    options.add_argument("--blocks", type=int, default=30)
    options = options.parse_args()
    sys.path.insert(0, options.sources)
    import pitwall
    import torch
    torch.set_num_threads(1)
    sink = Sink()
    sink.connect(pitwall)
    for width, rows in ((64, 32), (512, 256)):
        measure(pitwall, torch, width, rows, options.blocks)
    sink.close(pitwall)


if __name__ == "__main__":
    sys.exit(main())
