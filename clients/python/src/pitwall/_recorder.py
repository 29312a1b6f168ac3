"""Recorder of the training threads: takes times, counts steps, and puts spans and values into a bounded queue.

The hot path is a Core: of _native.c where it was built, else of _core.py, whose comments hold for both. Here is what comes
seldom: numbers that hold until they change, and the end.
"""
import os
import sysconfig
import threading
from collections import namedtuple

from . import _core
from ._core import MAX_DEPTH, MAX_MODES  # noqa: F401
from ._open_loops import OpenLoops

MAX_STATES = 256
STATE_NS = 500_000_000  # a state that changes is told so often at most
STATE_REPEAT_NS = 10_000_000_000  # and one that does not at least so often: rules look back for some time only

# What take() returns: the items, the time up to which they are complete, (mode, below_step) of each mode, and the
# phase that runs in the training thread: name, since when, step + 1, mode.
Taken = namedtuple("Taken", "items complete_until steps dropped running")


def _find_native():
    """The module in C, or None. An interpreter without a lock would take its lock back for it: there it is left alone."""
    if os.environ.get("PITWALL_NATIVE", "").strip() == "0" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    try:
        from . import _native
        return _native
    except Exception:  # not built, or built for another interpreter
        return None


native = _find_native()
Item = native.Item if native else _core.Item


class Recorder(native.Core if native else _core.Core):
    def __init__(self, capacity, step_lag=0, now=None):
        super().__init__(capacity, step_lag, now)
        self._states_lock = threading.RLock()
        self._states = {}  # (metric, labels) -> number
        self._changed_states = set()
        self._state_sources = []
        self._states_told = self._states_repeated = -STATE_REPEAT_NS
        self._state_is_due = False
        self.operations = None  # collectives begun and completed, once there was one
        self.loops = OpenLoops(self)

    def set_state(self, metric, labels, number, at_once=False):
        """A number that holds from now on, whatever step runs: told without a step, so that it is seen while one hangs.
        at_once: with the next Update."""
        with self._states_lock:
            key = metric, labels
            if key in self._states or len(self._states) < MAX_STATES or at_once:
                self._states[key] = number
                self._changed_states.add(key)
                self._state_is_due |= at_once

    def add_states(self, source):
        """source(set_state) is called before states are told: for numbers that change too often to be set each time."""
        with self._states_lock:
            self._state_sources.append(source)

    def states(self):
        """((metric, labels), number) of each state."""
        with self._states_lock:
            return list(self._states.items())

    # The sender's side.

    def take(self):
        """Empties the queue. The items count against the capacity until release()."""
        items, now, steps, dropped, running = self.drain()
        if self._states or self._state_sources:
            with self._states_lock:
                states = self._take_states(now)
            self.hold(len(states))
            items += states
        return Taken(items, now - 1, steps, dropped, running)

    def _take_states(self, now):
        if now - self._states_told < STATE_NS and not self.finished and not self._state_is_due:
            return []
        self._state_is_due = False
        for source in self._state_sources:
            source(self.set_state)
        repeated = now - self._states_repeated >= STATE_REPEAT_NS
        changed, self._changed_states = self._changed_states, set()  # the garbage collector may set a state from here on
        due = list(self._states if repeated else changed)
        # At the last moment that this Update promises: after everything that was promised before.
        items = [Item(0, metric, now - 1, now - 1, 0, "", self._states[metric, labels], labels) for metric, labels in due]
        self._states_told = now
        if repeated:
            self._states_repeated = now
        return items

    def finish(self):
        """Records nothing from here on; promises every step that began."""
        self.finished = True

    def abandon(self):
        """In a forked child: whoever held a lock at the fork does not exist here."""
        self._states_lock = threading.RLock()
        self.loops = OpenLoops(self)
        self.collective_times = None
        super().abandon()
