"""Recorder in the training threads. It reads times, counts steps, and puts spans and values into a bounded queue.

The hot path is a Core class, either from the C module `_native` (if it was built) or from _core.py. The comments in _core.py apply to both. This
module contains the infrequent operations: states (values that apply until they change) and the end of recording.
"""
from __future__ import annotations

import importlib
import os
import sysconfig
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Protocol, Tuple

from . import _core
from ._core import MAX_DEPTH, MAX_MODES, Labels, Running  # noqa: F401
from ._open_loops import OpenLoops

MAX_STATES = 256
STATE_NS = 500_000_000  # minimum interval between reports of a changing state
STATE_REPEAT_NS = 10_000_000_000  # maximum interval between reports of a constant state, because the look-back of rules is bounded

SetState = Callable[[str, Labels, float], None]  # set_state(metric, labels, number)


class Flushable(Protocol):
    """Object with measurements in progress."""

    def flush(self) -> None:
        """Records or discards the measurements, because the client ends."""


class Taken(NamedTuple):
    """Result of take()."""

    items: List[_core.Item]
    complete_until: int     # time up to which the items are complete
    steps: Dict[str, int]   # mode -> below_step
    dropped: int
    running: Running        # the training thread's running phase


def _find_native() -> Any:
    """Returns the C module, or None. Returns None in an interpreter without a global lock, because loading the module would re-enable that lock."""
    if os.environ.get("PITWALL_NATIVE", "").strip() == "0" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    try:
        return importlib.import_module("pitwall._native")
    except Exception:  # not built, or built for another interpreter
        return None


native = _find_native()
if TYPE_CHECKING:
    from ._core import Core as Core, Item as Item
else:
    Core, Item = (native.Core, native.Item) if native else (_core.Core, _core.Item)


class Recorder(Core):
    def __init__(self, capacity: int, step_lag: int = 0, now: Optional[Callable[[], int]] = None) -> None:
        super().__init__(capacity, step_lag, now)
        self._states_lock = threading.RLock()
        self._states: Dict[Tuple[str, Labels], float] = {}  # (metric, labels) -> number
        self._changed_states: set[Tuple[str, Labels]] = set()
        self._state_sources: List[Callable[[SetState], None]] = []
        self._states_sent = self._states_repeated = -STATE_REPEAT_NS
        self._state_is_due = False
        self.operations: Any = None  # the Operations; None before the first collective
        self.profiler: Any = None    # the Profiler; None before the first profile
        self.rank = 0
        self.before_end: weakref.WeakSet[Flushable] = weakref.WeakSet()  # objects to flush before the client ends; shared with the Client
        self.loops = OpenLoops(self)

    def set_state(self, metric: str, labels: Labels, number: float, at_once: bool = False) -> None:
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

    def add_states(self, source: Callable[[SetState], None]) -> None:
        """Adds source(set_state), a function called before states are sent. Use this for numbers that change too often to be set each time."""
        with self._states_lock:
            self._state_sources.append(source)

    def states(self) -> List[Tuple[Tuple[str, Labels], float]]:
        """Returns ((metric, labels), number) for each state."""
        with self._states_lock:
            return list(self._states.items())

    # The sender calls the following functions.

    def take(self) -> Taken:
        """Empties the queue. The items count toward the capacity until release() is called."""
        items, now, steps, dropped, running = self.drain()
        if self._states or self._state_sources:
            with self._states_lock:
                states = self._take_states(now)
            self.hold(len(states))
            items += states
        return Taken(items, now - 1, steps, dropped, running)

    def _take_states(self, now: int) -> List[_core.Item]:
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

    def finish(self) -> None:
        """Stops recording and promises that every step that has started is complete."""
        self.finished = True

    def abandon(self) -> None:
        """Stops recording in a forked child. Replaces the locks, because a thread that held one at the fork does not exist in the child."""
        self._states_lock = threading.RLock()
        self.loops = OpenLoops(self)
        self.collective_times = None
        super().abandon()
