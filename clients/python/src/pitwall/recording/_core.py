"""Python implementation of the Recorder's hot path in the training threads. If the C module `_native` was built, it replaces this module.

Threads: every method is thread-safe, and one lock guards all state. The lock is re-entrant because a signal handler, or a generator closed by the
garbage collector, may call a method while its own thread holds the lock.

Promises rely on one rule: the end time of a span and the time of a value are read *while the lock is held*. Therefore, after the sender has acquired
the lock, read the time T, and emptied the queue, every later item ends at T or later.
"""
from __future__ import annotations

import threading
import time
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Protocol, Tuple

from .._wire import KIND_PHASE, KIND_STEP

MAX_MODES = 16
MAX_DEPTH = 64  # maximum nesting of phases per thread; deeper phases are not recorded

Labels = Tuple[Tuple[str, str], ...]
Values = Iterable[Tuple[str, Labels, float]]  # metric, labels, value
Begun = Any  # result of begin_step(); the C module has its own type
Phase = Tuple[str, int, str, Any]  # name, start, mode, step that was running
Running = Tuple[str, int, int, str]  # name, start, step + 1, mode
RunningPhases = Dict[str, Tuple[Any, Phase, List[Phase]]]  # phases of begin_once(): name -> (core, phase, phases of its thread)


class Item(NamedTuple):
    """Span or value in the queue. Times are in monotonic nanoseconds. Kind 0 is a value; only values have a number and labels."""

    kind: int
    name: str
    start: int
    end: int
    step_plus_one: int
    mode: str
    number: Any  # float; None for a span
    labels: Labels


class StepWatcher(Protocol):
    """Object that is notified before and after the span of each step, in the step's thread."""

    def before_step(self, mode: str, number: Optional[int]) -> None:
        """number: the explicit step number, or None."""

    def after_step(self, mode: str, number: Optional[int]) -> None:
        """number: None if the step was discarded."""


_new: Any = tuple.__new__  # takes a third of the time of Item()

_IDLE = ("", 0, 0, "")


class _Step:
    """The running step. Its number may be corrected while the step is running (log(step=...))."""

    __slots__ = ("number", "start", "worked")

    def __init__(self, number: int, start: int) -> None:
        self.number = number
        self.start = start
        self.worked = False  # whether anything except the loader's phase was recorded in the step


class _Mode:
    """Step counter of one mode."""

    __slots__ = ("name", "current", "next", "open", "floor")

    def __init__(self, name: str) -> None:
        self.name = name
        self.floor = 0  # promise made before the lag increased
        self.current = -1  # last step that has started
        self.next = 0
        self.open: Optional[_Step] = None  # the running step


class _Thread(threading.local):
    """Mode and stack of nested phases, per thread."""

    def __init__(self) -> None:
        self.phases: List[Phase] = []
        self.mode = "train"


