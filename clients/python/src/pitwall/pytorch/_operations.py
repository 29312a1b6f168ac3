"""Counts the collectives that a process has started and completed, per process group. The counts identify the rank that other ranks wait for.

A group's count serves as a sequence number, because the same collective has the same number on all ranks. In the training thread, counting costs only
a dictionary lookup. The sender's thread reports the counts as series.
"""
from __future__ import annotations

import threading
from typing import Dict, Optional, Tuple

from .._wire import Collective
from ..recording._recorder import Recorder, SetState

MAX_GROUPS = 256
MAX_OPERATIONS = 32  # maximum number of reported operation types per group

_lock = threading.Lock()


def of(recorder: Recorder) -> Operations:
    """Returns the recorder's Operations, creating them at the first collective."""
    operations: Optional[Operations] = recorder.operations
    if operations is None:
        with _lock:
            operations = recorder.operations
            if operations is None:
                operations = recorder.operations = Operations()
                recorder.add_states(operations.report)
    return operations


class _Group:
    __slots__ = ("begun", "completed", "size", "newest", "reported")

    def __init__(self) -> None:
        self.begun = 0
        self.completed: Optional[int] = None  # number of the last collective known to have completed, or None
        self.size = 0
        self.newest: Dict[str, int] = {}  # operation -> number of its latest collective
        self.reported: Tuple[int, Optional[int]] = (-1, None)


class Operations:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: Dict[str, _Group] = {}
        self._awaited: Optional[Tuple[str, int]] = None  # group and number of the collective that the training thread waits for

    def begin(self, group: str, operation: str, size: int) -> Optional[int]:
        """Counts a collective and returns its number in the group. size: bytes that every rank must pass, or 0 if the sizes may differ."""
        with self._lock:
            known = self._groups.get(group)
            if known is None:
                if len(self._groups) >= MAX_GROUPS:
                    return None
                known = self._groups[group] = _Group()
            known.begun += 1
            known.size = size
            if operation in known.newest or len(known.newest) < MAX_OPERATIONS:
                known.newest[operation] = known.begun
            return known.begun

    def complete(self, group: str, number: Optional[int]) -> None:
        """Marks a collective, and therefore all earlier collectives of its group, as completed."""
        with self._lock:
            known = self._groups.get(group)
            if known is not None and number is not None and (known.completed is None or number > known.completed):
                known.completed = number

    def enter(self, group: Optional[str], number: Optional[int]) -> None:
        """Marks a collective as the one that the calling thread waits for, until leave()."""
        self._awaited = None if group is None or number is None else (group, number)

    def leave(self) -> None:
        """Marks the end of the wait. Called in every case, also if the collective failed."""
        self._awaited = None

    def awaited(self) -> Optional[Collective]:
        """Returns the collective that a thread waits for, or None. The operation is empty and the size 0 if they are unknown. Thread-safe."""
        awaited = self._awaited
        if awaited is None:
            return None
        name, number = awaited
        with self._lock:
            group = self._groups[name]
            operation = next((operation for operation, newest in group.newest.items() if newest == number), "")
            return name, operation, number, group.size if number == group.begun else 0

    def report(self, set_state: SetState) -> None:
        """Passes the changes since the last call to set_state(metric, labels, number)."""
        with self._lock:
            for name, group in self._groups.items():
                now = group.begun, group.completed
                if group.reported == now:
                    continue
                group.reported = now
                labels = (("group", name),)
                set_state("train_collective_operations_total", labels, float(group.begun))
                if group.completed is not None:
                    set_state("train_collective_completed_total", labels, float(group.completed))
                set_state("train_collective_last_bytes", labels, float(group.size))
                for operation, number in group.newest.items():
                    set_state("train_collective_last_number", (("group", name), ("op", operation)), float(number))
