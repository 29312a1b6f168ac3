"""Tests for the recorder and the sender's frames, with a fake clock and without threads or sockets."""
import random
import unittest

from support import FakeTime

from fake_collector import broken_promises, decode_client_message
from pitwall._identity import identify
from pitwall.recording._recorder import MAX_DEPTH, MAX_MODES, MAX_STATES, STATE_NS, STATE_REPEAT_NS, Recorder
from pitwall.transport._sender import Sender


class RecorderTest(unittest.TestCase):
    def setUp(self):
        self.time = FakeTime()
        self.recorder = Recorder(100, now=self.time)

    def items(self):
        taken = self.recorder.take()
        self.recorder.release(len(taken.items))
        return taken.items

    def step(self, number=None):
        begun = self.recorder.begin_step(number)
        self.recorder.end_step(begun)

    def test_steps_count_from_zero_per_mode(self):
        self.step()
        self.step()
        self.recorder.set_mode("eval")
        self.step()
        self.recorder.set_mode("train")
        self.step()
        self.assertEqual([(i.mode, i.step_plus_one) for i in self.items()],
                         [("train", 1), ("train", 2), ("eval", 1), ("train", 3)])

    def test_number_of_dropped_step_is_reused(self):
        self.step()
        self.recorder.drop_step(self.recorder.begin_step())
        self.step()
        self.assertEqual([i.step_plus_one for i in self.items()], [1, 2])

    def test_logged_number_corrects_running_step(self):
        begun = self.recorder.begin_step()
        self.recorder.log([("train_loss", 1.0)], (), 1000)
        self.recorder.end_step(begun)
        self.step()
        self.assertEqual([(i.name, i.step_plus_one) for i in self.items()],
                         [("train_loss", 1001), ("step", 1001), ("step", 1002)])

    def test_late_value_is_sent_without_step(self):
        self.step()
        self.step()
        self.recorder.begin_step()
        self.items()
        self.recorder.log([("train_loss", 1.0)], (), 1)
        self.recorder.log([("train_loss", 1.0)], (), 2)
        self.assertEqual([i.step_plus_one for i in self.items()], [0, 3])

    def test_step_lag_keeps_late_values(self):
        self.recorder = Recorder(100, step_lag=2, now=self.time)
        for _ in range(4):
            self.step()
        self.recorder.begin_step()
        taken = self.recorder.take()
        self.assertEqual(taken.steps, {"train": 2})
        self.recorder.log([("train_loss", 1.0)], (), 2)
        self.recorder.log([("train_loss", 1.0)], (), 1)
        self.assertEqual([i.step_plus_one for i in self.items()], [3, 0])

    def test_phase_that_outlasts_its_step_is_sent_without_step(self):
        begun = self.recorder.begin_step()
        phase = self.recorder.begin_phase("checkpoint")
        self.recorder.end_step(begun)
        self.step()
        self.recorder.end_phase(phase)
        self.assertEqual([(i.name, i.step_plus_one) for i in self.items()],
                         [("step", 1), ("step", 2), ("checkpoint", 0)])

    def test_running_phase_and_step_are_reported(self):
        self.assertEqual(self.recorder.take().running, ("", 0, 0, ""))
        self.recorder.begin_step(41)
        outer = self.recorder.begin_phase("forward")
        inner = self.recorder.begin_phase("collective")
        self.assertEqual(self.recorder.take().running, ("collective", inner[1], 42, "train"))
        self.recorder.end_phase(inner)
        self.assertEqual(self.recorder.take().running, ("forward", outer[1], 42, "train"))
        self.recorder.end_phase(outer)
        self.assertEqual(self.recorder.take().running, ("", 0, 42, "train"))

    def test_queue_is_bounded_and_drops_new_items(self):
        self.recorder = Recorder(10, now=self.time)
        for i in range(25):
            self.recorder.log([("train_x", float(i))], ())
        taken = self.recorder.take()
        self.assertEqual([i.number for i in taken.items], list(range(10)))
        self.assertEqual(taken.dropped, 15)
        self.recorder.log([("train_x", 0.0)], ())  # the sender still holds the ten items
        self.assertEqual(self.recorder.take().dropped, 16)
        self.recorder.release(10)
        self.recorder.log([("train_x", 0.0)], ())
        self.assertEqual(len(self.items()), 1)

    def test_modes_and_depth_are_bounded(self):
        for i in range(MAX_MODES + 5):
            self.recorder.set_mode("m%d" % i)
            begun = self.recorder.begin_step()
            self.assertEqual(begun is None, i >= MAX_MODES)
        for _ in range(MAX_DEPTH * 3):
            self.recorder.begin_phase("deep")
        self.assertEqual(len(self.recorder._thread.phases), MAX_DEPTH)

    def test_states_are_sent_while_a_step_hangs(self):
        self.recorder.begin_step()
        group = (("group", "default"),)
        self.recorder.set_state("train_x", group, 1.0)
        before = self.recorder.take()
        (item,) = before.items
        self.assertEqual((item.name, item.labels, item.number, item.step_plus_one, item.mode), ("train_x", group, 1.0, 0, ""))
        self.assertLessEqual(item.end, before.complete_until)
        self.recorder.set_state("train_x", group, 2.0)
        self.recorder.set_state("train_x", group, 3.0)
        self.assertEqual(self.items(), [], "states must be sent at most twice a second")
        self.time.now += STATE_NS
        (item,) = self.items()
        self.assertEqual(item.number, 3.0)
        self.assertGreater(item.end, before.complete_until, "the time must not be before an earlier promise")
        self.time.now += STATE_NS
        self.assertEqual(self.items(), [], "unchanged states must not be sent")
        self.time.now += STATE_REPEAT_NS
        self.assertEqual([i.number for i in self.items()], [3.0], "unchanged states must be repeated because the look-back of rules is bounded")
        for n in range(MAX_STATES + 10):
            self.recorder.set_state("train_y", (("n", str(n)),), 1.0)
        self.recorder.finish()
        self.assertEqual(len(self.items()), MAX_STATES - 1, "the number of states must be bounded, and all states must be sent at the end")

    def test_finished_recorder_promises_last_step(self):
        self.step()
        self.recorder.finish()
        self.step()
        taken = self.recorder.take()
        self.assertEqual(len(taken.items), 1)
        self.assertEqual(taken.steps["train"], 2)


