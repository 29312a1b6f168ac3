"""Tests for the phase `pitwall`: the client's own share of a step."""

from torch_support import TorchTest, torch

import pitwall


class OwnTimeTest(TorchTest):
    def test_saving_is_recorded_as_a_phase(self):
        model, loss = torch.nn.Sequential(torch.nn.Linear(400, 400), torch.nn.ReLU(), torch.nn.Linear(400, 3)), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss, every=5, grad_norm_every=0)
        for _ in range(11):
            optimizer.zero_grad()
            loss(model(torch.randn(4, 400)), torch.randint(0, 3, (4,))).backward()
            optimizer.step()
        self.sent()
        self.assertEqual(sorted({step for step, _ in self.spans_of("pitwall")}), [0, 5, 10])
        own = {step: sum(s["duration"] for s in self.fake.spans() if s["name"] == "pitwall" and s["step_plus_one"] == step + 1) for step in (5, 10)}
        whole = {s["step_plus_one"] - 1: s["duration"] for s in self.fake.spans() if s["name"] == "step"}
        for step in own:  # most of a saved step of this model is the save
            self.assertGreater(own[step], 0.3 * whole[step])
            self.assertLess(own[step], whole[step])

    def test_own_time_is_not_counted_twice(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss, every=1, labels=True, inputs="tokens")
        with pitwall.step():
            with pitwall.checkpoint():
                pitwall.log_tokens([1, 2, 3])
            with pitwall.phase("eval"):
                pitwall.log_classification([0, 1], [1, 1])
        self.train(model, optimizer, loss, 3)
        self.sent()
        spans = sorted((s["start"], s["start"] + s["duration"]) for s in self.fake.spans() if s["name"] == "pitwall")
        self.assertTrue(spans)
        self.assertTrue(all(end <= begin for (_, end), (begin, _) in zip(spans, spans[1:])), "phases must not overlap")
        left_out = [(s["start"], s["start"] + s["duration"]) for s in self.fake.spans() if s["name"] in ("checkpoint", "eval")]
        for begin, end in left_out:
            self.assertFalse([span for span in spans if span[0] < end and span[1] > begin])
