"""Tests for the function that replaces the entry point of autograd's engine: recognized backward passes, and preserved behavior."""
import gc
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import native_build
import support
from torch_support import TorchTest, requires_torch, torch

import pitwall
from pitwall._client import client
from pitwall.recording import _recorder

NAME = "_engine_run_backward"


def function():
    return getattr(torch.autograd, NAME, None)


def around_it(loss):
    """Runs the pass as a C++ runtime would, without any Python function from PyTorch."""
    torch.autograd.Variable._execution_engine.run_backward(
        (loss,), (torch.ones_like(loss),), False, False, (), allow_unreachable=True, accumulate_grad=True)


@unittest.skipIf(torch is None or function() is None, "this version of PyTorch has no such function")
class BackwardTest(TorchTest):
    def setUp(self):
        super().setUp()
        gc.collect()  # frees models watched by earlier tests
        self.original = function()

    def watched(self, **options):
        self.net, self.criterion = self.model(), torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        return pitwall.watch(self.net, self.optimizer, self.criterion, **options)

    def steps(self, *passes):
        """Trains one step per function, each of which runs the backward pass. Returns whether the loss had a hook in each step."""
        hooked = []
        for backward in passes:
            data, labels = self.batch()
            self.optimizer.zero_grad()
            loss = self.criterion(self.net(data), labels)
            hooked.append(bool(loss._backward_hooks))
            backward(loss)
            self.optimizer.step()
        return hooked

    def backwards(self):
        self.sent()
        return [step for step, _ in self.spans_of("backward")]

    def test_loss_has_hook_in_first_step_only(self):
        self.watched()
        self.assertEqual(self.steps(*[torch.Tensor.backward] * 4), [True, False, False, False])
        self.assertEqual(self.backwards(), [0, 1, 2, 3])

    def test_backward_pass_of_scaled_loss_is_recognized(self):
        self.watched()

        def scaled(loss):
            (loss * 1024 / 3).backward()
        self.assertEqual(self.steps(*[scaled] * 3), [True, False, False])
        self.assertEqual(self.steps(torch.Tensor.backward), [False])  # the loss itself is now also recognized
        self.assertEqual(self.backwards(), [0, 1, 2, 3])

    def test_every_python_entry_point_is_recognized(self):
        self.watched()

        def grad(loss):
            for parameter, gradient in zip(self.net.parameters(), torch.autograd.grad(loss, list(self.net.parameters()))):
                parameter.grad = gradient

        def in_a_thread(loss):
            thread = threading.Thread(target=loss.backward)
            thread.start()
            thread.join()
        ways = [lambda loss: torch.autograd.backward([loss]), grad, in_a_thread,
                lambda loss: loss.backward(inputs=list(self.net.parameters())),
                lambda loss: torch.autograd.backward(tensors=(loss,), grad_tensors=(torch.tensor(2.0),))]
        self.assertEqual(self.steps(*ways), [True] + [False] * 4)
        self.assertEqual(self.backwards(), [0, 1, 2, 3, 4])

    def test_hook_stays_if_passes_bypass_replaced_function(self):
        handle = self.watched()
        self.assertEqual(self.steps(*[around_it] * 5), [True] * 5)
        self.assertIs(function(), self.original)  # the replacement was removed
        self.assertIsNone(handle._passes)
        self.assertEqual(self.backwards(), [0, 1, 2, 3, 4])

    def test_hook_is_restored_after_missed_pass(self):
        self.watched(grad_norm_every=1)
        self.assertEqual(self.steps(*[torch.Tensor.backward] * 2, *[around_it] * 3), [True, False, False, True, True])
        values = self.sent()
        self.assertEqual([step for step, _ in self.spans_of("backward")], [0, 1, 3, 4])
        self.assertEqual(sorted(self.of(values, "train_grad_norm")), [0, 1, 2, 3, 4])

    def test_step_without_backward_pass_does_not_count_as_missed(self):
        self.watched()
        other = self.model()

        def of_the_other(loss):
            other(self.batch()[0]).sum().backward()
            loss.backward()
        self.assertEqual(self.steps(*[of_the_other] * 3), [True, False, False])
        self.criterion(self.net(self.batch()[0]), self.batch()[1])  # a loss without a backward pass
        self.assertEqual(self.steps(torch.Tensor.backward), [False])
        self.assertEqual(self.backwards(), [0, 1, 2, 3])

    def test_each_pass_of_a_step_is_a_phase(self):
        self.watched()

        def twice(loss):
            loss.backward(retain_graph=True)
            loss.backward()
        self.steps(*[twice] * 3)
        self.assertEqual(self.backwards(), [0, 0, 1, 1, 2, 2])

    def test_nested_pass_belongs_to_outer_pass(self):
        from torch.utils.checkpoint import checkpoint

        class Checkpointed(torch.nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, data):
                return checkpoint(self.inner, data, use_reentrant=True)
        model, loss = Checkpointed(self.model()), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        pitwall.watch(model, optimizer, loss)
        for _ in range(3):
            optimizer.zero_grad()
            loss(model(self.batch()[0].requires_grad_()), self.batch()[1]).backward()
            optimizer.step()
        self.assertEqual(self.backwards(), [0, 1, 2])

    def test_two_watched_models_share_a_pass(self):
        nets, criterion = [self.model(), self.model()], torch.nn.CrossEntropyLoss()
        handles = [pitwall.watch(net, torch.optim.SGD(net.parameters(), lr=0.1), loss=criterion if net is nets[0] else None,
                                 grad_norm_every=1) for net in nets]
        for _ in pitwall.steps(range(4)):
            data, labels = self.batch()
            criterion(nets[0](data) + nets[1](data), labels).backward()
        self.assertTrue(all(handle._passes.state for handle in handles))
        handles[0].close()
        self.assertIsNot(function(), self.original)
        handles[1].close()
        self.assertIs(function(), self.original)

    def test_error_in_pass_propagates_and_next_pass_is_recognized(self):
        self.watched()
        self.steps(*[torch.Tensor.backward] * 2)
        planted = ValueError("planted")

        def fail(_):
            raise planted
        loss = self.criterion(self.net(self.batch()[0]), self.batch()[1])
        loss.register_hook(fail)
        with self.assertRaises(ValueError) as raised:
            loss.backward()
        self.assertIs(raised.exception, planted)
        with self.assertRaises(RuntimeError):  # a freed graph cannot be traversed again
            loss = self.criterion(self.net(self.batch()[0]), self.batch()[1])
            loss.backward()
            loss.backward()
        self.assertEqual(self.steps(*[torch.Tensor.backward] * 2), [False, False])
        self.assertEqual(self.recorder().thread_phases(), [])

    def test_failing_clock_does_not_affect_training(self):
        broken = []

        def now():
            if broken:
                raise OSError("planted")
            return time.monotonic_ns()
        self.addCleanup(setattr, client, "recorder", client.recorder)
        client.recorder = _recorder.Recorder(1000, now=now)
        self.watched()
        self.steps(*[torch.Tensor.backward] * 2)
        broken.append(True)
        self.steps(*[torch.Tensor.backward] * 2)

    def test_replacement_keeps_attributes_of_original(self):
        public = torch.autograd.backward
        handle = self.watched()
        ours = function()
        self.assertIsNot(ours, self.original)
        self.assertEqual((ours.__name__, ours.__qualname__, ours.__module__, ours.__doc__, ours.__wrapped__),
                         (self.original.__name__, self.original.__qualname__, self.original.__module__, self.original.__doc__, self.original))
        self.assertIs(torch.autograd.backward, public)
        self.assertIs(pickle.loads(pickle.dumps(torch.autograd.backward)), public)
        self.assertIs(pickle.loads(pickle.dumps(ours)), ours)
        for wrong in ((), (1, 2)):
            with self.assertRaises(TypeError):
                ours(*wrong)
        handle.close()
        self.assertIs(function(), self.original)
        self.assertIs(getattr(torch.autograd.graph, NAME), self.original)

    def test_third_party_wrapper_is_kept(self):
        handle, calls = self.watched(), []
        ours = function()

        def theirs(*arguments, **named):
            calls.append(len(arguments))
            return ours(*arguments, **named)
        torch.autograd._engine_run_backward = theirs
        try:
            self.steps(*[torch.Tensor.backward] * 2)
            handle.close()
            self.assertIs(function(), theirs)
            self.steps(torch.Tensor.backward)  # runs through our replacement, which has no effect
            handle = self.watched()
            self.assertIs(function(), theirs)  # our replacement is already behind this wrapper
            self.assertEqual(self.steps(*[torch.Tensor.backward] * 2), [True, False])
            self.assertEqual(len(calls), 5)
        finally:
            setattr(torch.autograd, NAME, self.original)  # PyTorch's own patches restore the replaced function in the same way
        self.assertEqual(self.steps(*[torch.Tensor.backward] * 2), [False, True])
        handle.close()
        handle = self.watched()  # reinstalls the replacement
        self.assertIsNot(function(), self.original)
        self.assertEqual(self.steps(*[torch.Tensor.backward] * 2), [True, False])
        handle.close()
        self.assertIs(function(), self.original)

    def test_released_models_leave_no_state(self):
        self.watched()
        self.steps(*[torch.Tensor.backward] * 2)
        del self.net, self.criterion, self.optimizer
        gc.collect()
        self.assertIs(function(), self.original)