class PromiseTest(unittest.TestCase):
    """Tests for promises in random training runs with randomly split frames. Promises are never broken, and only a rollback lowers a step promise."""

    def test_promises_hold_in_random_histories(self):
        first = random.randrange(1 << 32)
        for seed in range(first, first + 60):
            with self.subTest(seed=seed):
                self.assertEqual(broken_promises(self.history(random.Random(seed))), [])

    def test_step_promise_decreases_only_after_rollback(self):
        first = random.randrange(1 << 32)
        for seed in range(first, first + 60):
            below = {}
            for _, update in self.history(random.Random(seed), roll_back=False):
                for promise in update["step_promises"]:
                    self.assertGreaterEqual(promise["below_step"], below.get(promise["mode"], 0), "seed %d" % seed)
                    below[promise["mode"]] = promise["below_step"]

    def test_broken_promises_are_detected(self):
        update = {"spans": [], "values": [], "promise": 0, "step_promises": [], "sequence": 1}
        late = dict(update, promise=10), dict(update, promise=10, values=[{"time": 10, "step_plus_one": 0, "mode": ""}])
        self.assertEqual(len(broken_promises([("update", m) for m in late])), 1)
        value = {"time": 99, "step_plus_one": 5, "mode": "train"}
        steps = (dict(update, step_promises=[{"mode": "train", "below_step": 5}]),
                 dict(update, step_promises=[{"mode": "train", "below_step": 5}], values=[value]))
        self.assertEqual(len(broken_promises([("update", m) for m in steps])), 1)

    def history(self, dice, roll_back=True):
        recorder = Recorder(dice.choice((20, 1000)), step_lag=dice.choice((0, 0, 3)), now=FakeTime())
        sender = Sender(recorder, identify({}), [])
        messages = []
        begun, phases, backlog = None, [], []
        for _ in range(400):
            act = dice.randrange(9)
            if act == 0:
                begun = recorder.begin_step(fetching=dice.random() < 0.5)
                if begun and dice.random() < 0.8:
                    recorder.confirm_step(begun)
            elif act == 1 and begun:
                recorder.end_step(begun)
            elif act == 2:
                phases.append(recorder.begin_phase(dice.choice(("forward", "dataloader"))))
            elif act == 3 and phases:
                recorder.end_phase(phases.pop(dice.randrange(len(phases))))
            elif act == 4:
                recorder.log([("train_x", 1.0)], (), dice.choice((None, dice.randrange(60))))
            elif act == 5 and dice.random() < 0.2:
                recorder.set_mode(dice.choice(("train", "eval")))
            elif act == 6 and roll_back and dice.random() < 0.1:
                begun = recorder.begin_step(dice.randrange(60))  # possibly a rollback
            elif act == 7 and begun:
                recorder.drop_step(begun, keep_if_worked=dice.random() < 0.5)
            elif act == 8 and dice.random() < 0.3:
                taken = recorder.take()
                backlog.extend(taken.items)
                while True:
                    cut = dice.randrange(1, 8)
                    chunk, backlog = backlog[:cut], backlog[cut:]
                    messages.append(decode_client_message(sender._update(taken, chunk, backlog)))
                    recorder.release(len(chunk))
                    if not backlog:
                        break
        return messages
