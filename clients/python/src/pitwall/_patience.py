"""Limits on waits for the collector."""
import time

QUIET_S = 1.0  # without progress
MOST_S = 5.0   # in all: the delay of a process that exits


class Patience:
    """A wait for the collector, from the construction on. timeout: its length in seconds. Without one (the end of a client) it
    ends after QUIET_S without progress, and after MOST_S in any case: on a busy machine a full queue takes longer than a process
    should wait for a collector that hangs.

    Threads: the sender calls moved(), any thread may call left()."""

    def __init__(self, timeout=None):
        now = time.monotonic()
        self._quiet = QUIET_S if timeout is None else 0.0
        self._until = now + (QUIET_S if timeout is None else timeout)
        self._latest = now + MOST_S if timeout is None else self._until

    def moved(self):
        """The collector has taken or sent bytes."""
        if self._quiet:
            self._until = min(self._latest, time.monotonic() + self._quiet)

    def left(self):
        """Seconds, negative when the wait is over."""
        return self._until - time.monotonic()

    def join(self, thread):
        """Waits until the thread or the wait has ended."""
        while thread.is_alive() and self.left() > 0:
            thread.join(self.left())
