"""Tests that the hooks of watch() do not change training, retain memory, raise, or wait for a device."""
import copy
import gc
import io
import pickle
import weakref

from torch_support import TorchTest, VERSION, torch

import pitwall


class DeviceTest(TorchTest):
    """Tests for numbers read from a device. The tests simulate the device's events, so that a GPU is not required."""

    class Event:
        def __init__(self):
            self.done = self.waited = False

        def query(self):
            return self.done

        def synchronize(self):
            self.waited = True

    def test_late_values_are_recorded_by_step_end(self):
        from pitwall.stats._statistics import Statistics
        statistics, recorder = Statistics(0), self.recorder()
        recorder.allow_late(2)
        events = [self.Event() for _ in range(4)]
        for step, event in enumerate(events):
            begun = recorder.begin_step()
            statistics._under_way.append((event, [("train_loss", (), None)], torch.tensor([float(step)]), "train", step))
            statistics.receive("train", step - 1)  # like watch() in every forward pass
            recorder.end_step(begun)
        self.assertEqual([e.waited for e in events], [True, True, False, False])
        events[2].done = True
        statistics.receive()
        self.assertEqual([e.waited for e in events], [True, True, False, False])
        self.assertEqual(len(statistics._under_way), 1)
        statistics.receive(everything=True)
        self.assertEqual(self.of(self.sent(), "train_loss"), {0: 0, 1: 1, 2: 2, 3: 3})

    def test_promises_wait_for_late_values_and_never_decrease(self):
        from fake_collector import broken_promises
        recorder = self.recorder()
        for step in range(40):
            begun = recorder.begin_step()
            if step == 10:
                recorder.allow_late(2)
            if step >= 12:
                recorder.record([("train_loss", (), 1.0)], "train", step - 2)
            recorder.end_step(begun)
            if step % 5 == 0:
                self.fake.wait_for(lambda c: len([s for s in c.spans() if s["kind"] == 1]) > step)
        values = self.of(self.sent(), "train_loss")
        self.assertEqual(sorted(values), list(range(10, 38)))
        (connection,) = self.fake.connections
        messages = [(name, message) for name, message, _ in connection]
        self.assertEqual(broken_promises(messages), [])
        below = [p["below_step"] for name, m in messages if name == "update" for p in m["step_promises"]]
        self.assertEqual(below, sorted(below))


