"""What the training threads do: take times, keep count of steps, put spans and values into a bounded queue.

Threads: every method may be called from any thread; one lock guards all. It is re-entrant, since a signal handler or
a generator closed by the garbage collector may call in while its own thread holds it.

Promises rest on one rule: the time of a span's end and of a value is taken *inside* the lock. So once the sender has
taken the lock, read the time T and emptied the queue, whatever comes later ends at T or later.
"""
import threading
import time
from collections import namedtuple

from ._wire import KIND_PHASE, KIND_STEP

MAX_MODES = 16
MAX_DEPTH = 64  # of nested phases in one thread; deeper ones are not recorded

# A span or a value in the queue; times are monotonic nanoseconds. kind 0 is a value: number and labels are set.
Item = namedtuple("Item", "kind name start end step_plus_one mode number labels")

# What take() returns: the items, the time up to which they are complete, (mode, below_step) of each mode, and the
# phase that runs in the training thread: name, since when, step + 1, mode.
Taken = namedtuple("Taken", "items complete_until steps dropped running")

_IDLE = ("", 0, 0, "")


class _Step:
    """One step that runs. Its number may be corrected while it runs (log(step=...))."""

    __slots__ = ("number", "start", "worked")

    def __init__(self, number, start):
        self.number = number
        self.start = start
        self.worked = False  # something was recorded in it besides the loader's phase


class _Mode:
    """The step count of one mode."""

    __slots__ = ("name", "current", "next", "open")

    def __init__(self, name):
        self.name = name
        self.current = -1  # the newest step that began
        self.next = 0
        self.open = None  # the _Step that runs


class _Thread(threading.local):
    """Each thread's own nesting of phases, and its mode."""

    def __init__(self):
        self.phases = []  # (name, start, mode, step that ran then)
        self.mode = "train"


class Recorder:
    def __init__(self, capacity, step_lag=0, now=time.monotonic_ns):
        self._now = now
        self._capacity = capacity
        self._lag = step_lag
        self._lock = threading.RLock()
        self._queue = []
        self._backlog = 0  # items that the sender took and still holds
        self._dropped = 0
        self._modes = {}
        self._thread = _Thread()
        self._training_phases = self._thread.phases  # the list of the thread whose phase is reported as running
        self._finished = False

    # Steps.

    def begin_step(self, number=None, fetching=False):
        """Starts a step of the thread's mode, at the given number or at the next one. A number below the last one is
        a roll-back: later promises fall with it. fetching: it counts as begun (and the one before as over) only with
        confirm_step(), when the loader had a batch. Returns the step for the other functions."""
        with self._lock:
            mode = self._mode(self._thread.mode)
            if mode is None:
                return None
            self._training_phases = self._thread.phases
            mode.next = max(0, int(number)) if number is not None else mode.next
            mode.open = _Step(mode.next, self._now())
            if not fetching:
                mode.current = mode.next
            return mode, mode.open

    def confirm_step(self, begun):
        with self._lock:
            mode, step = begun
            if mode.open is step:
                mode.current = step.number

    def end_step(self, begun):
        with self._lock:
            mode, step = begun
            if mode.open is not step:
                return  # another step of this mode began inside it
            mode.open = None
            mode.current = step.number
            mode.next = step.number + 1
            self._put(Item(KIND_STEP, "step", step.start, self._now(), step.number + 1, mode.name, None, ()))

    def drop_step(self, begun, keep_if_worked=False):
        """The step did not finish: the loader was empty, or the loop was left."""
        mode, step = begun
        if keep_if_worked and step.worked:
            self.end_step(begun)
            return
        with self._lock:
            if mode.open is step:
                mode.open = None
                mode.next = step.number + (1 if step.worked else 0)

    # Phases.

    def begin_phase(self, name):
        with self._lock:
            thread = self._thread
            mode = self._modes.get(thread.mode)
            phase = (name, self._now(), thread.mode, mode.open if mode else None)
            if len(thread.phases) < MAX_DEPTH:
                thread.phases.append(phase)
            return phase

    def end_phase(self, phase, record=True):
        with self._lock:
            phases = self._thread.phases
            while phase in phases:  # also ends inner ones whose end was never called
                phases.pop()
            if not record:
                return
            name, start, mode, step = phase
            plus_one = 0
            if step is not None:
                if name != "dataloader":
                    step.worked = True
                if step.number >= self._below(self._modes[mode]):
                    plus_one = step.number + 1  # else the step was promised to be over
            self._put(Item(KIND_PHASE, name, start, self._now(), plus_one, mode, None, ()))

    # Values.

    def log(self, pairs, labels, number=None):
        """pairs: (metric, float). number: the step they belong to; default: the one that runs or ran last."""
        with self._lock:
            name = self._thread.mode
            mode = self._mode(name) if number is not None else self._modes.get(name)
            plus_one = 0
            if mode is not None:
                if number is None:
                    number = mode.current
                elif number > mode.current:  # the caller knows the number better
                    mode.current = mode.next = number
                    if mode.open:
                        mode.open.number = number
                if mode.open:
                    mode.open.worked = True
                if number >= self._below(mode):
                    plus_one = number + 1
            now = self._now()
            for metric, value in pairs:
                self._put(Item(0, metric, now, now, plus_one, name, value, labels))

    # Modes.

    def set_mode(self, name):
        """Sets the thread's mode and returns the one before."""
        before = self._thread.mode
        self._thread.mode = name
        return before

    # The sender's side.

    def take(self):
        """Empties the queue. The items count against the capacity until release()."""
        with self._lock:
            items, self._queue = self._queue, []
            self._backlog += len(items)
            now = self._now()
            steps = {mode.name: self._below(mode) for mode in self._modes.values() if mode.current >= 0}
            return Taken(items, now - 1, steps, self._dropped, self._running())

    def release(self, count):
        with self._lock:
            self._backlog -= count

    def pending(self):
        return len(self._queue)

    def finish(self):
        """Records nothing from here on; promises every step that began."""
        with self._lock:
            self._finished = True

    def abandon(self):
        """In a forked child: whoever held the lock at the fork does not exist here, and nobody sends what is recorded."""
        self._lock = threading.RLock()
        self._finished = True

    def _running(self):
        phases = self._training_phases
        if not phases:
            for mode in reversed(list(self._modes.values())):  # between two phases the step is still worth knowing
                if mode.open:
                    return "", 0, mode.open.number + 1, mode.name
            return _IDLE
        name, start, mode, step = phases[-1]
        return name, start, step.number + 1 if step else 0, mode

    def _below(self, mode):
        return mode.current + 1 if self._finished else max(0, mode.current - self._lag)

    def _mode(self, name):
        mode = self._modes.get(name)
        if mode is None and len(self._modes) < MAX_MODES:
            mode = self._modes[name] = _Mode(name)
        return mode

    def _put(self, item):
        if self._finished:
            return
        if len(self._queue) + self._backlog >= self._capacity:
            self._dropped += 1
        else:
            self._queue.append(item)
