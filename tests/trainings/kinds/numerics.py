"""Numerics for the steps of a toy training run. Each function in KINDS builds a model and returns a function that runs one step.

rank, world: the rank and world size of this process; with several ranks, the model is wrapped in DistributedDataParallel. pace: sleep time per step
in seconds.
"""
import math
import time

import torch

import pitwall


class Net(torch.nn.Module):
    """Two layers with a sleep in between that simulates a kernel."""

    def __init__(self, pace, inputs=16, outputs=4):
        super().__init__()
        self.first, self.last = torch.nn.Linear(inputs, 32), torch.nn.Linear(32, outputs)
        self.pace = pace

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        if self.training:
            time.sleep(self.pace)
        return self.last(hidden)


def distribute(model, world):
    return torch.nn.parallel.DistributedDataParallel(model) if world > 1 else model


class Regression:
    """Batches with noisy labels from a linear map."""

    def __init__(self, rank, seed, noise=0.3):
        self._chance = torch.Generator().manual_seed(100 * seed + rank)
        self._truth = torch.randn(16, 4, generator=torch.Generator().manual_seed(7)) / 4
        self._noise = noise

    def batch(self, size=32):
        x = torch.randn(size, 16, generator=self._chance)
        return x, x @ self._truth + self._noise * torch.randn(size, 4, generator=self._chance)


def plain(rank, world, pace, seed, noise=0.3, size=32, rate=0.05, poison=None, dtype=None):
    torch.manual_seed(seed)
    model = distribute(Net(pace), world)
    loss_of = torch.nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    data = Regression(rank, seed, noise)
    pitwall.watch(model, optimizer, loss_of)

    def step(number):
        x, y = data.batch(size)
        if poison is not None and number == poison and rank == 0:
            print("fault %.6f" % time.time(), flush=True)
            x[0, 0] = math.nan
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            loss = loss_of(model(x).float(), y)
        loss.backward()
        optimizer.step()
    return step


def noisy(rank, world, pace, seed):
    """Uses two rows per batch, so that the loss varies by about its own magnitude."""
    return plain(rank, world, pace, seed, noise=1.0, size=2, rate=0.005)


def bf16(rank, world, pace, seed):
    return plain(rank, world, pace, seed, dtype=torch.bfloat16)


def bf16_nan(rank, world, pace, seed):
    return plain(rank, world, pace, seed, dtype=torch.bfloat16, poison=40)


def nan(rank, world, pace, seed):
    return plain(rank, world, pace, seed, poison=40)


def scaled(rank, world, pace, seed, poison=None):
    """Uses mixed precision with an initial loss scale so large that the first steps overflow and are skipped."""
    torch.manual_seed(seed)
    model = distribute(Net(pace), world)
    loss_of = torch.nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 22)
    data = Regression(rank, seed)
    pitwall.watch(model, optimizer, loss_of)

    def step(number):
        x, y = data.batch()
        if poison is not None and number >= poison:
            if number == poison and rank == 0:
                print("fault %.6f" % time.time(), flush=True)
            x[0, 0] = math.nan
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = loss_of(model(x).float(), y)
        scaler.scale(loss).backward()
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() < before:
            print("skipped step %d at scale %g" % (number, before), flush=True)
    return step


def scaled_nan(rank, world, pace, seed):
    return scaled(rank, world, pace, seed, poison=40)


def gan(rank, world, pace, seed):
    """Trains two adversarial networks. Their losses have no trend, and the script declares that."""
    torch.manual_seed(seed)
    maker = distribute(Net(pace, 8, 4), world)
    judge = distribute(Net(pace, 4, 1), world)
    rates = dict(lr=2e-3, betas=(0.5, 0.999))
    makers, judges = torch.optim.Adam(maker.parameters(), **rates), torch.optim.Adam(judge.parameters(), **rates)
    chance = torch.Generator().manual_seed(10 * seed + rank)
    loss_of = torch.nn.functional.binary_cross_entropy_with_logits
    pitwall.log(loss_trend=0)

    def step(number):
        real = 0.5 * torch.randn(32, 4, generator=chance) + 1
        made = maker(torch.randn(32, 8, generator=chance))
        with pitwall.phase("backward"):
            judges.zero_grad()
            truth = loss_of(judge(torch.cat([real, made.detach()])), torch.cat([torch.ones(32, 1), torch.zeros(32, 1)]))
            truth.backward()
            judges.step()
            makers.zero_grad()
            fooled = loss_of(judge(made), torch.ones(32, 1))
            fooled.backward()
            makers.step()
        pitwall.log(loss=fooled.item(), loss_discriminator=truth.item())
    return step


def reinforcement(rank, world, pace, seed):
    """Trains with policy gradients. The loss may be positive or negative, and the reward is noisy."""
    torch.manual_seed(seed)
    policy = distribute(Net(pace), world)
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    chance = torch.Generator().manual_seed(10 * seed + rank)
    arms = torch.randn(16, 4, generator=torch.Generator().manual_seed(7))
    pitwall.log(loss_trend=0)

    def step(number):
        state = torch.randn(16, 16, generator=chance)
        choice = torch.distributions.Categorical(logits=policy(state))
        action = choice.sample()
        reward = (state @ arms).gather(1, action[:, None])[:, 0] + torch.randn(16, generator=chance)
        loss = -(choice.log_prob(action) * (reward - reward.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        pitwall.log(loss=loss.item(), reward=reward.mean().item())
    return step


KINDS = {"fp32": plain, "noisy": noisy, "bf16": bf16, "bf16_nan": bf16_nan, "nan": nan, "amp": scaled, "amp_nan": scaled_nan, "gan": gan,
         "rl": reinforcement}
