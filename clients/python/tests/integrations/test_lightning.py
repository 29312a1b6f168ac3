"""Tests for the Lightning callback with Lightning's real Trainer and a tiny module."""
import logging
import warnings

from framework_support import CallbackTest, framework

import pitwall
from pitwall import _guard

lightning, requires_lightning = framework("lightning")
torch, requires_torch = framework("torch")

if lightning is not None:
    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            torch.manual_seed(1)
            self.layer = torch.nn.Linear(4, 2)
            self.losses, self.evaluated = [], []

        def training_step(self, batch, _):
            loss = torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])
            self.log("train_loss", loss)
            self.log("train_accuracy", 0.5)
            self.losses.append(float(loss.detach()))
            return loss

        def validation_step(self, batch, _):
            loss = torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])
            self.log("val_loss", loss)
            self.evaluated.append(float(loss))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.25)


@requires_torch
@requires_lightning
class LightningTest(CallbackTest):
    def fit(self, callback, batches=4, **arguments):
        logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
        arguments = dict({"max_epochs": 2, "accelerator": "cpu", "devices": 1, "logger": False,
                          "enable_progress_bar": False, "enable_model_summary": False, "log_every_n_steps": 1,
                          "enable_checkpointing": False, "default_root_dir": self.folder}, **arguments)
        module = Module()
        data = torch.utils.data.TensorDataset(torch.randn(4 * batches, 4), torch.randint(0, 2, (4 * batches,)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trainer = lightning.Trainer(callbacks=[callback] + arguments.pop("callbacks", []), **arguments)
            trainer.fit(module, torch.utils.data.DataLoader(data, 4), torch.utils.data.DataLoader(data, 8))
        return module, trainer

    def test_callback_records_steps_phases_losses_and_evaluations(self):
        module, _ = self.fit(pitwall.lightning_callback())
        values = self.sent()
        for name in ("step", "dataloader", "forward", "backward", "optimizer"):
            self.assertEqual(self.spans_of(name), list(range(8)), name)
        losses = self.of(values, "train_loss")
        self.assertEqual([step for step, _ in losses], list(range(8)))
        for (_, value), right in zip(losses, module.losses):
            self.assertAlmostEqual(value, right, 6)
        self.assertEqual(self.of(values, "train_learning_rate"), [(step, 0.25) for step in range(8)])
        self.assertEqual(self.of(values, "train_accuracy"), [(step, 0.5) for step in range(8)])
        self.assertEqual(self.of(values, "train_epoch"), [(step, float(step // 4)) for step in range(8)])
        # There are two evaluations of two batches each; the sanity check before training does not count.
        self.assertEqual(self.spans_of("step", "eval"), [0, 1, 2, 3])
        self.assertEqual(len(self.spans_of("eval")), 2)
        evaluated = module.evaluated[2:]
        found = self.of(values, "train_loss", "eval")
        self.assertEqual([step for step, _ in found], [1, 3])
        for (_, value), right in zip(found, (sum(evaluated[:2]) / 2, sum(evaluated[2:]) / 2)):
            self.assertAlmostEqual(value, right, 5)

    def test_loop_is_open_until_fit_returns_or_raises(self):
        seen = []

        class Look(lightning.Callback):
            def on_train_batch_end(look, *_):
                seen.append(self.loop_is_open())

        class Fail(lightning.Callback):
            def on_train_batch_end(self, *_):
                raise ValueError("in a callback")
        self.fit(pitwall.lightning_callback(), max_epochs=1, callbacks=[Look()])
        self.assertEqual(set(seen), {True})
        self.assertIs(self.loop_is_open(), False)
        with self.assertRaises(ValueError):
            self.fit(pitwall.lightning_callback(), max_epochs=1, callbacks=[Fail()])
        self.assertIs(self.loop_is_open(), False)

    def test_steps_with_accumulated_gradients_count_once(self):
        module, _ = self.fit(pitwall.lightning_callback(), accumulate_grad_batches=2, max_epochs=1)
        values = self.sent()
        self.assertEqual(self.spans_of("step"), [0, 1])
        self.assertEqual(self.spans_of("forward"), [0, 0, 1, 1])
        self.assertEqual(self.spans_of("optimizer"), [0, 1])
        self.assertEqual(self.spans_of("dataloader"), [0, 0, 1, 1])
        for (_, value), first in zip(self.of(values, "train_loss"), (0, 2)):
            self.assertAlmostEqual(value, sum(module.losses[first:first + 2]) / 2, 5)

    def test_evaluations_inside_and_outside_fit_are_recorded(self):
        callback = pitwall.lightning_callback()
        module, trainer = self.fit(callback, max_epochs=1, val_check_interval=2)
        data = torch.utils.data.TensorDataset(torch.randn(8, 4), torch.randint(0, 2, (8,)))
        trainer.validate(module, torch.utils.data.DataLoader(data, 4), verbose=False)
        self.assertEqual(self.recorder().thread_phases(), [])
        values = self.sent()
        self.assertEqual(self.spans_of("dataloader"), [0, 1, 2, 3])
        self.assertEqual(self.spans_of("step", "eval"), list(range(6)))
        self.assertEqual([step for step, _ in self.of(values, "train_loss", "eval")], [1, 3, 5])

    def test_checkpoints_are_recorded_for_every_caller(self):
        saver = lightning.pytorch.callbacks.ModelCheckpoint(dirpath=self.folder + "/saved", every_n_train_steps=3,
                                                            save_top_k=-1) if lightning else None
        _, trainer = self.fit(pitwall.lightning_callback(), callbacks=[saver], enable_checkpointing=True)
        values = self.sent()
        self.assertEqual(self.of(values, "train_checkpoint_step")[:2], [(2, 2.0), (5, 5.0)])
        self.assertEqual(len(self.spans_of("checkpoint")), len(self.of(values, "train_checkpoint_step")))
        self.assertEqual(self.spans_of("step"), list(range(8)))
        self.assertNotIn("save_checkpoint", vars(trainer))

    def test_watch_hooks_module(self):
        gradients = []

        class Look(lightning.Callback):
            def on_before_optimizer_step(self, trainer, module, optimizer):
                gradients.append(float(module.layer.weight.grad.mean()))
        self.fit(pitwall.lightning_callback(watch={"every": 4}), callbacks=[Look()])
        values = self.sent()
        found = self.of(values, "train_tensor_mean", collection="gradients", tensor="gradient/layer.weight")
        self.assertEqual([step for step, _ in found], [0, 4])
        for step, value in found:
            self.assertAlmostEqual(value, gradients[step], 6)
        for name in ("step", "forward", "backward", "optimizer"):
            self.assertEqual(self.spans_of(name), list(range(8)), name)
        self.assertEqual([step for step, _ in self.of(values, "train_loss")], list(range(8)))
        self.assertEqual([step for step, _ in self.of(values, "train_learning_rate")], list(range(8)))

    def fit_with_scaler(self, callback):
        class Overflow(lightning.Callback):
            def on_after_backward(self, trainer, module):
                if trainer.global_step in (0, 5):  # simulates an overflow in float16
                    module.layer.weight.grad[0, 0] = float("inf")
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        precision = lightning.pytorch.plugins.MixedPrecision("16-mixed", "cpu", scaler=scaler)
        self.fit(callback, callbacks=[Overflow()], plugins=[precision])
        return self.sent()

    SCALES = [1024.0] * 1 + [512.0] * 5 + [256.0] * 2  # scale per step; an overflow halves the next scale

    def test_watch_records_loss_scale_of_skipped_steps(self):
        values = self.fit_with_scaler(pitwall.lightning_callback(watch={"every": 1, "grad_norm_every": 1}))
        self.assertEqual(self.of(values, "train_loss_scale"), list(enumerate(self.SCALES)))
        self.assertEqual([v for _, v in self.of(values, "train_skipped_steps_total")], [1, 1, 1, 1, 1, 2, 2, 2])
        self.assertEqual(self.spans_of("optimizer"), list(range(8)))
        norms = dict(self.of(values, "train_grad_norm"))
        self.assertTrue(all(0 < norms[step] < 10 for step in norms if step not in (0, 5)), norms)
        # Gradients of a skipped step are not used, so ExplodingTensor must not see them.
        found = self.of(values, "train_tensor_mean", collection="gradients", tensor="gradient/layer.weight")
        self.assertEqual([step for step, _ in found], [1, 2, 3, 4, 6, 7])

    def test_loss_scale_is_recorded_without_watch(self):
        values = self.fit_with_scaler(pitwall.lightning_callback())
        self.assertEqual([step for step, _ in self.of(values, "train_loss_scale")], list(range(8)))
        self.assertEqual(set(v for _, v in self.of(values, "train_loss_scale")), {512.0, 256.0})

    def test_watch_of_submodule_records_its_tensors(self):
        outputs = pitwall.Collection("outputs", every=4, reductions="mean")
        self.fit(pitwall.lightning_callback(watch={"module": "layer", "collections": [
            outputs, pitwall.Collection("inputs", every=4, reductions="mean")]}))
        values = self.sent()
        self.assertEqual({v[3] for v in values if v[1].get("collection") == "inputs" and v[4] == "train"}, {0, 4})
        self.assertEqual(self.spans_of("step"), list(range(8)))
        self.assertEqual(self.spans_of("step", "eval"), [0, 1, 2, 3])

    def test_failure_is_logged_once_and_contained(self):
        callback = pitwall.lightning_callback()
        callback._time_checkpoints = None
        callback._log_step = None
        _guard._logged.clear()
        with self.assertLogs("pitwall", logging.DEBUG) as log:
            _, trainer = self.fit(callback)
        self.assertEqual(trainer.global_step, 8)
        failures = [line for line in log.output if "on_train_batch_end of lightning failed" in line]
        self.assertEqual(len(failures), 1, log.output)
