"""Tests for the C module. Its results are byte-identical to those of the Python implementation, and the package works without it."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import native_build
import support

_folder = None


def setUpModule():
    global _folder
    if native_build.compiler() is None:
        raise unittest.SkipTest("no C compiler, or no headers of this interpreter")
    _folder = tempfile.mkdtemp()
    native_build.build(_folder)


def tearDownModule():
    shutil.rmtree(_folder, ignore_errors=True)


SAME = """
import random, sys
from pitwall import _native, _wire
from pitwall.recording import _core, _recorder
from pitwall._identity import identify
from pitwall.transport._sender import Sender
assert _recorder.native is _native
seed = int(sys.argv[1])
dice = random.Random(seed)
clock = [0]

def now():
    clock[0] += 1
    return clock[0]

class Watcher:
    def __init__(self): self.seen = []
    def before_step(self, mode, number): self.seen.append(("before", mode, number))
    def after_step(self, mode, number): self.seen.append(("after", mode, number))

def play(core, kind, seed):
    # Runs a random training loop on one implementation. Both implementations must return the same results for the same seed.
    dice, results = random.Random(seed), []
    clock[0] = 1000
    core.step_watcher = watcher = Watcher()
    begun, phases, kept = None, [], {}
    for _ in range(300):
        act = dice.randrange(18)
        if act == 0:
            begun = core.begin_step(dice.choice((None, None, None, dice.randrange(40))), fetching=dice.random() < 0.5)
            if begun and dice.random() < 0.8: core.confirm_step(begun)
        elif act == 1 and begun: core.end_step(begun)
        elif act == 2: phases.append(core.begin_phase(dice.choice(("forward", "dataloader", "ph\\n\\u00e4"))))
        elif act == 3 and phases: results.append(core.end_phase(phases.pop(dice.randrange(len(phases))), dice.random() < 0.9))
        elif act == 4: core.log([("train_x", 1.5), ("train_y", float("inf"))], (("a", "b"),), dice.choice((None, dice.randrange(60))))
        elif act == 5: core.set_mode(dice.choice(("train", "eval", "m%d" % dice.randrange(20))))
        elif act == 6 and begun: core.drop_step(begun, keep_if_worked=dice.random() < 0.5)
        elif act == 7: core.record([("train_z", (("t", "w"), ("u", "v")), -0.0)], dice.choice(("train", "eval")), dice.choice((None, dice.randrange(60))))
        elif act == 8: results.append((core.step_number("train"), core.step_number("eval", open_only=True), core.next_step("train")))
        elif act == 9: results.append(core.running()[:1] + core.running()[2:])
        elif act == 10: results.append((core.in_phase("forward"), core.mode(), len(core.thread_phases()), core.pending()))
        elif act == 11 and dice.random() < 0.1: core.allow_late(dice.randrange(4))
        elif act == 12 and dice.random() < 0.3:
            items, at, steps, dropped, running = core.drain()
            results.append(([(i.kind, i.name, i.start, i.end, i.step_plus_one, i.mode, repr(i.number), i.labels) for i in items],
                         at, steps, dropped, running[:1] + running[2:]))
            core.release(len(items))
        elif act == 13 and dice.random() < 0.02: core.finished = True
        elif act == 14:
            there, mode, step = core.here(dice.random() < 0.5)
            results.append((len(there), mode, step, core.here()[1:]))
        elif act == 15:
            name = dice.choice(("forward", "eval", "optimizer"))
            core.begin_once(kept, name, core.thread_phases(), dice.choice(("train", "eval")))
            results.append((sorted(kept), kept[name][0] is core if name in kept else None))
        elif act == 17 and dice.random() < 0.2: core.restart_steps()
        elif act == 16: results.append((core.end_running(kept, dice.choice(("forward", "eval", "none")), *dice.choice(((), (False,)))), sorted(kept)))
    return results, watcher.seen

for turn in range(150):
    one = play(_core.Core(30, turn % 3, now), _core, seed + turn)
    two = play(_native.Core(30, turn % 3, now), _native, seed + turn)
    assert one == two, ("seed", seed + turn, one, two)

