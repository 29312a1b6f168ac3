"""Response to the collector's Capture message: the stacks of all Python threads, the running phase and collective, CPU time, and I/O bytes.

The client's own thread builds the response. The response is limited to 64 threads, 64 frames per thread, 200 bytes per frame, and 60 KiB in total;
omitted frames and threads are counted. Frames contain only function names, file names, and line numbers, and never any values.
"""
from __future__ import annotations

import os
import sys
import threading
import time
from types import FrameType
from typing import Callable, Optional, Sequence, Tuple, TypeVar

from .. import _wire
from .._guard import swallow
from ..recording._recorder import Recorder

_T = TypeVar("_T")
Stack = Tuple[int, str, bool, Sequence[str]]  # thread ID, name, whether it is the main thread, frames

MAX_THREADS = 64
MAX_FRAMES = 64
MAX_TEXT = 200
MAX_BYTES = 60 << 10    # the collector accepts 64 KiB
MAX_OPERATORS = 20
_COLLECTIVES = os.path.join("torch", "distributed", "distributed_c10d.py")
_OPERATIONS = "train_collective_operations_total"


def answer(request: _wire.Request, recorder: Recorder) -> bytes:
    """Returns ClientMessage{captured}. request: (id, look) from read_capture()."""
    phase, _, step_plus_one, mode = _safely("the phase", recorder.running, ("", 0, 0, ""))
    stacks, left_out = threads()
    opened = _safely("the collective", lambda: collective(recorder, phase, stacks), None)
    head = _wire.captured_head(request, phase, mode, step_plus_one, opened, time.process_time(), io_bytes(), operators(recorder))
    parts, size = [], len(head)
    for stack in stacks:
        part, cut = _fitting(stack, MAX_BYTES - size)
        left_out += cut
        if part:
            parts.append(part)
            size += len(part)
    return _wire.captured(head, parts, left_out)


def threads() -> tuple[list[Stack], int]:
    """Returns [(id, name, main, [frame])] and the number of omitted frames and threads. The main thread is first, and this thread is listed without
    its frames."""
    known = {thread.ident: thread for thread in list(threading.enumerate())}
    main = threading.main_thread().ident
    frames = sys._current_frames()
    own = threading.get_ident()
    order = sorted(frames, key=lambda ident: (ident != main, ident))
    left_out = max(0, len(order) - MAX_THREADS)
    stacks: list[Stack] = []
    for ident in order[:MAX_THREADS]:
        lines, cut = _lines(None if ident == own else frames[ident])
        left_out += cut
        thread = known.get(ident)
        native = getattr(thread, "native_id", None) or 0
        stacks.append((native, thread.name if thread is not None else "", ident == main, lines))
    return stacks, left_out


def _lines(frame: Optional[FrameType]) -> tuple[list[str], int]:
    """Returns the frames of a stack as "function (file:line)", innermost first, and the number of omitted frames."""
    lines: list[str] = []
    while frame is not None and len(lines) < MAX_FRAMES:
        code = frame.f_code
        place = "%s:%d" % (code.co_filename, frame.f_lineno or 0)
        name = code.co_name[:MAX_TEXT // 2]
        room = MAX_TEXT - len(name) - 3
        lines.append("%s (%s)" % (name, place if len(place) <= room else "…" + place[1 - room:]))
        frame = frame.f_back
    cut = 0
    while frame is not None:
        cut += 1
        frame = frame.f_back
    return lines, cut


def collective(recorder: Recorder, phase: str, stacks: Sequence[Stack]) -> Optional[_wire.Collective]:
    """Returns (group, operation, sequence, bytes) of the running collective, or None. An empty string or 0 means that the field is unknown."""
    awaited: Optional[_wire.Collective] = recorder.operations.awaited() if recorder.operations is not None else None
    if awaited is not None:
        return awaited
    inner = [line for line in (stacks[0][3] if stacks else []) if _COLLECTIVES in line]
    if phase != "collective" and not inner:
        return None
    counts = [(dict(labels).get("group", ""), number) for (metric, labels), number in recorder.states() if metric == _OPERATIONS]
    group, sequence = counts[0] if len(counts) == 1 else ("", 0)  # with several groups, the waiting group is unknown
    names = [line.partition(" (")[0] for line in inner]
    return group, next((name for name in reversed(names) if name != "wrapper"), ""), int(sequence), 0


def io_bytes() -> Optional[int]:
    """Returns the total number of bytes read and written by system calls and at the storage layer, or None if the numbers are unavailable."""
    try:
        with open("/proc/self/io", "rb") as file:
            lines = dict(line.split(b":") for line in file.read(4096).splitlines())
        return sum(int(lines[key]) for key in (b"rchar", b"wchar", b"read_bytes", b"write_bytes"))
    except (OSError, KeyError, ValueError):
        return None


def operators(recorder: Recorder) -> list[str]:
    """Returns the operators of the last profiled step as "name 0.123 s", longest first."""
    last = recorder.profiler.last_operators if recorder.profiler is not None else ()
    return ["%s %.3g s" % (name[:MAX_TEXT - 16], seconds) for name, seconds in list(last)[:MAX_OPERATORS]]


def _fitting(stack: Stack, room: int) -> tuple[bytes, int]:
    """Returns the encoded stack of a thread with as many frames as fit, and the number of frames that were omitted."""
    native, name, main, lines = stack
    kept = list(lines)
    while True:
        part = _wire.thread_stack(native, name, main, kept)
        if len(part) <= room:
            return part, len(lines) - len(kept)
        if not kept:
            return b"", len(lines) + 1
        kept = kept[:len(kept) // 2]


def _safely(what: str, function: Callable[[], _T], otherwise: _T) -> _T:
    try:
        return function()
    except Exception:
        swallow(what)
        return otherwise
