"""Counts of the collectives that a process has begun and completed, by process group. They identify the rank that others wait for.

The count of a group is its sequence number: the same collective has the same number on all ranks. It costs the training thread a
dictionary lookup. The sender's thread reports it, so the training thread does not pay for the series.
"""
import threading

MAX_GROUPS = 256
MAX_OPERATIONS = 32  # maximum number of reported kinds of operations per group

_lock = threading.Lock()


def of(recorder):
    """Returns the counts of a recorder, which are created with its first collective."""
    operations = recorder.operations
    if operations is None:
        with _lock:
            operations = recorder.operations
            if operations is None:
                operations = recorder.operations = Operations()
                recorder.add_states(operations.report)
    return operations


class _Group:
    __slots__ = ("begun", "completed", "size", "newest", "reported")

    def __init__(self):
        self.begun = 0
        self.completed = None  # None until a collective is known to have completed
        self.size = 0
        self.newest = {}       # operation -> number of its newest collective
        self.reported = (-1, None)


class Operations:
    def __init__(self):
        self._lock = threading.Lock()
        self._groups = {}

    def begin(self, group, operation, size):
        """Returns the number of the collective in the group. size: bytes that all ranks must pass; 0 where they may differ."""
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

    def complete(self, group, number):
        """Marks a collective, and so all earlier ones of its group, as completed."""
        with self._lock:
            known = self._groups.get(group)
            if known is not None and number is not None and (known.completed is None or number > known.completed):
                known.completed = number

    def report(self, set_state):
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
