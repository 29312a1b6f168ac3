"""Tests for the Hugging Face callback with the real Trainer. The tests use a tiny model created from scratch and in-memory data."""
import logging
import math

from framework_support import CallbackTest, framework

import pitwall
from pitwall import _guard

transformers, requires_transformers = framework("transformers")
torch, requires_torch = framework("torch")
accelerate, requires_accelerate = framework("accelerate")


@requires_torch
@requires_transformers
@requires_accelerate
class TransformersTest(CallbackTest):
    def trainer(self, callback, rows=16, **arguments):
        torch.manual_seed(1)
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        config = transformers.BertConfig(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
                                         intermediate_size=8, max_position_embeddings=8, num_labels=2)
        data = [{"input_ids": torch.randint(0, 20, (6,)), "labels": torch.tensor(n % 2)} for n in range(rows)]
        arguments = dict({"output_dir": self.folder + "/out", "per_device_train_batch_size": 4, "logging_steps": 1,
                          "per_device_eval_batch_size": 4, "use_cpu": True, "report_to": [], "disable_tqdm": True,
                          "num_train_epochs": 2, "save_strategy": "no", "dataloader_pin_memory": False}, **arguments)
        trainer = transformers.Trainer(
            model=transformers.BertForSequenceClassification(config), train_dataset=data, eval_dataset=data[:8],
            args=transformers.TrainingArguments(**arguments), callbacks=[callback])
        trainer.remove_callback(transformers.PrinterCallback)
        return trainer

    def test_optimizer_step_is_recorded_as_step_with_values(self):
        trainer = self.trainer(pitwall.transformers_callback(), gradient_accumulation_steps=2)
        trainer.train()
        values = self.sent()
        logged = [entry for entry in trainer.state.log_history if "loss" in entry]
        self.assertEqual(len(logged), 4)  # 4 batches per epoch, 2 per step, 2 epochs
        self.assertEqual(self.spans_of("step"), [0, 1, 2, 3])
        self.assertEqual(self.spans_of("dataloader"), [0, 1, 2, 3])
        for metric, name in (("train_loss", "loss"), ("train_learning_rate", "learning_rate"), ("train_epoch", "epoch"),
                             ("train_grad_norm", "grad_norm")):
            found = self.of(values, metric)
            self.assertEqual([step for step, _ in found], [0, 1, 2, 3], metric)
            for (_, value), entry in zip(found, logged):
                self.assertAlmostEqual(value, entry[name], 6, metric)

    def test_evaluations_and_checkpoints_are_recorded(self):
        trainer = self.trainer(pitwall.transformers_callback(), eval_strategy="steps", eval_steps=2, max_steps=4,
                               save_strategy="steps", save_steps=4)
        trainer.train()
        values = self.sent()
        right = [entry["eval_loss"] for entry in trainer.state.log_history if "eval_loss" in entry]
        self.assertEqual(len(right), 2)
        found = self.of(values, "train_loss", "eval")
        self.assertEqual([step for step, _ in found], [1, 3])  # the evaluation's own steps, two batches each
        for (_, value), loss in zip(found, right):
            self.assertAlmostEqual(value, loss, 6)
        self.assertEqual([step for step, _ in self.of(values, "train_loss")], [0, 1, 2, 3])
        self.assertEqual(self.spans_of("step", "eval"), [0, 1, 2, 3])
        self.assertEqual(len(self.spans_of("eval")), 2)
        self.assertEqual(len(self.spans_of("checkpoint")), 1)
        self.assertEqual(self.of(values, "train_checkpoint_step"), [(3, 3.0)])
        self.assertEqual(self.spans_of("dataloader"), [0, 1, 2, 3])

    def test_loop_is_open_until_train_returns(self):
        seen = []

        class Look(transformers.TrainerCallback):
            def on_step_end(look, *_, **__):
                seen.append(self.loop_is_open())
        trainer = self.trainer(pitwall.transformers_callback(), max_steps=2)
        trainer.add_callback(Look())
        trainer.train()
        self.assertEqual(seen, [True, True])
        self.assertIs(self.loop_is_open(), False)
        trainer.evaluate()
        self.assertIs(self.loop_is_open(), False)

    def test_loop_closes_when_train_raises(self):
        class Fail(transformers.TrainerCallback):
            def on_step_end(self, *_, **__):
                raise KeyboardInterrupt
        trainer = self.trainer(pitwall.transformers_callback(), max_steps=2)
        trainer.add_callback(Fail())
        with self.assertRaises(KeyboardInterrupt):
            trainer.train()
        self.wait_until_loop_closed()
        self.assertEqual(self.recorder().running()[0], "")

    def test_separate_evaluations_are_recorded(self):
        trainer = self.trainer(pitwall.transformers_callback(), max_steps=2, eval_on_start=True)
        trainer.evaluate()
        trainer.train()
        trainer.evaluate()
        trainer.predict(trainer.eval_dataset)
        self.assertEqual(self.recorder().thread_phases(), [])
        values = self.sent()
        self.assertEqual(self.spans_of("step"), [0, 1])
        self.assertEqual(self.spans_of("dataloader"), [0, 1])
        self.assertEqual(len(self.of(values, "train_loss", "eval")), 3)

    def test_resumed_training_continues_step_count(self):
        self.trainer(pitwall.transformers_callback(), max_steps=2, save_strategy="steps", save_steps=2).train()
        pitwall.finish(timeout=5)
        self.start(self.fake)
        before = len(self.fake.spans())
        self.trainer(pitwall.transformers_callback(), max_steps=4).train(
            resume_from_checkpoint=self.folder + "/out/checkpoint-2")
        self.fake.wait_for(lambda c: len([s for s in c.spans()[before:] if s["name"] == "step"]) == 2)
        self.assertEqual([s["step_plus_one"] - 1 for s in self.fake.spans()[before:] if s["name"] == "step"], [2, 3])

    def test_watch_records_loss_logged_by_trainer(self):
        trainer = self.trainer(pitwall.transformers_callback(watch={"every": 2}), gradient_accumulation_steps=2)
        trainer.train()
        values = self.sent()
        logged = [entry for entry in trainer.state.log_history if "loss" in entry]
        self.assertEqual([step for step, _ in self.of(values, "train_loss")], [0, 1, 2, 3])
        for (_, value), entry in zip(self.of(values, "train_loss"), logged):
            self.assertAlmostEqual(value, entry["loss"], 6)
        self.assertEqual([step for step, _ in self.of(values, "train_learning_rate")], [0, 1, 2, 3])
        self.assertEqual(self.spans_of("step"), [0, 1, 2, 3])
        self.assertEqual(self.spans_of("forward"), [0, 0, 1, 1, 2, 2, 3, 3])
        self.assertEqual(self.spans_of("backward"), [0, 0, 1, 1, 2, 2, 3, 3])
        self.assertEqual(self.spans_of("optimizer"), [0, 1, 2, 3])
        weights = {v[3] for v in values if v[1].get("collection") == "weights"}
        self.assertEqual(weights, {0, 2})
        self.assertFalse(trainer.model._forward_hooks)  # all hooks are removed at the end

    def train_with_scaler(self, callback):
        trainer = self.trainer(callback, max_steps=6)
        trainer.accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        factors = iter([float("inf")] + [1.0] * 5)  # the first step overflows, as in float16
        trainer.model.classifier.weight.register_hook(lambda gradient: gradient * next(factors))
        trainer.train()
        return trainer, self.sent()

    def test_watch_records_loss_scale_of_skipped_steps(self):
        _, values = self.train_with_scaler(pitwall.transformers_callback(watch={"grad_norm_every": 1}))
        scales = self.of(values, "train_loss_scale")
        self.assertEqual(scales, list(enumerate([1024.0] + [512.0] * 5)))
        self.assertEqual({value for _, value in self.of(values, "train_skipped_steps_total")}, {1})

    def test_logged_gradient_norm_includes_loss_scale(self):
        _, values = self.train_with_scaler(pitwall.transformers_callback())
        norms = dict(self.of(values, "train_grad_norm"))
        self.assertFalse(math.isfinite(norms[0]))
        self.assertEqual([step for step, _ in self.of(values, "train_loss_scale")], list(norms))

    def test_failure_is_logged_once_and_contained(self):
        callback = pitwall.transformers_callback()
        callback._progress = None
        callback.on_train_begin = lambda *a, **n: None
        _guard._logged.clear()
        with self.assertLogs("pitwall", logging.DEBUG) as log:
            trainer = self.trainer(callback)
            trainer.train()
        self.assertEqual(trainer.state.global_step, 8)
        failures = [line for line in log.output if "on_step_begin of transformers failed" in line]
        self.assertEqual(len(failures), 1, log.output)

    def test_callback_without_client_does_nothing(self):
        pitwall.finish(timeout=5)
        trainer = self.trainer(pitwall.transformers_callback(watch=True), eval_strategy="epoch")
        trainer.train()
        self.assertEqual(trainer.state.global_step, 8)
