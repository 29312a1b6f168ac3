#!/usr/bin/env python3
"""Healthy training runs of common kinds.

healthy_kinds.py KIND STEPS STEP_SECONDS SEED CLIENT    CLIENT: folder of the Python client

Models, data, and schedules are real, and the models learn until the end. A step is mostly sleep, with 3% noise, so that several runs fit on two
cores. Rank, world size, and rendezvous address are read from the environment, as under torchrun.
"""
import math
import os
import random
import sys
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, sys.argv[5])

import pitwall  # noqa: E402

KIND, STEPS, PACE, SEED = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
RANK, WORLD = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
_noise = random.Random(1000 * SEED + RANK)


def work(share):
    """Simulates work by sleeping for a noisy share of a step."""
    time.sleep(PACE * share * math.exp(_noise.gauss(0, 0.03)))


def busy(torch, x, forward, backward):
    """Returns x after simulated forward work, and adds backward work to its gradient."""
    class Busy(torch.autograd.Function):
        @staticmethod
        def forward(context, tensor):
            work(forward)
            return tensor.clone()

        @staticmethod
        def backward(context, gradient):
            work(backward)
            return gradient
    return Busy.apply(x)


def torch_ready():
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    return torch


def schedule(torch, optimizer):
    """Returns a learning rate schedule: a warm-up, and then a cosine decay to a tenth."""
    warm = STEPS // 20
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (step + 1) / warm if step < warm else
                                             0.55 + 0.45 * math.cos(math.pi * (step - warm) / (STEPS - warm)))


def classifier(torch, noise=1.0):
    """Returns a network with simulated work in the middle, and batches labeled by a deeper network. noise: label noise; without it, a model with a
    low learning rate learns until the last step."""
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 128), torch.nn.ReLU())
            self.last = torch.nn.Linear(128, 10)

        def forward(self, x):
            return self.last(busy(torch, self.body(x), 0.3, 0.5))

    data = torch.Generator().manual_seed(50 * SEED + RANK)
    with torch.random.fork_rng():
        torch.manual_seed(7)
        teacher = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.Tanh(), torch.nn.Linear(32, 10))

    def batch(size=64):
        x = torch.randn(size, 64, generator=data)
        with torch.no_grad():
            y = (3 * teacher(x) + noise * torch.randn(size, 10, generator=data)).argmax(1)
        return x, y
    return Net(), batch


def ddp(torch, model):
    torch.distributed.init_process_group("gloo")
    pitwall.init()
    return torch.nn.parallel.DistributedDataParallel(model)


def plain_ddp():
    import torch.distributed
    torch = torch_ready()
    net, batch = classifier(torch)
    model, loss_of = ddp(torch, net), torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    rates = schedule(torch, optimizer)
    pitwall.watch(model, optimizer, loss_of)

    def batches():
        for _ in range(STEPS):
            work(0.1)
            yield batch()
    for x, y in pitwall.steps(batches()):
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
        rates.step()
        work(0.1)


def accumulation():
    """Trains with two ranks and four batches per step. The gradients are reduced after the last batch."""
    import torch.distributed
    torch = torch_ready()
    net, batch = classifier(torch)
    model, loss_of = ddp(torch, net), torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    rates = schedule(torch, optimizer)
    pitwall.watch(model, optimizer, loss_of)
    global PACE
    PACE /= 4
    for _ in range(STEPS):
        with pitwall.step():
            for number in range(4):
                with pitwall.phase("dataloader"):
                    work(0.2)
                    x, y = batch(16)
                model.require_backward_grad_sync = number == 3
                (loss_of(model(x), y) / 4).backward()
            optimizer.step()
            rates.step()
            optimizer.zero_grad()


def corpus():
    """Returns text that every Python installation has: source files of its standard library."""
    import argparse
    folder = os.path.dirname(argparse.__file__)
    names = ("argparse", "ast", "calendar", "configparser", "datetime", "decimal", "difflib", "doctest", "inspect", "pdb", "tarfile", "typing")
    text = b""
    for name in names:
        path = os.path.join(folder, name + ".py")
        if os.path.exists(path):
            with open(path, "rb") as source:
                text += source.read()
    return bytes(byte & 127 for byte in text)