class HarmlessTest(TorchTest):
    """Tests that training with hooks has the same results as training without hooks."""

    def test_training_with_and_without_hooks_is_identical(self):
        results = []
        for watched in (False, True):
            torch.manual_seed(3)
            model, loss = self.model(), torch.nn.CrossEntropyLoss()
            optimizer = torch.optim.Adam(model.parameters())
            if watched:
                pitwall.watch(model, optimizer, loss, every=2, labels=True)
            self.train(model, optimizer, loss, 9)
            results.append([p.detach().clone() for p in model.parameters()])
        for before, after in zip(*results):
            self.assertTrue(torch.equal(before, after))

    def test_close_removes_all_hooks(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        kept = dict(vars(optimizer))
        handle = pitwall.watch(model, optimizer, loss, every=1)
        self.train(model, optimizer, loss, 2)
        handle.close()
        handle.close()
        for module in [*model.modules(), loss]:
            self.assertFalse(module._forward_hooks or module._forward_pre_hooks)
        self.assertEqual("step" in vars(optimizer), "step" in kept)
        self.train(model, optimizer, loss, 2)
        self.assertEqual(sorted(self.of(self.sent(), "train_loss")), [0, 1])

    def test_second_watch_replaces_the_first(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss)
        pitwall.watch(model, optimizer, loss)
        self.train(model, optimizer, loss, 3)
        values = self.sent()
        self.assertEqual(len([v for v in values if v[0] == "train_loss"]), 3)

    def test_copies_and_pickles_have_no_active_hooks(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        keys = list(model.state_dict())
        pitwall.watch(model, optimizer, loss)
        self.assertEqual(list(model.state_dict()), keys)
        buffer = io.BytesIO()
        torch.save(model, buffer)
        self.assertNotIn(b"pitwall", buffer.getvalue())
        buffer.seek(0)
        options = {"weights_only": False} if VERSION >= (2, 0) else {}
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), torch.load(buffer, **options)):
            other(self.batch()[0])
        copy.deepcopy(optimizer), pickle.dumps(optimizer), copy.deepcopy(loss), pickle.dumps(optimizer.state_dict())
        self.train(model, optimizer, loss, 1)
        self.assertEqual(len([v for v in self.sent() if v[0] == "train_loss"]), 1)
        self.assertEqual(len(self.spans_of("forward")), 1)

    def test_failure_in_hook_is_logged_once_and_contained(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        handle = pitwall.watch(model, optimizer, loss, every=1)
        from pitwall import _guard

        class Broken(Exception):
            pass

        def fail(*_, **__):
            raise Broken("planted")
        handle._statistics.send = fail
        with self.assertLogs("pitwall", "DEBUG") as logged:
            self.train(model, optimizer, loss, 5)
        self.assertEqual(len([r for r in logged.records if r.exc_info and r.exc_info[0] is Broken]), 1)
        self.assertTrue(_guard._logged)

    def test_keyboard_interrupt_propagates(self):
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        handle = pitwall.watch(model, optimizer, loss, every=1)

        def interrupted(*_, **__):
            raise KeyboardInterrupt
        handle._statistics.send = interrupted
        with self.assertRaises(KeyboardInterrupt):
            self.train(model, optimizer, loss, 1)

    def test_unusable_tensors_are_skipped(self):
        class Odd(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.words = torch.nn.Embedding(50, 8, sparse=True)
                self.line = torch.nn.Linear(8, 3)
                self.turn = torch.nn.Parameter(torch.randn(3, dtype=torch.complex64))
                self.nothing = torch.nn.Parameter(torch.empty(0))

            def forward(self, ids):
                return self.line(self.words(ids).mean(1)) * self.turn.abs()
        model, loss = Odd(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss, every=1, inputs="tokens")
        for _ in range(2):
            optimizer.zero_grad()
            loss(model(torch.randint(0, 50, (4, 6))), torch.randint(0, 3, (4,))).backward()
            optimizer.step()
        values = self.sent()
        tensors = {v[1]["tensor"] for v in values if "collection" in v[1]}
        self.assertIn("words.weight", tensors)
        self.assertIn("gradient/line.weight", tensors)
        self.assertFalse(tensors & {"gradient/words.weight", "turn", "nothing"})
        self.assertEqual(self.of(values, "train_input_tokens", tensor="input"), {0: 24})

    def test_hooks_do_not_retain_graphs_or_memory(self):
        # The test does not start a collector, so the client's queue fills up quickly.
        self.start(queue=64, socket=self.path + ".nobody")
        model, loss = torch.nn.Linear(4, 2), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss, every=50)
        gone = []

        def run(steps):
            for _ in range(steps):
                output = model(torch.randn(2, 4))
                value = loss(output, torch.tensor([0, 1]))
                gone.append(weakref.ref(output))
                del gone[:-1]
                optimizer.zero_grad()
                value.backward()
                optimizer.step()
                del output, value

        run(1000)
        self.assertIsNone(gone[-1](), "the output must be released")
        gc.collect()
        self.assertFalse(gc.garbage)
        objects = len(gc.get_objects())
        run(10000)
        gc.collect()
        self.assertLess(len(gc.get_objects()) - objects, 100)

    def test_watched_model_can_be_released(self):
        model = self.model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loss = torch.nn.CrossEntropyLoss()
        handle = pitwall.watch(model, optimizer, loss, every=1)
        self.train(model, optimizer, loss, 2)
        gone = weakref.ref(model), weakref.ref(handle)
        del model, optimizer, loss, handle
        gc.collect()
        self.assertEqual([thing() for thing in gone], [None, None])

    def test_watch_without_client_does_not_affect_training(self):
        pitwall.finish()
        model, loss = self.model(), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss)
        self.train(model, optimizer, loss, 2)
        self.start()
        self.train(model, optimizer, loss, 2)
        pitwall.finish(timeout=5)
        self.fake.wait_for(lambda c: len(c.messages("goodbye")) == 2)
        self.assertEqual([v["step_plus_one"] for v in self.fake.values() if v["metric"] == "train_loss"], [1, 2])

    def test_invalid_arguments_are_rejected_without_raising(self):
        function = torch.nn.functional.mse_loss
        handle = pitwall.watch("no model", loss=function)
        self.assertIs(handle.loss, function)
        handle.close()
