"""Limits on waits for the collector."""
import time

QUIET_S = 1.0  # maximum wait without progress
MOST_S = 5.0   # maximum total wait: the delay of a process that exits


class Patience:
    """A wait for the collector, which begins with the construction. timeout: its maximum length in seconds. Without one (the end of a
    client) it ends after QUIET_S without progress, and after MOST_S in any case: on a busy machine, draining a full queue takes longer
    than a process should wait for a collector that hangs.

    Threads: the sender calls moved(); any thread may call left()."""

    def __init__(self, timeout=None):
        now = time.monotonic()
        self._quiet = QUIET_S if timeout is None else 0.0
        self._until = now + (QUIET_S if timeout is None else timeout)
        self._latest = now + MOST_S if timeout is None else self._until

    def moved(self):
        """Records that the collector has read or sent bytes."""
        if self._quiet:
            self._until = min(self._latest, time.monotonic() + self._quiet)

    def left(self):
        """Returns the remaining seconds; negative once the wait is over."""
        return self._until - time.monotonic()

    def join(self, thread):
        """Waits for the thread to end, at most until the wait is over."""
        while thread.is_alive() and self.left() > 0:
            thread.join(self.left())
