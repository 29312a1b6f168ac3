"""Filter of wall clock steps, as the collector has it (services/base/system/clock_step.h)."""

LARGE_NS = 3600 * 10**9  # a step by more is more often a wrong clock than a right one
HOLD_NS = 60 * 10**9     # a large step is believed once it has lasted this long


class ClockStep:
    """Not thread-safe."""

    def __init__(self):
        self._since_ns = None
        self._step_ns = 0

    def believe(self, step_ns, monotonic_ns):
        """Whether to follow a wall clock that is step_ns ahead of one's own time. A step that ends or becomes another one
        begins the wait again."""
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
