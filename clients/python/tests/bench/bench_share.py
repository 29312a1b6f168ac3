"""The client's share of a training step, including its own thread: `python3 clients/python/tests/bench/bench_share.py`.

Goals: 2% of a 10 ms step, and 50 us per step in the training thread. The benchmark also works on a loaded machine, because everything except the
wait is the CPU time of one thread. A training run with the client and one without take turns (A B B A) in one process.

A step consists of a small real step in PyTorch, plus work that extends it to the requested length and pollutes the caches like a large model. The
clock only runs during the small step, which contains all calls to the client, because the variance of the other work would hide their cost. A Python
loop before each turn measures the machine's current speed. Only the fastest third of the turns counts, because shared cores slow down all work. The
results are trimmed means (10% at each end) with 95% confidence intervals. Steps with a norm and steps that save are reported separately and weighted
by their frequency. The client's thread is timed separately. *Wait* is the time in which the training thread does not run (wall minus CPU time) while
the client thread is busy, minus the same time while the client thread is idle. The wait includes time spent waiting for the interpreter lock or a
core, so it is only meaningful on a quiet machine.

--sources: the `src` of another version, or a directory written by native_build.py.
--check: one short row, and exit status 1 if the result is far above the goals.
"""
import argparse
import math
import os
import sys
import time

from bench_sink import Sink

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NORM_EVERY, SAVE_EVERY = 10, 500  # defaults of watch()
LIMIT_US, LIMIT_SHARE = 800, 0.15  # limits of --check; the Python implementation had 450 us and 6% at a load of 9


class Estimate:
    """Trimmed mean (10% at each end) and its 95% confidence interval."""

    def __init__(self, values, trim=0.1):
        values = sorted(values)
        cut = int(len(values) * trim)
        kept = values[cut:len(values) - cut]
        self.mean = sum(kept) / len(kept)
        inner = [min(max(v, kept[0]), kept[-1]) for v in values]  # trimmed values are clamped to the remaining range
        middle = sum(inner) / len(inner)
        spread = math.sqrt(sum((v - middle) ** 2 for v in inner) / max(1, len(inner) - 1))
        self.off = 1.96 * spread / ((1 - 2 * trim) * math.sqrt(len(values)))

    def __str__(self):
        return "%6.1f ± %-4.1f" % (self.mean * 1e6, self.off * 1e6)


def _pace():
    """Returns the CPU seconds that a fixed piece of Python code takes, as a measure of the machine's current speed."""
    begin = time.thread_time_ns()
    table = {}
    for number in range(600):
        table[number % 61] = (number, str(number))
    return (time.thread_time_ns() - begin) / 1e9


