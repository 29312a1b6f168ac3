"""Runs every code block in the README. The training loop uses simple stubs, and the PyTorch blocks run only if PyTorch is installed."""
import json
import os
import re
import unittest

import support

import pitwall
from pitwall import _guard
from pitwall.capture import _capture

try:
    import torch
except ImportError:
    torch = None

README = os.path.join(os.path.dirname(support.TESTS), "README.md")


def blocks(language):
    with open(README, encoding="utf-8") as file:
        return re.findall(r"(?ms)^```%s\n(.*?)^```$" % language, file.read())


class Loss:
    def backward(self):
        pass

    def item(self):
        return 0.5


class Optimizer:
    def step(self):
        pass


class ReadmeTest(support.ClientTest):
    def test_every_code_block_has_a_test(self):
        self.assertEqual(len(blocks("python")), 4)
        self.assertEqual(len(blocks("json")), 1)

    def test_training_loop_runs(self):
        _guard._logged.clear()
        collector = self.collector()
        os.environ["PITWALL_SOCKET"] = self.path
        try:
            exec(blocks("python")[0], {"loader": [1, 2, 3], "model": lambda batch: Loss(), "optimizer": Optimizer(), "step_number": 500,
                                       "evaluate": lambda: 0.9})
            pitwall.finish(timeout=5)
        finally:
            del os.environ["PITWALL_SOCKET"]
        collector.wait_for(lambda c: c.messages("goodbye"))
        self.assertEqual(sorted({s["name"] for s in collector.spans()}), ["backward", "dataloader", "eval", "forward", "optimizer", "step"])
        self.assertEqual({(v["metric"], v["mode"]) for v in collector.values()}, {("train_loss", "train"), ("train_accuracy", "eval")})
        self.assertEqual(len([s for s in collector.spans() if s["name"] == "step"]), 3)

    @unittest.skipIf(torch is None, "PyTorch is not installed; tests/stages/parts/torch.sh installs it")
    def test_pytorch_block_runs(self):
        collector = self.collector()
        self.start(collector)
        model = torch.nn.Linear(4, 2)
        names = {"pitwall": pitwall, "torch": torch, "model": model, "optimizer": torch.optim.SGD(model.parameters(), lr=0.1)}
        exec(blocks("python")[1].replace("pitwall.init(job=\"resnet\")", ""), names)
        exec(blocks("python")[2], names)
        names["loss_function"](model(torch.randn(3, 4)), torch.tensor([0, 1, 0])).backward()
        names["optimizer"].step()
        pitwall.finish(timeout=5)
        collector.wait_for(lambda c: c.messages("goodbye"))
        metrics = {v["metric"] for v in collector.values()}
        self.assertTrue({"train_loss", "train_learning_rate", "train_tensor_abs_mean"} <= metrics, metrics)

    def test_framework_block_compiles(self):
        compile(blocks("python")[3], README, "exec")
        for name in re.findall(r"pitwall\.(\w+)", blocks("python")[3]):
            self.assertTrue(callable(getattr(pitwall, name)))

    def test_capture_request_is_accepted(self):
        request = json.loads(blocks("json")[0])
        path = os.path.join(self.folder, "capture")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(request, file)
        os.chmod(path, 0o600)
        self.assertEqual(_capture._read(path), request)


class SmallestCaseTest(support.ClientTest):
    def test_two_ranks_survive_collector_crash(self):
        collector = self.collector()
        for rank in ("0", "1"):
            self.script("import pitwall\npitwall.init()\nfor i in pitwall.steps(range(3)): pitwall.log(loss=i)\n", RANK=rank,
                        WORLD_SIZE="2", PITWALL_JOB="small")
        collector.wait_for(lambda c: len(c.messages("goodbye")) == 2)
        self.assertEqual([len([s for s in collector.spans() if s["name"] == "step"]), len(collector.values())], [6, 6])
        collector.close()
        done = self.script("import pitwall\npitwall.init()\nfor i in pitwall.steps(range(3)): pitwall.log(loss=i)\n")
        self.assertEqual((done.stdout, done.stderr), ("", ""))


if __name__ == "__main__":
    unittest.main()
