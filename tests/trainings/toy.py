#!/usr/bin/env python3
"""A small real training run with at most one fault.

toy.py FAULT [--steps N] [--step-seconds S]

    none            healthy: fresh data in each step; the loss falls to the level of the label noise
    vanishing       a deep branch of sigmoids next to a shallow one that learns: no gradient reaches the first layers of the deep one
    exploding       a learning rate that is far too high from step 700 on: the loss overflows
    overfit         64 noisy samples and a model that can memorize them
    overtraining    20 epochs of a problem that is solved after the first one
    flat            a learning rate so small that the model does not learn

The script evaluates on other data every 250 steps. Each step has a minimum duration, so that evaluations are seconds apart, as in real training runs.
"""
import argparse
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

try:
    import pitwall
except ImportError:
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "python", "src"))
    import pitwall

FEATURES = 16
BATCH = 64
EVALUATE_EVERY = 250
FAULTS = ("none", "vanishing", "exploding", "overfit", "overtraining", "flat")


class Deep(torch.nn.Module):
    """A network with a shallow branch and a deep branch of sigmoids. The first layers of the deep branch do not receive a gradient."""

    def __init__(self):
        super().__init__()
        self.shallow = torch.nn.Sequential(torch.nn.Linear(FEATURES, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
        layers = []
        for _ in range(12):
            layers += [torch.nn.Linear(FEATURES, FEATURES), torch.nn.Sigmoid()]
        self.deep = torch.nn.Sequential(*layers, torch.nn.Linear(FEATURES, 1))

    def forward(self, x):
        return self.shallow(x) + self.deep(x)


class Problem:
    """Data with y = f(x) + noise, where f is a fixed random network or a linear function."""

    def __init__(self, noise, linear=False):
        generator = torch.Generator().manual_seed(3)
        self._inner = torch.randn(FEATURES, 8, generator=generator) / FEATURES ** 0.5
        self._outer = torch.randn(8, 1, generator=generator)
        self._noise = noise
        self._linear = linear
        self._generator = torch.Generator().manual_seed(5)

    def sample(self, count):
        x = torch.randn(count, FEATURES, generator=self._generator)
        inner = x @ self._inner
        y = (inner if self._linear else torch.tanh(2 * inner)) @ self._outer
        return x, y + self._noise * torch.randn(count, 1, generator=self._generator)


def model_of(fault):
    if fault == "vanishing":
        return Deep()
    if fault == "overtraining":
        return torch.nn.Sequential(torch.nn.Linear(FEATURES, 1))
    width = 256 if fault == "overfit" else 64
    return torch.nn.Sequential(torch.nn.Linear(FEATURES, width), torch.nn.ReLU(), torch.nn.Linear(width, width),
                               torch.nn.ReLU(), torch.nn.Linear(width, 1))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("fault", choices=FAULTS)
    options.add_argument("--steps", type=int, default=2200)
    options.add_argument("--step-seconds", type=float, default=0.01)
    options = options.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    fault = options.fault
    problem = Problem(noise=1.0 if fault == "overfit" else 0.3, linear=fault == "overtraining")
    model = model_of(fault)
    rate = {"flat": 1e-9, "overtraining": 0.02, "overfit": 3e-4}.get(fault, 1e-3)
    # Plain SGD, because Adam would hide a learning rate that is too high.
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02) if fault == "exploding" else torch.optim.Adam(
        model.parameters(), lr=rate)
    loss_of = torch.nn.MSELoss()
    pitwall.init(job=fault)
    pitwall.watch(model, optimizer=optimizer, loss=loss_of)
    memorized = problem.sample(64)
    unseen = problem.sample(512)
    for number in range(options.steps):
        end = time.perf_counter() + options.step_seconds
        with pitwall.step():
            model.train()
            if fault == "exploding" and number == 700:
                for group in optimizer.param_groups:
                    group["lr"] = 5.0
            x, y = memorized if fault == "overfit" else problem.sample(BATCH)
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            rest = end - time.perf_counter()
            if rest > 0:
                time.sleep(rest)
        if number % EVALUATE_EVERY == EVALUATE_EVERY - 1:
            model.eval()
            with pitwall.mode("eval"), pitwall.step(), torch.no_grad():
                loss_of(model(unseen[0]), unseen[1])
    pitwall.finish()
    print("done", flush=True)


if __name__ == "__main__":
    main()
