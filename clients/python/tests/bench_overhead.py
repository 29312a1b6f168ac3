"""What one phase, step and log() cost the training thread: `python3 clients/python/tests/bench_overhead.py [--check]`.

First column: wall time of the call in the training thread, in a tight loop. Second: CPU time of the client's own
thread for it (it shares the interpreter lock with training), at 2000 calls a second. Their sum must stay below 10 us
for a phase; exit status 1 if it does not. --check: a phase alone, and the best of three rounds, as other processes
only add to it.
"""
import os
import sys
import time

sys.path.insert(0, os.environ.get("PITWALL_SOURCES") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src"))
import pitwall  # noqa: E402
from bench_sink import Sink  # noqa: E402
from pitwall import _lifecycle  # noqa: E402

INLINE_TURNS = 10000
PACED_TURNS = 1500
PACE_S = 0.0005


def _inline(turn):
    """Microseconds of wall time per call; the best of five, as other processes only add to it."""
    best = float("inf")
    for _ in range(5):
        begin = time.perf_counter_ns()
        for _ in range(INLINE_TURNS // 5):
            turn()
        best = min(best, (time.perf_counter_ns() - begin) / (INLINE_TURNS // 5))
        time.sleep(0.3)  # lets the sender empty the queue
    return best / 1e3


def _sender_cpu(turn):
    """Microseconds of the sender thread's CPU per call; the best of three, as a busy machine's caches only add to it."""
    client = _lifecycle.client
    if client is None:
        return 0.0
    clock = time.pthread_getcpuclockid(client.sender._thread.ident)
    best = float("inf")
    for _ in range(3):
        begin = time.clock_gettime(clock)
        for _ in range(PACED_TURNS):
            turn()
            time.sleep(PACE_S)
        time.sleep(0.3)
        best = min(best, (time.clock_gettime(clock) - begin) / PACED_TURNS * 1e6)
    return best


def _phase():
    with pitwall.phase("forward"):
        pass


def _step():
    with pitwall.step():
        pass


LIMIT_US = 10  # of a phase
TURNS = {"phase": _phase, "step": _step, "log(loss=...)": lambda: pitwall.log(loss=0.5)}


def _measure(names, where):
    """Microseconds of a phase in both threads; prints each call."""
    phase = 0.0
    for name in names:
        inline, sender = _inline(TURNS[name]), _sender_cpu(TURNS[name])
        if name == "phase":
            phase = inline + sender
        print("%-14s %-18s %6.2f us in the training thread, %6.2f us of CPU in the client's own thread" % (name, where, inline, sender))
    return phase


def main():
    check = "--check" in sys.argv[1:]
    sink = Sink()
    worst = 0.0
    for connected in (False, True):
        if connected:
            sink.connect(pitwall)
        for _ in range(3 if check else 1):
            phase = _measure(["phase"] if check else TURNS, "with a collector" if connected else "before init()")
            if phase < LIMIT_US:
                break
        worst = max(worst, phase)
    sink.close(pitwall)
    return 0 if worst < LIMIT_US else 1


if __name__ == "__main__":
    sys.exit(main())