def language_batches(torch, rows=8, length=48):
    """Returns functions that draw a batch from the training text or the held-out text."""
    text = torch.frombuffer(bytearray(corpus()), dtype=torch.uint8).long()
    cut = len(text) * 9 // 10
    chance = torch.Generator().manual_seed(30 * SEED + RANK)

    def draw(low, high):
        at = torch.randint(low, high - length - 1, (rows,), generator=chance)
        return torch.stack([text[i:i + length + 1] for i in at])
    return lambda: draw(0, cut), lambda: draw(cut, len(text))


def language_model():
    """Trains a small transformer on characters, with an evaluation every 200 steps and a checkpoint every 500 steps."""
    torch = torch_ready()
    draw, held_out = language_batches(torch)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.places = torch.nn.Embedding(128, 64), torch.nn.Embedding(48, 64)
            layer = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.1, batch_first=True, norm_first=True)
            self.body = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = torch.nn.Linear(64, 128)
            self.register_buffer("mask", torch.triu(torch.full((48, 48), -math.inf), 1))

        def forward(self, x):
            hidden = self.body(self.embed(x) + self.places.weight, mask=self.mask)
            return self.head(busy(torch, hidden, 0.3, 0.5) if self.training else hidden).transpose(1, 2)

    pitwall.init()
    model, loss_of = Model(), torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    rates = schedule(torch, optimizer)
    pitwall.watch(model, optimizer, loss_of)

    def batches():
        for _ in range(STEPS):
            work(0.1)
            yield draw()
    with tempfile.TemporaryDirectory() as folder:
        for number, rows in enumerate(pitwall.steps(batches())):
            optimizer.zero_grad()
            loss_of(model(rows[:, :-1]), rows[:, 1:]).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
            optimizer.step()
            rates.step()
            if number % 200 == 199:
                model.eval()
                with torch.no_grad():
                    for _ in range(20):
                        rows = held_out()
                        loss_of(model(rows[:, :-1]), rows[:, 1:])
                        work(0.3)
                model.train()
            if number % 500 == 499:
                with pitwall.checkpoint(number):
                    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, os.path.join(folder, "last.pt"))
                    work(5)


def transformers_trainer():
    import transformers
    torch = torch_ready()
    draw, held_out = language_batches(torch)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()

    class Model(transformers.GPT2LMHeadModel):
        def forward(self, input_ids=None, labels=None, **named):  # the Trainer passes the dataset columns that are parameters here
            work(0.8 if self.training else 0.3)
            return super().forward(input_ids=input_ids, labels=labels, **named)

    class Rows(torch.utils.data.Dataset):
        def __init__(self, draw, count):
            self.rows = torch.cat([draw() for _ in range(count // 8)])

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, at):
            return {"input_ids": self.rows[at][:48], "labels": self.rows[at][:48]}

    pitwall.init()
    model = Model(transformers.GPT2Config(vocab_size=128, n_positions=48, n_embd=64, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0))
    with tempfile.TemporaryDirectory() as folder:
        transformers.Trainer(
            model=model, train_dataset=Rows(draw, 20000), eval_dataset=Rows(held_out, 160), callbacks=[pitwall.transformers_callback(watch=True)],
            args=transformers.TrainingArguments(
                output_dir=folder, max_steps=STEPS, per_device_train_batch_size=8, per_device_eval_batch_size=8, learning_rate=1e-3,
                warmup_steps=STEPS // 20, logging_steps=10, eval_strategy="steps", eval_steps=200, save_strategy="steps", save_steps=500,
                save_total_limit=1, use_cpu=True, report_to=[], disable_tqdm=True, dataloader_pin_memory=False, seed=SEED)).train()


def lightning_trainer():
    import lightning
    torch = torch_ready()
    net, batch = classifier(torch, noise=0)

    class Batches(torch.utils.data.IterableDataset):
        def __init__(self, count):
            self.count = count

        def __iter__(self):
            for _ in range(self.count):
                work(0.1)
                yield batch()

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = net

        def training_step(self, rows, _):
            loss = torch.nn.functional.cross_entropy(self.net(rows[0]), rows[1])
            self.log("train_loss", loss)
            return loss

        def validation_step(self, rows, _):
            self.log("val_loss", torch.nn.functional.cross_entropy(self.net(rows[0]), rows[1]))

        def configure_optimizers(self):
            optimizer = torch.optim.Adam(self.parameters(), lr=7e-5)
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule(torch, optimizer), "interval": "step"}}

    pitwall.init()
    with tempfile.TemporaryDirectory() as folder:
        lightning.Trainer(
            max_steps=STEPS, max_epochs=-1, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False, enable_model_summary=False,
            log_every_n_steps=10, default_root_dir=folder, callbacks=[pitwall.lightning_callback(watch={"module": "net"})],
        ).fit(Module(), torch.utils.data.DataLoader(Batches(400), None), torch.utils.data.DataLoader(Batches(10), None))