sender = Sender(_recorder.Recorder(100), identify({}), [])
for turn in range(4000):
    labels = tuple(("n%d" % n, dice.choice(("", "v", "\\u00e4" * 700, "c\\x01"))) for n in range(dice.randrange(3)))
    given = (dice.choice((0, 1, 2)), dice.choice(("", "step", "x" * 300, "\\u00e4\\ud800")), dice.getrandbits(dice.randrange(1, 62)), 0,
             dice.choice((0, 1, dice.getrandbits(61))), dice.choice(("", "train", "eval")), dice.choice((0.0, -0.0, 1e300, float("nan"))), labels)
    given = given[:3] + (given[2] + dice.getrandbits(dice.randrange(1, 40)),) + given[4:]
    expected = sender._encode(_core.Item(*given))
    assert _native.encode([_native.Item(*given)], sender._base) == expected, ("seed", seed, given)
"""

TROUBLE = """
import gc, sys, threading, weakref
from pitwall import _native
from pitwall.recording import _recorder
core = _native.Core(10)
for wrong in (lambda: core.end_step(None), lambda: core.end_phase(7), lambda: core.end_phase((1,)), lambda: core.begin_phase(3),
              lambda: core.log([1], ()), lambda: core.log([("a", "b")], ()), lambda: core.record([("a", (), None)], "train", 1),
              lambda: core.set_mode(None), lambda: core.begin_step("x"), lambda: _native.encode([1], 0), lambda: core.__init__(3),
              lambda: _native.Item(1, 2), lambda: core.log(None, None), lambda: core.confirm_step(()), lambda: core.begin_step(1 << 80)):
    try: wrong()
    except (TypeError, ValueError, RuntimeError, OverflowError): pass
    else: raise AssertionError(wrong)
# Finished threads and released recorders must not leak.
class Watched(_recorder.Recorder): pass
def once():
    recorder = Watched(100)
    recorder.step_watcher = type("W", (), {"before_step": lambda *_: None, "after_step": lambda *_: None, "recorder": recorder})()
    def work():
        for _ in range(50):
            step = recorder.begin_step()
            phase = recorder.begin_phase("forward")
            recorder.log([("train_x", 1.0)], ())
            recorder.end_phase(phase); recorder.end_step(step)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads: t.start()
    for t in threads: t.join()
    recorder.take()
    return weakref.ref(recorder)
kept = [once() for _ in range(20)]
gc.collect()
assert not any(reference() for reference in kept)
import resource
def grow(n):
    core = _native.Core(64)
    for _ in range(n):
        step = core.begin_step(); phase = core.begin_phase("forward"); core.record([("train_x", (), 1.0)], "train", 0)
        core.end_phase(phase); core.end_step(step)
        items = core.drain()[0]; _native.encode(items, 1 << 60); _native.lowest_steps(items); core.release(len(items))
grow(20000); before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
grow(100000)
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1500, "memory grows"
"""


class NativeTest(unittest.TestCase):
    def run_with(self, code, *arguments, **environment):
        env = dict(os.environ, PYTHONPATH=_folder, **environment)
        done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code, *arguments], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, universal_newlines=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        return done.stdout

    def test_native_and_python_cores_agree(self):
        self.run_with(SAME, "20261123")

    def test_invalid_arguments_raise_without_leaks(self):
        self.run_with(TROUBLE)

    def test_native_module_can_be_disabled(self):
        script = "from pitwall.recording import _recorder; print(_recorder.native)"
        self.assertIn("_native", self.run_with(script))
        self.assertEqual(self.run_with(script, PITWALL_NATIVE="0").strip(), "None")

    def test_module_built_for_another_interpreter_is_ignored(self):
        broken = tempfile.mkdtemp()
        try:
            shutil.copytree(os.path.join(support.SOURCES, "pitwall"), os.path.join(broken, "pitwall"))
            with open(os.path.join(broken, "pitwall", "_native.so"), "wb") as file:
                file.write(b"\x7fELF and nothing more")
            done = subprocess.run([sys.executable, "-c", "import pitwall; from pitwall.recording import _recorder; print(_recorder.native)"],
                                  env=dict(os.environ, PYTHONPATH=broken), stdout=subprocess.PIPE, check=True)
            self.assertEqual(done.stdout.strip(), b"None")
        finally:
            shutil.rmtree(broken)
