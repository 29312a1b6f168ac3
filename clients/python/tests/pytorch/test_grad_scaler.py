"""Tests for watch() with a GradScaler: the scale and the norms of skipped steps, in any kind of loop."""
import functools
import math
import unittest

from torch_support import TorchTest, VERSION, torch

import pitwall

HIGHEST = 2.0 ** 24  # overflows gradients in float16


@unittest.skipIf(VERSION < (2, 3), "GradScaler runs on CUDA only before PyTorch 2.3")
class GradScalerTest(TorchTest):
    def steps(self, scaler, optimizer, model, count, loss=None):
        loss = loss or torch.nn.CrossEntropyLoss()
        scales = []
        for _ in range(count):
            data, labels = self.batch()
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                output = model(data)
            scaler.scale(loss(output.float(), labels)).backward()
            scales.append(float(scaler.get_scale()))
            scaler.step(optimizer)
            scaler.update()
        return scales

    def watched(self, optimizer=None, scale=HIGHEST, given=True, **options):
        optimizer = optimizer or torch.optim.SGD  # not a default argument because the module is also imported without PyTorch
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = optimizer(model.parameters(), lr=1e-3)
        scaler = torch.amp.GradScaler("cpu", init_scale=scale)
        pitwall.watch(model, optimizer, loss, grad_norm_every=1, scaler=scaler if given else None, **options)
        return scaler, optimizer, model, loss

    def check_skipped_steps(self, given):
        scaler, optimizer, model, loss = self.watched(given=given)
        scales = self.steps(scaler, optimizer, model, 10, loss) + [float(scaler.get_scale())]
        values = self.sent()
        skipped = [later < scale for scale, later in zip(scales, scales[1:])]
        self.assertTrue(skipped[0] and not all(skipped), scales)
        self.assertEqual(self.of(values, "train_loss_scale"), dict(enumerate(scales[:-1])))
        norms = self.of(values, "train_grad_norm")
        self.assertEqual([not math.isfinite(norms[step]) for step in range(10)], skipped)
        self.assertLess(min(filter(math.isfinite, norms.values())), 100)
        self.assertEqual(self.of(values, "train_skipped_steps_total"), {s: sum(skipped[:s + 1]) for s in range(10)})
        self.assertEqual(self.spans_of("step"), [(s, "train") for s in range(10)])
        self.assertEqual(sorted(self.of(values, "train_loss")), list(range(10)))

    def test_skipped_steps_record_their_scale(self):
        self.check_skipped_steps(given=True)

    def test_scaler_is_detected_automatically(self):
        self.check_skipped_steps(given=False)

    def test_skipped_steps_in_loop_record_their_scale(self):
        scaler, optimizer, model, loss = self.watched(given=False)
        for _ in pitwall.steps(range(3)):
            self.steps(scaler, optimizer, model, 1, loss)
        self.assertEqual(self.of(self.sent(), "train_loss_scale"), {s: HIGHEST / 2 ** s for s in range(3)})

    def test_steps_skipped_by_fused_optimizer_are_recorded(self):
        scaler, optimizer, model, loss = self.watched(functools.partial(torch.optim.Adam, fused=True))
        scales = self.steps(scaler, optimizer, model, 10, loss) + [float(scaler.get_scale())]
        values = self.sent()
        self.assertEqual(self.of(values, "train_loss_scale"), dict(enumerate(scales[:-1])))
        self.assertEqual(self.of(values, "train_skipped_steps_total")[9], sum(a > b for a, b in zip(scales, scales[1:])))

    def test_norm_of_unscaled_gradients_is_not_unscaled_twice(self):
        scaler, optimizer, model, loss = self.watched(scale=1024.0)
        watched = pitwall.pytorch._torch_hooks._watched[model]()
        data, labels = self.batch()
        scaler.scale(loss(model(data), labels)).backward()
        scaler.unscale_(optimizer)
        right = float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9))
        watched._measure_norm("train", 0, optimizer)
        scaler.step(optimizer)
        values = [v[2] for v in self.sent() if v[0] == "train_grad_norm"]
        self.assertEqual(len(values), 2)
        for value in values:
            self.assertAlmostEqual(value, right, 4)

    def test_model_without_scaler_ignores_scaler_of_another_model(self):
        scaler, optimizer, model, loss = self.watched(scale=1024.0, given=False)
        self.steps(scaler, optimizer, model, 2, loss)
        pitwall.pytorch._torch_hooks._watched[model]().close()
        other = self.model()
        plain = torch.optim.SGD(other.parameters(), lr=0.1)
        pitwall.watch(other, plain, loss, grad_norm_every=1)
        data, labels = self.batch()
        loss(other(data * float("nan")), labels).backward()
        plain.step()
        values = self.sent()
        self.assertEqual(self.of(values, "train_loss_scale"), {0: 1024, 1: 1024})
        self.assertTrue(math.isnan(self.of(values, "train_grad_norm")[2]))

    def test_disabled_scaler_records_nothing(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", enabled=False)
        pitwall.watch(model, optimizer, loss, scaler=scaler, grad_norm_every=1)
        self.steps(scaler, optimizer, model, 2, loss)
        values = self.sent()
        self.assertEqual({v[0] for v in values} & {"train_loss_scale", "train_skipped_steps_total"}, set())
        self.assertEqual(sorted(self.of(values, "train_grad_norm")), [0, 1])

    def check_wrapped_optimizer(self, model, optimizer, scaler, backward):
        factors = iter([float("inf")] + [1.0] * 3)  # the first step overflows, as in float16
        next(model.parameters()).register_hook(lambda gradient: gradient * next(factors))
        loss = torch.nn.CrossEntropyLoss()
        pitwall.watch(model, optimizer, loss, grad_norm_every=1)
        for _ in range(4):
            data, labels = self.batch()
            optimizer.zero_grad()
            backward(loss(model(data), labels))
            optimizer.step()
        values = self.sent()
        for name in ("train_loss", "train_learning_rate", "train_grad_norm"):
            self.assertEqual(sorted(self.of(values, name)), [0, 1, 2, 3], name)
        self.assertEqual(self.of(values, "train_loss_scale"), {0: 1024, 1: 512, 2: 512, 3: 512})
        self.assertEqual(self.of(values, "train_skipped_steps_total"), dict.fromkeys(range(4), 1))
        self.assertEqual(self.spans_of("optimizer"), [(s, "train") for s in range(4)])

    def test_optimizer_wrapped_by_accelerate_records_skipped_steps(self):
        try:
            import accelerate
        except ImportError:
            self.skipTest("accelerate is not installed here")
        accelerator = accelerate.Accelerator(cpu=True)
        accelerator.scaler = scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        model = self.model()
        model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
        self.check_wrapped_optimizer(model, optimizer, scaler, accelerator.backward)

    def test_wrapper_that_shares_hooks_records_skipped_steps(self):
        """Uses a wrapper similar to Lightning Fabric's."""
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

        class Wrapper:
            def __init__(self, optimizer):
                self.__dict__.update({name: value for name, value in vars(optimizer).items() if name != "step"})
                self.optimizer = optimizer

            def zero_grad(self):
                self.optimizer.zero_grad()

            def step(self):
                scaler.step(self.optimizer)
                scaler.update()
        model = self.model()
        optimizer = Wrapper(torch.optim.SGD(model.parameters(), lr=0.1))
        self.check_wrapped_optimizer(model, optimizer, scaler, lambda loss: scaler.scale(loss).backward())

    def test_closing_handle_restores_scaler(self):
        before = dict(vars(torch.amp.GradScaler))
        model = self.model()
        handle = pitwall.watch(model, torch.optim.SGD(model.parameters(), lr=0.1))
        handle.close()
        self.assertEqual(dict(vars(torch.amp.GradScaler)), before)
