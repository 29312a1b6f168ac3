"""Time and number of collectives per process group and step.

The time is how long a collective blocks the computation: the wait for the last rank plus the transfer. The k-th collective of a group is the same
collective on all ranks. If all ranks counted the same number of collectives in a step, a rank's wait for the others is its time minus the minimum
over all ranks. Rules compute that difference, which does not require synchronized clocks on different machines. The client sends two numbers per step
and group.

On a GPU, the times come from pairs of events in the compute stream. The host never waits for the device, because a pair is read at the end of a later
step. A step whose events complete too late is not reported.
"""
from __future__ import annotations

import threading
from collections import OrderedDict, deque
from typing import Any, Callable, Dict, List, Optional, Tuple

from ..recording._core import Labels
from ..recording._recorder import Recorder

MAX_GROUPS = 64     # maximum per step
MAX_PENDING = 1024  # maximum number of event pairs whose end the device has not reached
MAX_WORKS = 1024    # maximum number of asynchronous collectives whose wait has not started
LATE_STEPS = 2      # maximum delay, in steps, of numbers from a GPU

Callback = Callable[[float, str, Optional[int]], None]  # callback(seconds, mode, number)
_Work = Tuple[Optional[str], Optional[int], Any]  # group, number, device

_lock = threading.Lock()


def of(recorder: Recorder) -> CollectiveTimes:
    """Returns the recorder's CollectiveTimes, creating them at the first collective."""
    times: Optional[CollectiveTimes] = recorder.collective_times
    if times is None:
        with _lock:
            times = recorder.collective_times
            if times is None:
                times = recorder.collective_times = CollectiveTimes(recorder)
    return times


class _Step:
    """The running step of one mode."""

    __slots__ = ("groups", "outstanding", "complete", "mode", "number")

    def __init__(self, mode: str) -> None:
        self.groups: Dict[Tuple[str, str], List[Any]] = {}  # (group, clock) -> [seconds, collectives]
        self.outstanding = 0  # number of event pairs that are not read yet
        self.complete = True
        self.mode = mode
        self.number: Optional[int] = None  # set at the end of the step, because the number may be corrected before

    def add(self, group: str, clock: str, seconds: float, collectives: int) -> None:
        known = self.groups.get((group, clock))
        if known is None:
            if len(self.groups) >= MAX_GROUPS:
                return
            known = self.groups[group, clock] = [0.0, 0]
        known[0] += seconds
        known[1] += collectives


class _Pair:
    """Pair of events around a collective."""

    __slots__ = ("step", "device", "begin", "end", "group", "collectives", "callback")

    step: _Step
    device: Any
    begin: Any
    end: Any
    group: str
    collectives: int
    callback: Optional[Callback]


class CollectiveTimes:
    def __init__(self, recorder: Recorder) -> None:
        self.events: Any = None  # device functions: record(device), passed(event), seconds(begin, end), give_back(device, event)
        self._recorder = recorder
        self._late = False  # whether step promises are delayed because a device's times arrive late
        self._lock = threading.RLock()  # re-entrant: a signal handler may call a method while its own thread holds the lock
        self._open: Dict[str, _Step] = {}  # mode -> running step
        self._ended: deque[_Step] = deque()    # ended steps with pairs that have not been read yet
        self._pending: deque[_Pair] = deque()  # ordered by their end
        self._works: OrderedDict[int, _Work] = OrderedDict()  # id of an asynchronous collective -> (group, number, device)

    # The recorder calls the following functions for each step, without holding its lock.

    def begin_step(self, mode: str) -> None:
        with self._lock:
            self._open[mode] = _Step(mode)

    def end_step(self, mode: str, number: int) -> None:
        with self._lock:
            step = self._open.pop(mode, None)
            if step is not None:
                step.number = number
                self._ended.append(step)
            durations = self._read_pairs()
            complete = self._take_complete(mode, number)
        for callback, seconds, step in durations:
            callback(seconds, step.mode, step.number)
        for step in complete:
            self._record(step)

    def _take_complete(self, mode: str, number: int) -> List[_Step]:
        complete: List[_Step] = []
        left: deque[_Step] = deque()
        for step in self._ended:
            if not step.outstanding:
                complete.append(step)
            elif step.mode != mode or (step.number is not None and number - LATE_STEPS < step.number <= number):
                left.append(step)
            else:
                step.complete = False  # too late to report
        self._ended = left
        return complete

    def _record(self, step: _Step) -> None:
        if not step.complete or not step.groups:
            return
        values: List[Tuple[str, Labels, float]] = []
        for (group, clock), (seconds, collectives) in step.groups.items():
            labels = (("group", group), ("clock", clock))
            values.append(("train_collective_time_seconds", labels, seconds))
            values.append(("train_collective_calls", labels, float(collectives)))
        self._recorder.record(values, step.mode, step.number)

    # Times measured on the host.

    def add(self, mode: str, group: str, seconds: float, collectives: int = 1) -> None:
        with self._lock:
            step = self._open.get(mode)
            if step is not None:
                step.add(group, "host", seconds, collectives)

    # Times measured on a device.

    def mark(self, device: Any) -> Any:
        """Records an event after all work launched so far. Returns None if recording is not possible."""
        if self.events is None:
            from ._stream_events import StreamEvents  # the device comes from PyTorch, so PyTorch is already loaded
            self.events = StreamEvents()
        if not self._late:
            self._late = True
            self._recorder.allow_late(LATE_STEPS)
        return self.events.record(device)

    def add_pair(self, mode: str, group: str, device: Any, begin: Any, collectives: int = 1, callback: Optional[Callback] = None) -> None:
        """Adds the time between `begin` and now. Calls callback(seconds, mode, number) once the time is known."""
        end = None if begin is None else self.mark(device)
        with self._lock:
            step = self._open.get(mode)
            if step is None:
                self._give_back(device, begin, end)
                return
            if end is None or len(self._pending) >= MAX_PENDING:
                step.complete = False  # a partial sum would understate this rank's wait
                self._give_back(device, begin, end)
                return
            pair = _Pair()
            pair.step, pair.device, pair.begin, pair.end = step, device, begin, end
            pair.group, pair.collectives, pair.callback = group, collectives, callback
            step.outstanding += 1
            self._pending.append(pair)

    def _read_pairs(self) -> List[Tuple[Callback, float, _Step]]:
        """Returns [(callback, seconds, step)] for the pairs that have a callback function."""
        durations: List[Tuple[Callback, float, _Step]] = []
        while self._pending and self.events.passed(self._pending[0].end):
            pair = self._pending.popleft()
            seconds, step = self.events.seconds(pair.begin, pair.end), pair.step
            self._give_back(pair.device, pair.begin, pair.end)
            step.outstanding -= 1
            step.add(pair.group, "device", seconds, pair.collectives)
            if pair.callback is not None and step.complete and step.number is not None:
                durations.append((pair.callback, seconds, step))
        return durations

    def _give_back(self, device: Any, *events: Any) -> None:
        for event in events:
            if event is not None:
                self.events.give_back(device, event)

    # Asynchronous collectives, from launch to wait.

    def remember(self, work: object, group: str, number: Optional[int], device: Any) -> None:
        with self._lock:
            self._works[id(work)] = group, number, device
            if len(self._works) > MAX_WORKS:
                self._works.popitem(last=False)

    def forget(self, work: object) -> _Work:
        """Returns (group, number, device) of the collective, or (None, None, None) if it is unknown."""
        with self._lock:
            return self._works.pop(id(work), (None, None, None))