SAME = """
import sys
import torch
import pitwall
from pitwall._client import client
from pitwall.recording import _recorder
assert (_recorder.native is not None) == (sys.argv[1] == "C"), _recorder.native
torch.set_num_threads(1)
recorder = client.recorder = _recorder.Recorder(10**6)
torch.manual_seed(5)
def train(model, optimizer, criterion, accumulate=1, loss=None, scheduler=None):
    for part in range(accumulate):
        value = criterion(model(torch.randn(4, 8)), torch.randint(0, 3, (4,)))
        (value / accumulate if accumulate > 1 else value).backward()
    optimizer.step()
    optimizer.zero_grad()
for options in ({}, {"grad_norm_every": 0}, {"grad_norm_every": 1, "every": 3}, {"labels": True}, {"batch_axis": 0}, {"steps": False},
                {"collections": [pitwall.Collection("losses", every=2), pitwall.Collection("inputs", every=3)]},
                {"collections": [pitwall.Collection("weights", every=4, modes="train")]}):
    model = torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3))
    criterion, optimizer = torch.nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters())
    handle = pitwall.watch(model, optimizer, criterion, **options)
    for _ in range(4):
        train(model, optimizer, criterion)
    for _ in pitwall.steps(range(12)):
        train(model, optimizer, criterion)
    for _ in pitwall.steps(range(3)):
        train(model, optimizer, criterion, accumulate=3)
    model.eval()
    with torch.no_grad():
        criterion(model(torch.randn(4, 8)), torch.randint(0, 3, (4,)))
    with pitwall.mode("predict"):
        model(torch.randn(4, 8))
    model.train()
    with pitwall.mode("eval"):
        for _ in pitwall.steps(range(2)):
            train(model, optimizer, criterion)
    try:
        model(torch.randn(4, 9))
    except RuntimeError:
        pass
    model[0].weight.requires_grad_(False)
    train(model, optimizer, criterion)
    model.double()
    criterion(model(torch.randn(4, 8).double()), torch.randint(0, 3, (4,))).backward()
    optimizer.param_groups[0]["lr"] = torch.tensor(0.5)
    with pitwall.step(1000):
        with pitwall.phase("forward"):
            criterion(model(torch.randn(4, 8).double()), torch.randint(0, 3, (4,))).backward()
    client.recorder = None
    model.float()
    train(model, optimizer, criterion)
    client.recorder = recorder
    handle.close()
for item in recorder.drain()[0]:
    assert item.start <= item.end
    print(item.kind, item.name, item.step_plus_one, item.mode, item.number, item.labels)
print(recorder.thread_phases())
"""


@requires_torch
@unittest.skipIf(native_build.compiler() is None, "no C compiler, or no headers of this interpreter")
class SameInCTest(unittest.TestCase):
    def test_c_and_python_hooks_record_identical_data(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        native_build.build(folder)
        outputs = {}
        for way in ("C", "Python"):
            env = dict(os.environ, PYTHONPATH=folder, PITWALL_NATIVE="1" if way == "C" else "0")
            done = subprocess.run([sys.executable, "-c", SAME, way], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  universal_newlines=True, timeout=600)
            self.assertEqual(done.returncode, 0, done.stderr[-3000:])
            outputs[way] = done.stdout.splitlines()
        self.assertGreater(len(outputs["C"]), 1000)
        self.assertEqual(outputs["C"], outputs["Python"])
