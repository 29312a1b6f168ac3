"""Shared helpers for the PyTorch tests. The tests are skipped if PyTorch is not installed; tests/stages/parts/torch.sh installs two versions."""
import unittest

import support

try:
    import numpy
    import torch
except ImportError as missing:
    torch = numpy = None
    NOTE = "PyTorch is not installed (%s); tests/stages/parts/torch.sh installs it" % missing
else:
    NOTE = ""
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)

requires_torch = unittest.skipIf(torch is None, NOTE)
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2]) if torch else (0, 0)


@requires_torch
class TorchTest(support.ClientTest):
    """Test case with a collector, a started client, and a small model with its loss and optimizer."""

    def setUp(self):
        super().setUp()
        torch.manual_seed(1)
        self.fake = self.collector()
        self.start(self.fake)

    def model(self):
        return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4), torch.nn.Tanh(),
                                   torch.nn.Linear(4, 3))

    def batch(self, rows=16):
        return torch.randn(rows, 8), torch.randint(0, 3, (rows,))

    def train(self, model, optimizer, loss, steps):
        for _ in range(steps):
            data, labels = self.batch()
            optimizer.zero_grad()
            loss(model(data), labels).backward()
            optimizer.step()

    def sent(self):
        """Ends the client, waits for its Goodbye, and returns the values as (metric, labels, value, step, mode)."""
        import pitwall
        pitwall.finish(timeout=5)
        self.fake.wait_for(lambda c: c.messages("goodbye"))
        return [(v["metric"], {p["name"]: p["value"] for p in v["labels"]}, v["value"], v["step_plus_one"] - 1,
                 v["mode"]) for v in self.fake.values()]

    def of(self, values, metric, mode="train", **labels):
        """Returns {step: value} of one series."""
        return {step: value for name, pairs, value, step, of_mode in values
                if name == metric and pairs == labels and of_mode == mode}

    def spans_of(self, name):
        return [(s["step_plus_one"] - 1, s["mode"]) for s in self.fake.spans() if s["name"] == name]