def boosting():
    import numpy
    import xgboost
    chance = numpy.random.default_rng(SEED)
    features = chance.normal(size=(6000, 12))
    odds = features[:, :6].sum(1) + features[:, 0] * features[:, 1] + numpy.sin(3 * features[:, 2]) + chance.normal(size=6000)
    labels = (odds > 0).astype(float)
    train, held_out = xgboost.DMatrix(features[:5500], labels[:5500]), xgboost.DMatrix(features[5500:], labels[5500:])

    class Pace(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, log):
            work(1)
            return False

    pitwall.init()
    xgboost.train({"objective": "binary:logistic", "max_depth": 4, "eta": 2.0 / STEPS, "subsample": 0.8, "colsample_bytree": 0.8, "nthread": 1,
                   "seed": SEED},
                  train, STEPS, evals=[(train, "train"), (held_out, "eval")], verbose_eval=False,
                  callbacks=[Pace(), pitwall.xgboost_callback(classification=held_out)])


def loader_workers():
    torch = torch_ready()
    net, batch = classifier(torch)

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return 64 * 500

        def __getitem__(self, at):
            if at % 8 == 0:
                work(0.08)  # preparing a batch takes 0.64 of a step, and two workers share it
            chance = torch.Generator().manual_seed(at)
            return torch.randn(64, generator=chance)

    pitwall.init()
    model, loss_of = torch.nn.Sequential(net, torch.nn.Linear(10, 64)), torch.nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    pitwall.watch(model, optimizer, loss_of)
    loader = torch.utils.data.DataLoader(Rows(), 64, shuffle=True, num_workers=2, persistent_workers=True)
    done = 0
    while done < STEPS:
        for x in pitwall.steps(loader, start=done):
            optimizer.zero_grad()
            loss_of(model(x), x).backward()
            optimizer.step()
            work(0.1)
            done += 1
            if done == STEPS:
                break


def single():
    """Runs one process that calls the client explicitly instead of using hooks, and logs a value every fifth step."""
    torch = torch_ready()
    net, batch = classifier(torch)
    pitwall.init()
    loss_of, optimizer = torch.nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    rates = schedule(torch, optimizer)

    def batches():
        for _ in range(STEPS):
            work(0.1)
            yield batch()
    for number, (x, y) in enumerate(pitwall.steps(batches())):
        with pitwall.phase("forward"):
            loss = loss_of(net(x), y)
        with pitwall.phase("backward"):
            optimizer.zero_grad()
            loss.backward()
        with pitwall.phase("optimizer"):
            optimizer.step()
            rates.step()
        if number % 5 == 0:
            pitwall.log(loss=loss.item(), learning_rate=rates.get_last_lr()[0])
        if number % 500 == 499:
            with pitwall.mode("eval"), pitwall.phase("eval"), torch.no_grad():
                pitwall.log(loss=sum(float(loss_of(net(x), y)) for x, y in (batch() for _ in range(10))) / 10)
        work(0.1)


KINDS = {"ddp": plain_ddp, "language-model": language_model, "transformers": transformers_trainer, "lightning": lightning_trainer,
         "xgboost": boosting, "loader-workers": loader_workers, "accumulation": accumulation, "single": single}

if __name__ == "__main__":
    print("ready", flush=True)
    KINDS[KIND]()
    pitwall.finish()
    print("done", flush=True)
    sys.stdout.flush()