class Core:
    def __init__(self, capacity: int, step_lag: int = 0, now: Optional[Callable[[], int]] = None) -> None:
        self._now = now or time.monotonic_ns
        self._capacity = capacity
        self._lag = step_lag
        self._lock = threading.RLock()
        self._queue: List[Item] = []
        self._backlog = 0  # number of items that the sender has taken and still holds
        self._dropped = 0
        self._modes: Dict[str, _Mode] = {}
        self._thread = _Thread()
        self._training_phases = self._thread.phases  # phases of the thread whose phase is reported as running
        self.finished = False
        self.step_watcher: Optional[StepWatcher] = None  # set by profile()
        self.collective_times: Any = None  # the CollectiveTimes; begin_step() and end_step() are called for each step

    def now(self) -> int:
        return self._now()

    # Steps.

    def begin_step(self, number: Optional[int] = None, fetching: bool = False) -> Optional[Begun]:
        """Starts a step in the thread's mode, with the given number or the next one.

        number: a number below the last one is a rollback, which also lowers later promises.
        fetching: the step counts as started, and the previous one as finished, only after confirm_step(), when the loader has returned a batch.

        Returns a token for the other functions, or None if there are too many modes.
        """
        watcher = self.step_watcher  # read once because another thread may remove the watcher
        if watcher is not None:
            watcher.before_step(self._thread.mode, number)
        with self._lock:
            mode = self._mode(self._thread.mode)
            if mode is None:
                return None
            self._training_phases = self._thread.phases
            mode.next = max(0, int(number)) if number is not None else mode.next
            mode.open = _Step(mode.next, self._now())
            if not fetching:
                mode.current = mode.next
            begun = mode, mode.open
        times = self.collective_times
        if times is not None:
            times.begin_step(mode.name)
        return begun

    def confirm_step(self, begun: Begun) -> None:
        with self._lock:
            mode, step = begun
            if mode.open is step:
                mode.current = step.number

    def end_step(self, begun: Begun) -> None:
        mode, step = begun
        times = self.collective_times
        if times is not None and mode.open is step:
            times.end_step(mode.name, step.number)  # must precede the promise that the step is complete
        with self._lock:
            if mode.open is not step:
                return  # another step of this mode has started inside this step
            mode.open = None
            mode.current = step.number
            mode.next = step.number + 1
            self._put(_new(Item, (KIND_STEP, "step", step.start, self._now(), step.number + 1, mode.name, None, ())))
        watcher = self.step_watcher
        if watcher is not None:
            watcher.after_step(mode.name, step.number)

    def drop_step(self, begun: Begun, keep_if_worked: bool = False) -> None:
        """Discards an unfinished step because the loader was empty or the loop was left."""
        mode, step = begun
        if keep_if_worked and step.worked:
            self.end_step(begun)
            return
        with self._lock:
            if mode.open is step:
                mode.open = None
                mode.next = step.number + (1 if step.worked else 0)
        watcher = self.step_watcher
        if watcher is not None:
            watcher.after_step(mode.name, None)

    def step_number(self, mode: str, open_only: bool = False) -> Optional[int]:
        """Returns the number of the mode's running step, or of its last step if no step is running. Returns None if no step has started."""
        with self._lock:
            known = self._modes.get(mode)
            if known is None:
                return None
            if known.open is not None:
                return known.open.number
            return None if open_only or known.current < 0 else known.current

    def next_step(self, mode: str) -> int:
        """Returns the number that the mode's next step gets if the caller does not pass a number."""
        with self._lock:
            known = self._modes.get(mode)
            return known.next if known is not None else 0

    def restart_steps(self) -> None:
        """Resets the next implicit step number to 0 in every mode. This is a rollback, like begin_step(0)."""
        with self._lock:
            for mode in self._modes.values():
                mode.next = 0

    def allow_late(self, steps: int) -> None:
        """Allows values to arrive up to `steps` steps late, or later if a previous call allowed more. Promises are delayed accordingly."""
        with self._lock:
            if steps > self._lag:
                for mode in self._modes.values():
                    mode.floor = self._below(mode)
                self._lag = steps

    # Phases.

    def thread_phases(self) -> List[Phase]:
        """Returns the calling thread's phases, so that another thread can pass them to begin_phase() and end_phase()."""
        return self._thread.phases

    def in_phase(self, name: str) -> bool:
        return any(phase[0] == name for phase in self._thread.phases)

    def begin_phase(self, name: str, phases: Optional[List[Phase]] = None, mode: Optional[str] = None) -> Phase:
        """Starts a phase. phases: the phases of another thread, from its thread_phases(). In this case, mode is that thread's mode."""
        with self._lock:
            if phases is None:
                phases = self._thread.phases
            if mode is None:
                mode = self._thread.mode
            known = self._modes.get(mode)
            phase = (name, self._now(), mode, known.open if known else None)
            if len(phases) < MAX_DEPTH:
                phases.append(phase)
            return phase

    def end_phase(self, phase: Phase, record: bool = True, phases: Optional[List[Phase]] = None) -> int:
        """Ends a phase and returns its duration in nanoseconds."""
        with self._lock:
            if phases is None:
                phases = self._thread.phases
            while phase in phases:  # also ends inner phases that are still open
                phases.pop()
            name, start, mode, step = phase
            if not record:
                return 0
            plus_one = 0
            if step is not None:
                if name != "dataloader":
                    step.worked = True
                if step.number >= self._below(self._modes[mode]):
                    plus_one = step.number + 1  # otherwise the step is already promised to be complete
            end = self._now()
            self._put(_new(Item, (KIND_PHASE, name, start, end, plus_one, mode, None, ())))
            return end - start

    # The hooks of watch() call the following functions on each step, with one call per hook.

    def here(self, open_only: bool = False) -> Tuple[List[Phase], str, Optional[int]]:
        """Returns the calling thread's phases, its mode, and the mode's step_number()."""
        mode = self._thread.mode
        return self._thread.phases, mode, self.step_number(mode, open_only)

    def begin_once(self, running: RunningPhases, name: str, phases: List[Phase], mode: str) -> None:
        """Starts a phase and stores it in `running` for end_running(), unless the phase is already in `running` or `phases`."""
        if name not in running and not any(phase[0] == name for phase in phases):
            running[name] = self, self.begin_phase(name, phases, mode), phases

    @staticmethod
    def end_running(running: RunningPhases, name: str, record: bool = True) -> None:
        """Ends the phase in the recorder that begin_once() used."""
        known = running.pop(name, None)
        if known is not None:
            core, begun, phases = known
            core.end_phase(begun, record, phases)

    # Values.

    def log(self, pairs: Iterable[Tuple[str, float]], labels: Labels, number: Optional[int] = None) -> None:
        """Records values. pairs: (metric, float). number: the step of the values; defaults to the running step, or else the last one."""
        with self._lock:
            name = self._thread.mode
            mode = self._mode(name) if number is not None else self._modes.get(name)
            plus_one = 0
            if mode is not None:
                if number is None:
                    number = mode.current
                elif number > mode.current:  # the caller's number overrides the step count
                    mode.current = mode.next = number
                    if mode.open:
                        mode.open.number = number
                if mode.open:
                    mode.open.worked = True
                if number >= self._below(mode):
                    plus_one = number + 1
            now = self._now()
            for metric, value in pairs:
                self._put(_new(Item, (0, metric, now, now, plus_one, name, value, labels)))

    def record(self, values: Values, mode: str, number: Optional[int]) -> None:
        """Records values of a step. Unlike log(), does not correct the number of the running step. values: (metric, labels, float)."""
        with self._lock:
            known = self._modes.get(mode)
            plus_one = 0
            if known is not None and number is not None:
                if known.open:
                    known.open.worked = True
                if number >= self._below(known):
                    plus_one = number + 1
            now = self._now()
            for metric, labels, value in values:
                self._put(_new(Item, (0, metric, now, now, plus_one, mode, value, labels)))

    # Modes.

    def mode(self) -> str:
        """Returns the thread's mode."""
        return self._thread.mode

    def set_mode(self, name: str) -> str:
        """Sets the thread's mode and returns the previous one."""
        before = self._thread.mode
        self._thread.mode = name
        return before

    # The sender calls the following functions.

    def drain(self) -> Tuple[List[Item], int, Dict[str, int], int, Running]:
        """Empties the queue and returns (items, now, {mode: below_step}, dropped, running). The items count toward the capacity until release() is
        called."""
        with self._lock:
            items, self._queue = self._queue, []
            self._backlog += len(items)
            steps = {mode.name: self._below(mode) for mode in self._modes.values() if mode.current >= 0}
            return items, self._now(), steps, self._dropped, self.running()

    def hold(self, count: int) -> None:
        """Counts this many additional items toward the capacity."""
        with self._lock:
            self._backlog += count

    def release(self, count: int) -> None:
        with self._lock:
            self._backlog -= count

    def pending(self) -> int:
        return len(self._queue)

    def abandon(self) -> None:
        """Stops recording in a forked child, where the sender does not run. Replaces the lock, because a thread that held it at the fork does not
        exist in the child."""
        self._lock = threading.RLock()
        self.finished = True

    def running(self) -> Running:
        """Returns the training thread's running phase as (name, start, step + 1, mode)."""
        with self._lock:
            phases = self._training_phases
            if phases:
                name, start, mode, step = phases[-1]
                return name, start, step.number + 1 if step else 0, mode
            for known in reversed(list(self._modes.values())):  # between two phases, the step is still reported
                if known.open:
                    return "", 0, known.open.number + 1, known.name
            return _IDLE

    def _below(self, mode: _Mode) -> int:
        if self.finished:
            return mode.current + 1
        if not self._lag:
            return mode.current if mode.current > 0 else 0
        return max(0, min(mode.current, max(mode.current - self._lag, mode.floor)))

    def _mode(self, name: str) -> Optional[_Mode]:
        mode = self._modes.get(name)
        if mode is None and len(self._modes) < MAX_MODES:
            mode = self._modes[name] = _Mode(name)
        return mode

    def _put(self, item: Item) -> None:
        if self.finished:
            return
        if len(self._queue) + self._backlog >= self._capacity:
            self._dropped += 1
        else:
            self._queue.append(item)
