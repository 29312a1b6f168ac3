"""Tests for the response to a Capture message: bounded stacks of all threads, regardless of what the training thread is doing."""
import os
import subprocess
import sys
import threading
import time
import unittest

from support import SOURCES, ClientTest

import pitwall
from fake_collector import decode_client_message
from pitwall import _wire
from pitwall.capture import _profile, _stacks
from pitwall.pytorch import _operations


def here_i_wait(event):
    event.wait()


def deep(levels, event):
    if levels:
        deep(levels - 1, event)
    else:
        event.wait()


class CaptureTest(ClientTest):
    def capture(self, collector, ident="c1", look=1):
        collector.capture(ident, look)
        collector.wait_for(lambda c: any(m["id"] == ident and m["look"] == look for m in c.messages("captured")), 60)
        return next(m for m in collector.messages("captured") if m["id"] == ident and m["look"] == look)

    def background(self, target, *arguments, name):
        event = threading.Event()
        thread = threading.Thread(target=target, args=(*arguments, event), name=name, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(event.set)

    def test_hello_announces_captures(self):
        collector = self.collector()
        self.start(collector)
        self.assertEqual(collector.messages("hello")[0]["captures"], 1)

    def test_response_contains_threads_functions_and_lines(self):
        collector = self.collector()
        self.start(collector)
        self.background(here_i_wait, name="my-loader")
        answer = self.capture(collector)
        first = answer["threads"][0]
        self.assertEqual((first["main"], first["name"]), (1, "MainThread"))
        self.assertEqual(first["id"], threading.main_thread().native_id)
        self.assertTrue(any(line.startswith(self._testMethodName) and "test_stacks.py:" in line for line in first["frames"]),
                        first["frames"])
        loader = next(thread for thread in answer["threads"] if thread["name"] == "my-loader")
        self.assertTrue(any(line.startswith("here_i_wait (") for line in loader["frames"]))
        self.assertEqual([t["frames"] for t in answer["threads"] if t["name"] == "pitwall"], [[]])  # the client's own thread
        self.assertGreater(answer["cpu_seconds"], 0)
        self.assertGreater(answer["io_bytes"], 0)
        self.assertEqual(answer["left_out"], 0)

    def test_response_contains_phase_step_and_mode(self):
        collector = self.collector()
        self.start(collector)
        for _ in pitwall.steps(range(1)):
            with pitwall.phase("forward"):
                answer = self.capture(collector)
        self.assertEqual((answer["phase"], answer["mode"], answer["step_plus_one"]), ("forward", "train", 1))
        self.assertEqual(answer["collective"], [])

    def test_response_contains_running_collective(self):
        collector = self.collector()
        self.start(collector)
        self.recorder().set_state("train_collective_operations_total", (("group", "default"),), 137.0)
        with pitwall.phase("collective"):
            answer = self.capture(collector)
        self.assertEqual(answer["collective"], [{"group": "default", "operation": "", "sequence": 137, "bytes": 0}])

    def test_response_names_the_awaited_collective_of_several_groups(self):
        collector = self.collector()
        self.start(collector)
        operations = _operations.of(self.recorder())
        operations.begin("default", "barrier", 0)
        operations.begin("tensor-parallel", "all_gather", 0)
        number = operations.begin("tensor-parallel", "all_reduce", 4096)
        operations.enter("tensor-parallel", number)
        with pitwall.phase("collective"):
            answer = self.capture(collector)
        self.assertEqual(answer["collective"], [{"group": "tensor-parallel", "operation": "all_reduce", "sequence": 2, "bytes": 4096}])
        operations.leave()
        self.assertEqual(self.capture(collector, "c2")["collective"], [])

    def test_two_captures_of_idle_thread_are_equal(self):
        collector = self.collector()
        self.start(collector)
        self.background(here_i_wait, name="still")
        looks = [self.capture(collector, look=look) for look in (1, 2)]
        stills = [[t for t in look["threads"] if t["name"] == "still"] for look in looks]
        self.assertEqual(stills[0], stills[1])

    def test_deep_stacks_are_truncated(self):
        collector = self.collector()
        self.start(collector)
        self.background(deep, 100, name="deep")
        answer = self.capture(collector)
        thread = next(thread for thread in answer["threads"] if thread["name"] == "deep")
        self.assertEqual(len(thread["frames"]), _stacks.MAX_FRAMES)
        self.assertGreaterEqual(answer["left_out"], 100 - _stacks.MAX_FRAMES)

    def test_response_with_many_threads_fits_in_64_kib(self):
        collector = self.collector()
        self.start(collector)
        for number in range(70):
            self.background(deep, 100, name="%s-%d" % ("x" * 300, number))
        answer = self.capture(collector)
        self.assertLessEqual(max(len(body) for body in collector.raw), 64 << 10)
        self.assertEqual((answer["threads"][0]["main"], len(answer["threads"]) <= _stacks.MAX_THREADS), (1, True))
        self.assertTrue(all(len(f.encode()) <= 200 for t in answer["threads"] for f in t["frames"]))
        self.assertGreater(answer["left_out"], 0)

    def test_client_responds_while_training_waits_or_spins(self):
        for what in ("import time; time.sleep(30)", "while True: pass", "import socket; a, b = socket.socketpair(); a.recv(1)",
                     "import threading; threading.Lock().acquire() and threading.Event().wait()"):
            with self.subTest(what):
                collector = self.collector()
                script = ("import pitwall, threading\npitwall.init(job='demo')\ndef stuck():\n    %s\n"
                          "threading.Thread(target=lambda: None).start()\nstuck()\n" % what)
                thread = threading.Thread(target=self.stuck, args=(script,))
                thread.start()
                try:
                    collector.wait_for(lambda c: c.messages("hello"), 60)
                    wait = time.monotonic() + 60
                    while True:
                        answer = self.capture(collector, "c-%d" % len(collector.messages("captured")))
                        frames = answer["threads"][0]["frames"]
                        if any(line.startswith("stuck (<string>:") for line in frames):
                            break
                        self.assertLess(time.monotonic(), wait, frames)
                finally:
                    self.process.kill()
                    thread.join()
                    collector.close()

    def stuck(self, script):
        env = dict(os.environ, PYTHONPATH=SOURCES, PITWALL_SOCKET=self.path)
        self.process = subprocess.Popen([sys.executable, "-c", script], env=env)
        self.process.wait()

    def test_response_contains_operators_of_last_profile(self):
        collector = self.collector()
        self.start(collector)
        profiler = self.recorder().profiler = _profile.Profiler(self.recorder())
        profiler.keep([("train_operator_seconds", (("operator", "aten::mm"),), 0.5), ("train_loss", (), 1.0),
                       ("train_operator_seconds", (("operator", "aten::add"),), 0.75)])
        self.assertEqual(self.capture(collector)["operators"], ["aten::add 0.75 s", "aten::mm 0.5 s"])

    def test_internal_failure_sends_no_response_and_is_contained(self):
        collector = self.collector()
        self.start(collector)
        original, _stacks.threads = _stacks.threads, None
        try:
            collector.capture("bad")
            count = len(collector.messages("update"))
            collector.wait_for(lambda c: len(c.messages("update")) > count + 1)
        finally:
            _stacks.threads = original
        self.assertEqual(collector.messages("captured"), [])
        self.assertEqual(self.capture(collector, "good")["id"], "good")


class WireTest(unittest.TestCase):
    def test_other_messages_are_not_captures(self):
        self.assertIsNone(_wire.read_capture(_wire.message(2, _wire.integer(1, 5))))
        self.assertIsNone(_wire.read_capture(_wire.message(4, _wire.integer(1, 5))))
        self.assertEqual(_wire.read_capture(_wire.message(4, _wire.string(1, "a") + _wire.integer(2, 2))), ("a", 2))

    def test_control_characters_are_replaced(self):
        body = _wire.captured(b"", [_wire.thread_stack(1, "a\x1b[31m", True, ["f (\n:1)"])], 0)
        stack = decode_client_message(body)[1]["threads"][0]
        self.assertEqual((stack["name"], stack["frames"]), ("a?[31m", ["f (?:1)"]))
