"""Filter for wall clock steps, identical to the collector's filter (services/base/system/clock_step.h)."""
from __future__ import annotations

from typing import Optional

LARGE_NS = 3600 * 10**9  # a larger step is more often an incorrect clock than a correction
HOLD_NS = 60 * 10**9     # a large step is accepted once it has persisted this long


class ClockStep:
    """Filter state of one process. Not thread-safe."""

    def __init__(self) -> None:
        self._since_ns: Optional[int] = None
        self._step_ns = 0

    def believe(self, step_ns: int, monotonic_ns: int) -> bool:
        """Returns whether to follow a wall clock that is step_ns ahead of the process's own time. The waiting time restarts when the step ends or
        changes."""
        if abs(step_ns) <= LARGE_NS:
            self._since_ns = None
            return True
        if self._since_ns is None or abs(step_ns - self._step_ns) > LARGE_NS:
            self._since_ns = monotonic_ns
        self._step_ns = step_ns
        if monotonic_ns - self._since_ns < HOLD_NS:
            return False
        self._since_ns = None
        return True
