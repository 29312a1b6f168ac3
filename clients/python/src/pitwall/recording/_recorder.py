"""Recorder in the training threads. It reads times, counts steps, and puts spans and values into a bounded queue.

The hot path is a Core class, either from the C module `_native` (if it was built) or from _core.py. The comments in _core.py apply to both. This
module contains the infrequent operations: states (values that apply until they change) and the end of recording.
"""
import os
import sysconfig
import threading
from collections import namedtuple

from . import _core
from ._core import MAX_DEPTH, MAX_MODES  # noqa: F401
from ._open_loops import OpenLoops

MAX_STATES = 256
STATE_NS = 500_000_000  # minimum interval between reports of a changing state
STATE_REPEAT_NS = 10_000_000_000  # maximum interval between reports of a constant state, because the look-back of rules is bounded

# Result of take(): the items, the time up to which the items are complete, (mode, below_step) of each mode, and the training thread's running phase
# as (name, start, step + 1, mode).
Taken = namedtuple("Taken", "items complete_until steps dropped running")


def _find_native():
    """Returns the C module, or None. Returns None in an interpreter without a global lock, because loading the module would re-enable that lock."""
    if os.environ.get("PITWALL_NATIVE", "").strip() == "0" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    try:
        from .. import _native
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
        self._states_sent = self._states_repeated = -STATE_REPEAT_NS
        self._state_is_due = False
        self.operations = None  # collectives started and completed; None before the first collective
        self.loops = OpenLoops(self)

    def set_state(self, metric, labels, number, at_once=False):
        """Sets a state: a number that applies to every step until it is set again. The state is sent without a step, so that it is
        visible while a step hangs.

        at_once: sends the state with the next Update.
        """
        with self._states_lock:
            key = metric, labels
            if key in self._states or len(self._states) < MAX_STATES or at_once:
                self._states[key] = number
                self._changed_states.add(key)
                self._state_is_due |= at_once

    def add_states(self, source):
        """Adds source(set_state), a function called before states are sent. Use this for numbers that change too often to be set each time."""
        with self._states_lock:
            self._state_sources.append(source)

    def states(self):
        """Returns ((metric, labels), number) for each state."""
        with self._states_lock:
            return list(self._states.items())

    # The sender calls the following functions.

    def take(self):
        """Empties the queue. The items count toward the capacity until release() is called."""
        items, now, steps, dropped, running = self.drain()
        if self._states or self._state_sources:
            with self._states_lock:
                states = self._take_states(now)
            self.hold(len(states))
            items += states
        return Taken(items, now - 1, steps, dropped, running)

    def _take_states(self, now):
        if now - self._states_sent < STATE_NS and not self.finished and not self._state_is_due:
            return []
        self._state_is_due = False
        for source in self._state_sources:
            source(self.set_state)
        repeated = now - self._states_repeated >= STATE_REPEAT_NS
        changed, self._changed_states = self._changed_states, set()  # the garbage collector may set a state after this line
        due = list(self._states if repeated else changed)
        # The timestamp is the end of this Update's promise, and therefore later than all previously promised data.
        items = [Item(0, metric, now - 1, now - 1, 0, "", self._states[metric, labels], labels) for metric, labels in due]
        self._states_sent = now
        if repeated:
            self._states_repeated = now
        return items

    def finish(self):
        """Stops recording and promises that every step that has started is complete."""
        self.finished = True

    def abandon(self):
        """Stops recording in a forked child. Replaces the locks, because a thread that held one at the fork does not exist in the child."""
        self._states_lock = threading.RLock()
        self.loops = OpenLoops(self)
        self.collective_times = None
        super().abandon()
