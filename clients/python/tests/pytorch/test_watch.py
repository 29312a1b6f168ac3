"""End-to-end test of watch() with a collector. Checks the data from a real training run, by step and mode."""

from torch_support import TorchTest, VERSION, torch

import pitwall
from pitwall import Collection


class WatchTest(TorchTest):
    def test_watch_records_losses_phases_steps_and_learning_rate(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.25, momentum=0.9)
        seen = []
        loss.register_forward_hook(lambda *a: seen.append(float(a[2].detach())))
        pitwall.watch(model, optimizer, loss)
        self.train(model, optimizer, loss, 4)
        values = self.sent()
        self.assertEqual(self.of(values, "train_loss"), dict(enumerate(seen)))
        self.assertEqual(self.of(values, "train_learning_rate"), {s: 0.25 for s in range(4)})
        for name in ("forward", "backward", "optimizer", "step"):
            self.assertEqual(self.spans_of(name), [(s, "train") for s in range(4)], name)

    def test_steps_started_by_watch_reopen_loop(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss)
        loops = self.recorder().loops
        self.train(model, optimizer, loss, 1)
        self.assertIsNone(loops.open)
        for data, labels in pitwall.steps([self.batch()]):
            loss(model(data), labels).backward()
            optimizer.step()
        self.assertIs(loops.open, False)
        self.train(model, optimizer, loss, 1)
        self.assertIs(loops.open, True)

    def run_loop(self, model, steps):
        loss, optimizer = torch.nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss)
        for data, labels in pitwall.steps([self.batch() for _ in range(steps)]):
            loss(model(data), labels).backward()
            optimizer.step()

    def test_new_model_after_loop_restarts_steps_at_0(self):
        first, second = self.model(), self.model()
        self.run_loop(first, 3)
        self.run_loop(first, 3)   # a second epoch
        self.run_loop(torch.nn.DataParallel(first), 3)
        self.run_loop(second, 4)
        self.run_loop(second, 4)
        self.run_loop(first, 2)   # the previous model, continued
        self.sent()
        self.assertEqual([step for step, _ in self.spans_of("step")], list(range(9)) + list(range(10)))

    def test_models_of_one_loop_share_its_steps(self):
        generator, judge = self.model(), self.model()
        pitwall.watch(generator)
        self.run_loop(judge, 3)
        self.sent()
        self.assertEqual([step for step, _ in self.spans_of("step")], list(range(3)))

    def test_phase_of_failed_pass_ends_with_loop(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss)
        model.register_forward_pre_hook(self.fail_at_third_pass())
        with self.assertRaises(MemoryError):
            for data, labels in pitwall.steps([self.batch() for _ in range(4)]):
                loss(model(data), labels).backward()
                optimizer.step()
        self.assertEqual(self.recorder().running()[0], "")

    @staticmethod
    def fail_at_third_pass():
        passes = []

        def fail(*_):
            passes.append(1)
            if len(passes) == 3:
                raise MemoryError("in the forward pass")
        return fail

    def test_steps_and_phases_marked_by_script_are_kept(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss)
        batches = [self.batch() for _ in range(3)]
        for data, labels in pitwall.steps(batches, start=100):
            with pitwall.phase("forward"):
                value = loss(model(data), labels)
            with pitwall.phase("backward"):
                value.backward()
            with pitwall.phase("optimizer"):
                optimizer.step()
        values = self.sent()
        self.assertEqual(sorted(self.of(values, "train_loss")), [100, 101, 102])
        for name in ("forward", "backward", "optimizer", "step"):
            self.assertEqual(self.spans_of(name), [(s, "train") for s in (100, 101, 102)], name)

    def test_statistics_match_tensors_at_saved_steps(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss, every=3)
        weights, gradients, inputs, outputs = [model[0].weight.detach().clone()], [], [], []
        model[1].register_forward_hook(lambda m, i, o: (inputs.append(i[0].detach().clone()),
                                                        outputs.append(o.detach().clone())) and None)
        for _ in range(7):
            self.train(model, optimizer, loss, 1)
            weights.append(model[0].weight.detach().clone())
            gradients.append(model[0].weight.grad.clone())
        values = self.sent()

        def check(metric, collection, tensor, right):
            found = self.of(values, metric, collection=collection, tensor=tensor)
            self.assertEqual(sorted(found), sorted(right), metric)
            for step, number in right.items():
                self.assertAlmostEqual(found[step], float(number), 5, metric)
        saved = (0, 3, 6)
        check("train_tensor_mean", "weights", "0.weight", {s: weights[s + 1].mean() for s in saved})
        check("train_tensor_abs_mean", "gradients", "gradient/0.weight", {s: gradients[s].abs().mean() for s in saved})
        check("train_tensor_variance", "relu_input", "1.relu_input_0", {s: inputs[s].var(unbiased=False) for s in saved})
        check("train_tensor_zero_ratio", "relu_output", "1.relu_output_0",
              {s: (outputs[s] == 0).float().mean() for s in saved})
        check("train_tensor_update_abs_mean", "weights", "0.weight",
              {s: (weights[s + 1] - weights[s - 2]).abs().mean() for s in (3, 6)})
        check("train_tensor_previous_l2", "weights", "0.weight", {s: weights[s - 2].norm() for s in (3, 6)})
        dead = {s: ((outputs[s] != 0).float().mean(0) <= 0.5).sum() for s in saved}
        check_le = {"collection": "relu_output", "tensor": "1.relu_output_0", "le": "0.5"}
        self.assertEqual(self.of(values, "train_tensor_unit_activity_bucket", **check_le), dead)
        self.assertEqual(self.of(values, "train_tensor_unit_inside_bucket", collection="tanh_input",
                                 tensor="3.tanh_input_0", le="+Inf"), {s: 4 for s in saved})
        # A histogram needs an explicit request because it is not a default reduction.
        self.assertFalse([v for v in values if v[0] == "train_tensor_histogram_bucket"])

    def test_custom_collections_are_saved(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.Adam(model.parameters())
        pitwall.watch(model, optimizer, loss, collections=[
            Collection("mine", include=["^0.weight$", "relu_input", "sequential_input"], every=0, steps=[1],
                       reductions=["histogram", "max"], bounds=[0]),
            Collection("optimizer_variables", every=2, reductions="mean"),
            Collection("outputs", every=2, modes=["eval"], reductions="mean")])
        self.train(model, optimizer, loss, 3)
        with torch.no_grad():
            for _ in range(3):
                model.eval()(self.batch()[0])
        values = self.sent()
        named = {(v[1]["tensor"], v[3]) for v in values if v[1].get("collection") == "mine"}
        self.assertEqual(named, {("0.weight", 1), ("1.relu_input_0", 1), ("sequential_input_0", 1)})
        histogram = self.of(values, "train_tensor_histogram_bucket", collection="mine", tensor="0.weight", le="+Inf")
        self.assertEqual(histogram, {1: 128})
        self.assertTrue(self.of(values, "train_tensor_mean", collection="optimizer_variables",
                                tensor="optimizer/exp_avg/0.weight").keys() == {0, 2})
        outputs = {(v[1]["tensor"], v[3], v[4]) for v in values if v[1].get("collection") == "outputs"}
        self.assertEqual(outputs, {("%d.%s_output_0" % (i, kind), step, "eval") for step in (0, 2) for i, kind in
                                   enumerate(("linear", "relu", "linear", "tanh", "linear"))})

    def test_frozen_layer_has_no_changes(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        model[0].weight.requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss, every=1)
        self.train(model, optimizer, loss, 3)
        values = self.sent()
        changed = {v[1]["tensor"] for v in values if v[0] == "train_tensor_change_max"}
        self.assertEqual(changed, {"2.weight", "4.weight"})
        self.assertEqual(len(self.of(values, "train_tensor_mean", collection="weights", tensor="0.weight")), 3)

    def test_eval_passes_count_as_eval_steps(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss, every=2)
        for _ in range(2):
            self.train(model.train(), optimizer, loss, 2)
            model.eval()
            with torch.no_grad():
                for _ in range(3):
                    data, labels = self.batch()
                    loss(model(data), labels)
        values = self.sent()
        self.assertEqual(sorted(self.of(values, "train_loss")), [0, 1, 2, 3])
        self.assertEqual(sorted(self.of(values, "train_loss", mode="eval")), list(range(6)))
        self.assertEqual([mode for _, mode in self.spans_of("step")].count("eval"), 6)
        self.assertEqual(len(self.spans_of("eval")), 6)
        self.assertEqual(sorted(self.of(values, "train_tensor_mean", mode="eval", collection="relu_input",
                                        tensor="1.relu_input_0")), [0, 2, 4])
        self.assertFalse([v for v in values if v[4] == "eval" and v[1].get("collection") == "weights"])

    def test_explicit_mode_overrides_model_state(self):
        model = self.model().eval()
        pitwall.watch(model, loss=torch.nn.CrossEntropyLoss())
        with pitwall.mode("predict"):
            for _ in pitwall.steps(range(2)):
                with torch.no_grad():
                    model(self.batch()[0])
        self.sent()
        self.assertEqual(self.spans_of("step"), [(0, "predict"), (1, "predict")])
        self.assertEqual(self.spans_of("forward"), [(0, "predict"), (1, "predict")])

    def test_gradient_accumulation_does_not_miss_saved_steps(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss, every=4)
        for step, (data, labels) in enumerate(pitwall.steps([self.batch() for _ in range(12)])):
            loss(model(data), labels).backward()
            if step % 3 == 2:
                optimizer.step()
                optimizer.zero_grad()
        values = self.sent()
        self.assertEqual(sorted(self.of(values, "train_tensor_mean", collection="gradients",
                                        tensor="gradient/0.weight")), [5, 8])
        self.assertEqual(sorted(self.of(values, "train_tensor_mean", collection="relu_input",
                                        tensor="1.relu_input_0")), [0, 4, 8])

    def test_gradient_norm_is_recorded_before_clipping(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss, grad_norm_every=2)
        right = []
        for _ in range(5):
            data, labels = self.batch()
            optimizer.zero_grad()
            loss(model(data), labels).backward()
            right.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)))
            optimizer.step()
        found = self.of(self.sent(), "train_grad_norm")
        self.assertEqual(sorted(found), [0, 2, 4])
        for step, norm in found.items():
            self.assertAlmostEqual(norm, right[step], 5)

    def test_loss_function_and_loss_in_output_are_recorded(self):
        model = self.model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        handle = pitwall.watch(model, optimizer, torch.nn.functional.cross_entropy)
        self.train(model, optimizer, handle.loss, 2)
        handle.close()

        class WithLoss(torch.nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, data, labels):
                return {"loss": torch.nn.functional.cross_entropy(self.inner(data), labels), "other": 1}
        whole = WithLoss(self.model())
        optimizer = torch.optim.SGD(whole.parameters(), lr=0.1)
        pitwall.watch(whole, optimizer)
        for _ in range(2):
            whole(*self.batch())["loss"].backward()
            optimizer.step()
        self.assertEqual(sorted(self.of(self.sent(), "train_loss")), [0, 1, 2, 3])
        self.assertEqual(self.spans_of("backward"), [(s, "train") for s in range(4)])

    def test_labels_inputs_and_samples_are_recorded(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss, labels=True, inputs="images", batch_axis=0)
        self.train(model, optimizer, loss, 12)
        values = self.sent()
        self.assertEqual(self.of(values, "train_samples_total"), {s: 16 * (s + 1) for s in range(12)})
        self.assertEqual(sum(self.of(values, "train_label_samples_total", **{"class": str(c)})[11] for c in range(3)),
                         12 * 16)
        self.assertEqual(sum(v[2] for v in values if v[0] == "train_confusion_samples" and v[3] == 7), 16)
        self.assertEqual(self.of(values, "train_input_images", tensor="input"), {0: 16, 10: 16})

    def test_grad_scaler_records_scale_and_norm(self):
        if VERSION < (2, 3):
            self.skipTest("GradScaler runs on CUDA only before PyTorch 2.3")
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        pitwall.watch(model, optimizer, loss, scaler=scaler, grad_norm_every=1)
        right = []
        for _ in range(3):
            data, labels = self.batch()
            optimizer.zero_grad()
            scaler.scale(loss(model(data), labels)).backward()
            right.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)) / 1024)
            scaler.step(optimizer)
            scaler.update()
        values = self.sent()
        self.assertEqual(self.of(values, "train_loss_scale"), {s: 1024 for s in range(3)})
        for step, norm in self.of(values, "train_grad_norm").items():
            self.assertAlmostEqual(norm, right[step], 4)

    def test_loader_arguments_are_reported(self):
        data = torch.utils.data.TensorDataset(torch.randn(8, 8))
        for _ in pitwall.steps(torch.utils.data.DataLoader(data, batch_size=4)):
            pass
        for _ in pitwall.steps(torch.utils.data.DataLoader(data, batch_size=4, num_workers=2, prefetch_factor=3)):
            pass
        values = self.sent()
        self.assertEqual(self.of(values, "train_loader_workers_configured"), {0: 0, 2: 2})
        self.assertEqual(self.of(values, "train_loader_prefetch_factor")[2], 3)
        self.assertEqual(self.of(values, "train_loader_pin_memory"), {0: 0, 2: 0})
        # Two batches are delivered, one by each worker. A loader without workers does not send this value.
        self.assertEqual(sorted(self.of(values, "train_loader_workers")), [2, 3])

    def test_workers_seen_in_the_last_second_are_counted(self):
        from pitwall.loop import _loader
        clock = [0]

        class Recorder:
            recorded = []

            def now(self):
                return clock[0]

            def log(self, pairs, labels):
                self.recorded += [value for name, value in pairs if name == "train_loader_workers"]

        class Iterator:
            _task_info, _rcvd_idx = {}, 0

        data = torch.utils.data.TensorDataset(torch.randn(8, 8))
        facts = _loader.Facts(torch.utils.data.DataLoader(data), Iterator())
        for batch, (after, worker) in enumerate([(0, 0), (0.4, 1), (0.4, 2), (0.15, 0), (0.3, 1), (5, 2), (0.1, 2)]):
            Iterator._task_info, Iterator._rcvd_idx = {batch: (worker,)}, batch
            facts.expect()
            clock[0] += int(after * 1e9)
            facts.report(Recorder())
        self.assertEqual(Recorder.recorded, [1, 2, 3, 3, 3, 1, 1])

    def test_gpu_memory_is_recorded(self):
        from unittest import mock
        pitwall.watch(self.model())
        recorded = {}
        stand_in = {"allocated_bytes": {"all": {"current": 5, "peak": 7}}, "num_alloc_retries": 2,
                    "reserved_bytes": {"all": {"current": 11, "peak": 13}}}
        with mock.patch.object(torch.cuda, "memory_stats_as_nested_dict", lambda device: stand_in):
            pitwall.pytorch._torch_models.add_memory(recorded.__setitem__, None, 1000)
        self.assertEqual(recorded, {
            "train_gpu_memory_allocated_bytes": 5, "train_gpu_memory_peak_bytes": 7,
            "train_gpu_memory_reserved_bytes": 11, "train_gpu_memory_limit_bytes": 1000,
            "train_gpu_allocation_retries_total": 2})
