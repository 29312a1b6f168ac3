"""Limits on waits for the collector."""
from __future__ import annotations

import threading
import time
from typing import Optional

QUIET_S = 1.0  # maximum wait without progress
MOST_S = 5.0   # maximum total wait: the delay of a process that exits


class Patience:
    """Limit on one wait for the collector. The wait starts at construction.

    timeout: maximum length of the wait in seconds. Without a timeout (at the end of a client), the wait ends after QUIET_S without progress, and
    after MOST_S in any case. On a busy machine, draining a full queue takes longer than a process should wait for a hung collector.

    Threads: the sender calls moved(); any thread may call left().
    """

    def __init__(self, timeout: Optional[float] = None) -> None:
        now = time.monotonic()
        self._quiet = QUIET_S if timeout is None else 0.0
        self._until = now + (QUIET_S if timeout is None else timeout)
        self._latest = now + MOST_S if timeout is None else self._until

    def moved(self) -> None:
        """Records that the collector has read or sent data."""
        if self._quiet:
            self._until = min(self._latest, time.monotonic() + self._quiet)

    def left(self) -> float:
        """Returns the remaining seconds, or a negative number after the end of the wait."""
        return self._until - time.monotonic()

    def join(self, thread: threading.Thread) -> None:
        """Waits until the thread has ended or the limit is reached."""
        while thread.is_alive() and self.left() > 0:
            thread.join(self.left())
