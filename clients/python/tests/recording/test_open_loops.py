"""Tests for the loop state that the collector receives, in each Update and as the series train_loop_open."""
import os
import time
import types

import support
import pitwall
from pitwall.recording import _open_loops


class OpenLoopsTest(support.ClientTest):
    def setUp(self):
        super().setUp()
        self.fake = self.collector()

    def states(self):
        """Returns the values of the series in the order in which they were sent."""
        return [int(v["value"]) for v in self.fake.all_values() if v["metric"] == _open_loops.METRIC]

    def sent(self):
        """Returns the loop state in the last Update."""
        updates = self.fake.messages("update")
        return updates[-1]["loop_open"] if updates else None

    def open(self):
        return support.client.recorder.loops.open

    def test_loop_state_is_not_sent_without_loop(self):
        self.start(self.fake)
        with pitwall.step():
            pitwall.log(loss=1)
        self.assertIsNone(self.open())
        pitwall.finish()
        self.fake.wait_for(lambda c: c.messages("goodbye"))
        self.assertEqual(self.states(), [])
        self.assertIsNone(self.sent())

    def test_exhausted_loop_is_closed_before_the_script_continues(self):
        self.start(self.fake)
        self.fake.wait_for(lambda c: c.messages("update"))
        for _ in pitwall.steps(range(3)):
            self.assertIs(self.open(), True)
        self.assertIs(self.open(), False)
        self.fake.wait_for(lambda c: self.sent() is False)
        self.fake.wait_for(lambda c: self.states()[-1:] == [0])

    def test_break_exception_or_close_ends_the_loop(self):
        self.start(self.fake)

        def leave_by_break():
            for _ in pitwall.steps(range(3)):
                break

        def leave_by_exception():
            with self.assertRaises(KeyError):
                for _ in pitwall.steps(range(3)):
                    raise KeyError("in the body")

        def leave_by_loader():
            def loader():
                yield 1
                raise OSError("no data")
            with self.assertRaises(OSError):
                for _ in pitwall.steps(loader()):
                    pass

        def leave_by_close():
            iterator = iter(pitwall.steps(range(3)))
            next(iterator)
            self.assertIs(self.open(), True)
            iterator.close()

        def leave_by_release():
            iterator = iter(pitwall.steps(range(3)))
            next(iterator)
            del iterator

        def leave_kept_iterable():
            kept = pitwall.steps(range(3))
            for _ in kept:
                break
            self.assertIs(self.open(), False)
            del kept

        for leave in (leave_by_break, leave_by_exception, leave_by_loader, leave_by_close, leave_by_release, leave_kept_iterable):
            with self.subTest(leave.__name__):
                leave()
                self.assertIs(self.open(), False)

    def test_nested_loop_does_not_close_the_outer_loop(self):
        self.start(self.fake)
        for _ in pitwall.steps(range(2)):
            with pitwall.mode("eval"):
                for _ in pitwall.steps(range(2)):
                    pass
            self.assertIs(self.open(), True)
        self.assertIs(self.open(), False)

    def test_loop_state_reopens_in_second_loop(self):
        self.start(self.fake)
        for epoch in range(2):
            for _ in pitwall.steps(range(2)):
                self.assertIs(self.open(), True)
            self.assertIs(self.open(), False)
        self.fake.wait_for(lambda c: self.states()[-1:] == [0])

    def test_manual_step_opens_a_loop_until_next_loop_closes(self):
        self.start(self.fake)
        for _ in pitwall.steps(range(2)):
            with pitwall.step():
                pass
        with pitwall.step():
            self.assertIs(self.open(), False)
        self.assertIs(self.open(), True)
        for _ in pitwall.steps(range(2)):
            pass
        self.assertIs(self.open(), False)

    def test_init_inside_loop_reopens_loop(self):
        self.start(self.fake)
        for i, _ in enumerate(pitwall.steps(range(3))):
            if i == 0:
                before = support.client.recorder
                self.start(self.fake)
            else:
                self.assertIs(self.open(), True)
                self.assertIs(before.loops.open, False)
        self.assertIs(self.open(), False)

    def test_exception_in_loop_ends_phases_of_hooks(self):
        self.start(self.fake)
        recorder = self.recorder()
        with self.assertRaises(RuntimeError):
            for _ in pitwall.steps(range(3)):
                recorder.begin_once({}, "backward", recorder.thread_phases(), "train")
                raise RuntimeError("out of memory")
        self.assertEqual(recorder.running()[0], "")

    def test_exhausting_earlier_iterator_does_not_end_phase(self):
        self.start(self.fake)
        iterator = iter(pitwall.steps(range(3)))
        next(iterator)
        iterator.close()
        iterator = iter(pitwall.steps(range(0)))
        with pitwall.phase("checkpoint"):
            list(iterator)
            self.assertEqual(self.recorder().running()[0], "checkpoint")

    def test_framework_loop_closes_when_its_function_raises(self):
        self.start(self.fake)
        package = types.ModuleType("framework_of_test")
        exec("def train(body):\n  body()\n", package.__dict__)
        loop = _open_loops.Loop("framework_of_test")

        def body():
            loop.enter(self.recorder())
            self.recorder().begin_phase("dataloader")
            self.fake.wait_for(lambda c: self.states()[-1:] == [1])
            beats = len(self.fake.messages("update"))
            self.fake.wait_for(lambda c: len(c.messages("update")) > beats + 2)  # the client checks on every second heartbeat
            self.assertIs(self.open(), True)
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            package.train(body)
        self.fake.wait_for(lambda c: self.states()[-1:] == [0])
        self.fake.wait_for(lambda c: self.sent() is False)
        self.assertEqual(self.recorder().running()[0], "")

    def test_total_wait_of_many_short_loops_is_limited(self):
        self.start(self.fake)
        self.fake.wait_for(lambda c: c.messages("update"))
        self.recorder().loops.flush = lambda timeout: time.sleep(timeout)  # simulates a collector that does not read
        began = time.monotonic()
        for _ in range(1000):
            for _ in pitwall.steps(range(1)):
                pass
        self.assertLess(time.monotonic() - began, 10)

    def test_forked_child_starts_without_a_loop(self):
        self.start(self.fake)
        for _ in pitwall.steps(range(1)):
            pass
        child = os.fork()
        if child == 0:
            os._exit(0 if support.client.recorder is None else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertIs(self.open(), False)


class EndOfProcessTest(support.ClientTest):
    def test_closed_loop_is_reported_before_abrupt_exit(self):
        begin = ("import os, sys, time, pitwall\npitwall.init(job='x')\n"
                 "while not pitwall.info(): time.sleep(0.01)\n"
                 "for _ in pitwall.steps(range(5)):\n  %s\n%s")
        for body, end, state in (("pass", "os._exit(0)", False),
                                 ("pass", "os.execv('/bin/true', ['true'])", False),
                                 ("if _ == 2: break", "os._exit(0)", False),
                                 ("time.sleep(0.3)\n  if _ == 2: os._exit(0)", "", True)):
            with self.subTest(body=body, end=end):
                collector = self.collector()
                self.script(begin % (body, end))
                collector.wait_for(lambda c: [u["loop_open"] for u in c.messages("update")][-1:] == [state])
                collector.close()
