"""Tests for the time per step that a rank spends in a group's collectives, measured on the host and with the events of a fake device."""
import unittest

from support import FakeTime

from pitwall.pytorch import _collective_times
from pitwall.recording._recorder import Recorder


class FakeDevice:
    """Fake stream. The test decides when its events complete, and sets their times."""

    def __init__(self):
        self.time = 0.0
        self.done = 0
        self.made = 0
        self.in_use = 0
        self.side_stream = False
        self._order = []

    def record(self, device):
        if self.side_stream:
            return None
        self.in_use += 1
        self.made += 1
        self._order.append(self.made)
        return self.made, self.time

    def passed(self, event):
        return event[0] <= self.done

    def seconds(self, begin, end):
        return end[1] - begin[1]

    def give_back(self, device, event):
        self.in_use -= 1

    def finish_all(self):
        self.done = self.made


class CollectiveTimesTest(unittest.TestCase):
    def setUp(self):
        self.recorder = Recorder(10000, now=FakeTime())
        self.times = _collective_times.of(self.recorder)
        self.device = self.times.events = FakeDevice()

    def recorded(self):
        """Returns {step: {(metric, group, clock): value}}."""
        taken = self.recorder.take()
        self.recorder.release(len(taken.items))
        found = {}
        for item in taken.items:
            if item.name.startswith("train_collective"):
                labels = dict(item.labels)
                step = found.setdefault(item.step_plus_one - 1, {})
                key = item.name, labels["group"], labels["clock"]
                self.assertNotIn(key, step, "the step must not be reported twice")
                step[key] = item.number
        return found

    def collective(self, seconds, group="default"):
        begin = self.times.mark("gpu")
        self.device.time += seconds
        self.times.add_pair("train", group, "gpu", begin)

    def test_step_reports_total_time_and_count_per_group(self):
        begun = self.recorder.begin_step()
        self.times.add("train", "default", 0.25)
        self.times.add("train", "tensor", 0.125)
        self.times.add("train", "default", 0.5)
        self.recorder.end_step(begun)
        self.assertEqual(self.recorded(), {0: {
            ("train_collective_time_seconds", "default", "host"): 0.75, ("train_collective_calls", "default", "host"): 2.0,
            ("train_collective_time_seconds", "tensor", "host"): 0.125, ("train_collective_calls", "tensor", "host"): 1.0}})

    def test_collectives_outside_steps_and_in_dropped_steps_are_ignored(self):
        self.times.add("train", "default", 1.0)
        self.recorder.end_step(self.recorder.begin_step())
        dropped = self.recorder.begin_step()
        self.times.add("train", "default", 1.0)
        self.recorder.drop_step(dropped)
        begun = self.recorder.begin_step()
        self.times.add("train", "default", 0.5)
        self.recorder.end_step(begun)
        self.assertEqual([step[("train_collective_time_seconds", "default", "host")] for step in self.recorded().values()], [0.5])

    def test_corrected_step_number_is_reported(self):
        begun = self.recorder.begin_step()
        self.times.add("train", "default", 0.5)
        self.recorder.log([("train_loss", 1.0)], (), 100)
        self.recorder.end_step(begun)
        self.assertEqual(list(self.recorded()), [100])

    def test_device_events_are_read_after_completion(self):
        for seconds in (0.25, 0.5):
            begun = self.recorder.begin_step()
            self.collective(seconds)
            self.collective(seconds)
            self.recorder.end_step(begun)
        self.assertEqual(self.recorded(), {}, "the host must not wait for the device")
        self.device.finish_all()
        self.recorder.end_step(self.recorder.begin_step())
        self.assertEqual(self.recorded(), {step: {("train_collective_time_seconds", "default", "device"): 2 * seconds,
                                              ("train_collective_calls", "default", "device"): 2.0}
                                       for step, seconds in ((0, 0.25), (1, 0.5))})
        self.assertEqual(self.device.in_use, 0)

    def test_step_with_late_device_events_is_not_reported(self):
        begun = self.recorder.begin_step()
        self.collective(0.25)
        self.recorder.end_step(begun)
        for _ in range(_collective_times.LATE_STEPS):
            self.recorder.end_step(self.recorder.begin_step())
        self.device.finish_all()
        self.recorder.end_step(self.recorder.begin_step())
        self.assertEqual(self.recorded(), {})
        self.assertEqual(self.device.in_use, 0)

    def test_stuck_device_uses_bounded_number_of_events(self):
        for _ in range(3):
            begun = self.recorder.begin_step()
            for _ in range(_collective_times.MAX_PENDING):
                self.collective(0.25)
            self.recorder.end_step(begun)
        self.assertEqual(self.device.in_use, 2 * _collective_times.MAX_PENDING)
        self.device.finish_all()
        self.recorder.end_step(self.recorder.begin_step())
        self.assertEqual(list(self.recorded()), [], "a step with partial times must not be reported")
        self.assertEqual(self.device.in_use, 0)

    def test_step_with_collective_in_another_stream_is_not_reported(self):
        begun = self.recorder.begin_step()
        self.collective(0.25)
        self.device.side_stream = True
        self.collective(0.25)
        self.recorder.end_step(begun)
        self.device.finish_all()
        self.recorder.end_step(self.recorder.begin_step())
        self.assertEqual(self.recorded(), {})
        self.assertEqual(self.device.in_use, 0)

    def test_groups_and_asynchronous_collectives_are_bounded(self):
        begun = self.recorder.begin_step()
        for number in range(2 * _collective_times.MAX_GROUPS):
            self.times.add("train", str(number), 1.0)
        self.recorder.end_step(begun)
        self.assertEqual(len(self.recorded()[0]), 2 * _collective_times.MAX_GROUPS)
        works = [object() for _ in range(2 * _collective_times.MAX_WORKS)]
        for number, work in enumerate(works):
            self.times.remember(work, "default", number, None)
        self.assertEqual(self.times.forget(works[0]), (None, None, None))
        self.assertEqual(self.times.forget(works[-1]), ("default", len(works) - 1, None))