def _fastest(turns, least=12):
    """Returns the turns (pace, …) in the fastest third, but not fewer than `least`."""
    turns = sorted(turns, key=lambda turn: turn[0])
    return turns[:max(least, len(turns) // 3)]


class Work:
    """PyTorch work that takes the requested CPU time and touches more memory than fits in a core's cache."""

    def __init__(self, torch, seconds):
        self._torch, self._left, self._right = torch, torch.randn(128, 128), torch.randn(128, 128)
        self._memory = torch.zeros(1 << 20)
        self._turns = 0
        for guess in (16, None, None, None) if seconds > 0 else ():
            self._turns = guess or max(1, round(self._turns * seconds / self._median()))

    def _median(self):
        taken = []
        for _ in range(9):
            begin = time.thread_time()
            self()
            taken.append(time.thread_time() - begin)
        return sorted(taken)[4]

    def __call__(self):
        if self._turns:
            for turn in range(self._turns):
                self._torch.mm(self._left, self._right)
            self._memory.add_(1.0)


class Training:
    """parts: the parts of the client to enable."""

    def __init__(self, pitwall, torch, parts, save_every=SAVE_EVERY):
        self._pitwall, self._phases = pitwall, "phases" in parts
        torch.manual_seed(0)
        nn = torch.nn
        self._model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
        batch = torch.randn(32, 64), torch.randint(0, 10, (32,))
        self._loss = nn.CrossEntropyLoss()
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=0.01)
        if "watch" in parts:
            pitwall.watch(self._model, self._optimizer, self._loss, every=save_every, grad_norm_every=NORM_EVERY)

        def loader():
            while True:
                yield batch
        self._batches = iter(pitwall.steps(loader()) if parts else loader())
        self.number = -1  # number of the last step

    def step(self):
        """Runs a step and returns the CPU seconds of this thread."""
        begin = time.thread_time_ns()
        if self._phases:
            phase = self._pitwall.phase
            data, labels = next(self._batches)
            self._optimizer.zero_grad()
            with phase("forward"):
                loss = self._loss(self._model(data), labels)
            with phase("backward"):
                loss.backward()
            with phase("optimizer"):
                self._optimizer.step()
            self._pitwall.log(loss=0.5, learning_rate=0.1)
        else:
            data, labels = next(self._batches)
            self._optimizer.zero_grad()
            self._loss(self._model(data), labels).backward()
            self._optimizer.step()
        taken = time.thread_time_ns() - begin
        self.number += 1
        return taken / 1e9


ROWS = (("steps()", ("steps",)), ("steps(), 3 phases, log()", ("steps", "phases")), ("steps(), watch()", ("steps", "watch")))


class Share:
    """One row of the table, for one step length."""

    def __init__(self, pitwall, torch, parts, milliseconds, quads, blocks):
        self._clock = time.pthread_getcpuclockid(pitwall._client.client.sender._thread.ident)
        self._plain, self._with = Training(pitwall, torch, ()), Training(pitwall, torch, parts)
        for _ in range(30):
            self._plain.step()
            self._with.step()
        small = Estimate([self._plain.step() for _ in range(100)]).mean
        self._work = Work(torch, milliseconds / 1e3 - small)
        self.step = milliseconds / 1e3
        usual, norms = self._in_turn(quads)
        self.usual, self.norm = Estimate(usual), Estimate(norms) if norms and "watch" in parts else None
        self.saved = self._saving(pitwall, torch, parts) if "watch" in parts else None
        self.client, self.wait = self._blocks(blocks, max(20, int(0.3 / self.step)))
        self.training = self.usual.mean
        self.off = self.usual.off
        if self.norm:
            share = 1 / NORM_EVERY
            self.training = (1 - share) * self.usual.mean + share * self.norm.mean + self.saved / SAVE_EVERY
            self.off = math.hypot((1 - share) * self.usual.off, share * self.norm.off)

    def _timed(self, training):
        self._work()
        return training.step()

    def _in_turn(self, quads):
        """Returns the differences in the training thread for plain steps and for steps with a norm. Excludes steps that save."""
        turns = []
        for _ in range(quads):
            pace = _pace()
            before, first, number = self._timed(self._plain), self._timed(self._with), self._with.number
            second, after = self._timed(self._with), self._timed(self._plain)
            turns.append((pace + _pace(), (before + after) / 2, (number, first), (number + 1, second)))
        kinds = {}
        turns = _fastest(turns, 50)
        for _, plain, *both in turns:
            for number, taken in both:
                kind = "saved" if number % SAVE_EVERY == 0 else "norm" if number % NORM_EVERY == 0 else "usual"
                kinds.setdefault(kind, []).append(taken - plain)
        self.plain = Estimate([turn[1] for turn in turns])
        return kinds["usual"], kinds.get("norm")

    def _saving(self, pitwall, torch, parts):
        saving, turns = Training(pitwall, torch, parts, 1), []
        for _ in range(60):
            turns.append((_pace(), self._timed(saving), self._timed(self._plain)))
        return Estimate([taken - plain for _, taken, plain in _fastest(turns)]).mean

    def _blocks(self, blocks, steps):
        """Returns (CPU time of the client's thread per step, additional wait of the training thread), measured in alternating blocks."""
        turns = []
        for _ in range(blocks):
            found, pace = [], _pace()
            for training in (self._plain, self._with):
                time.sleep(0.15)  # drains the previous block
                own, cpu, wall = time.clock_gettime(self._clock), time.thread_time(), time.perf_counter()
                for _ in range(steps):
                    self._timed(training)
                cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
                if training is self._with:
                    time.sleep(0.12)  # drains data in flight
                found.append(((time.clock_gettime(self._clock) - own) / steps, (wall - cpu) / steps))
            turns.append((pace + _pace(), found[1][0], found[1][1] - found[0][1]))
        turns = _fastest(turns)
        return Estimate([turn[1] for turn in turns]), Estimate([turn[2] for turn in turns])


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sources", default=os.path.join(TESTS, "..", "src"))
    options.add_argument("--ms", type=float, nargs="+", default=[0.6, 10, 13])
    options.add_argument("--rows", type=int, nargs="+", default=[0, 1, 2])
    options.add_argument("--quads", type=int, default=300)
    options.add_argument("--blocks", type=int, default=30, help="number of blocks for the client's thread and the wait")
    options.add_argument("--check", action="store_true")
    options = options.parse_args()
    if options.check:
        options.ms, options.rows, options.quads, options.blocks = [10], [2], 50, 6
    sys.path.insert(0, options.sources)
    import pitwall
    import torch
    torch.set_num_threads(1)
    sink = Sink()
    sink.connect(pitwall)
    print("PyTorch %s, Python %s, load %.1f; microseconds per step, and the share of both threads"
          % (torch.__version__, sys.version.split()[0], os.getloadavg()[0]))
    good = True
    for row in options.rows:
        name, parts = ROWS[row]
        for milliseconds in options.ms:
            found = Share(pitwall, torch, parts, milliseconds, options.quads, options.blocks)
            both = found.training + found.client.mean
            extra = "" if not found.norm else ", usual %s, norm %s, saves %.0f" % (found.usual, found.norm, found.saved * 1e6)
            print("%-26s %4.1f ms: training thread %6.1f ± %-4.1f, client's %s: %5.2f ± %.2f%%; wait %s (the small step is %s%s)"
                  % (name, milliseconds, found.training * 1e6, found.off * 1e6, found.client, both / found.step * 100,
                     math.hypot(found.off, found.client.off) / found.step * 100, found.wait, found.plain, extra), flush=True)
            good = good and found.training * 1e6 < LIMIT_US and both / found.step < LIMIT_SHARE
    sink.close(pitwall)
    if options.check and not good:
        print("FAILED: above %d us per step in the training thread, or %.0f%% of the step in both" % (LIMIT_US, LIMIT_SHARE * 100))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
