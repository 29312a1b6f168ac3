"""Open loops of a process. A process without an open loop may be idle for any length of time.

The collector receives the state with each Update and also as the series train_loop_open, which is 1 while a loop is open and 0 after the last loop
has closed. Before the first loop, neither is sent.
"""
from __future__ import annotations

import sys
import threading
import time
import weakref
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Callable, Optional

from ._core import Begun, Phase

if TYPE_CHECKING:
    from ._recorder import Recorder

METRIC = "train_loop_open"
WAIT_S = 0.1         # maximum wait for the sender when the last loop closes
FREE_WAIT_S = 0.5    # further waits are limited to WAIT_SHARE of the process's lifetime
WAIT_SHARE = 0.01


class OpenLoops:
    """Open loops of one recorder.

    Threads: every method is thread-safe. A generator that the garbage collector closes may call a method while its own thread holds the lock.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.open: Optional[bool] = None  # None before the first loop
        self.flush: Optional[Callable[[float], None]] = None  # the sender's flush(), called with a timeout after the last loop has closed
        self._recorder = recorder
        self._lock = threading.RLock()
        self._loops: set[Loop] = set()
        self._polls = False
        self._began = time.monotonic()
        self._waited = 0.0
        self._models: weakref.WeakSet[Any] = weakref.WeakSet()  # models that are or were watched
        self._has_model = False

    def add(self, loop: Loop) -> None:
        with self._lock:
            self._loops.add(loop)
            self._report(True)
            if loop.may_be_left and not self._polls:
                self._polls = True
                self._recorder.add_states(self._close_left)

    def remove(self, loop: Loop) -> None:
        with self._lock:
            if loop not in self._loops:
                return
            self._loops.discard(loop)
            if self._loops:
                return
            self._report(False)
        self._await_sender()

    def begin_model(self, model: object) -> None:
        """Reports that watch() was called for a model. If the model is new and the loop of another model has closed, a separate training run starts.
        Its steps start at 0, so that rules do not compare its losses with the previous model's losses."""
        with self._lock:
            restarts = self._has_model and self.open is False and model not in self._models
            self._has_model = True
            self._models.add(model)
        if restarts:
            self._recorder.restart_steps()

    def end_step(self) -> None:
        """Ends a step outside a steps() loop. In this case, the script runs its own loop, and the client cannot observe its end."""
        if self.open is False:
            with self._lock:
                self._report(True)

    def _close_left(self, _: object) -> None:
        """Closes each loop whose function has returned or raised without closing it. Called twice a second."""
        with self._lock:
            left = [loop for loop in self._loops if loop.is_left()]
        for loop in left:
            loop.close()

    def _report(self, is_open: bool) -> None:
        if self.open is not is_open:
            self.open = is_open
            self._recorder.set_state(METRIC, (), float(is_open), at_once=True)

    def _await_sender(self) -> None:
        """Waits briefly until the sender has reported that no loop is open, because the script may now end its process without notice."""
        began = time.monotonic()
        allowed = FREE_WAIT_S + WAIT_SHARE * (began - self._began) - self._waited
        if self.flush is not None and allowed > 0:
            self.flush(min(WAIT_S, allowed))
            self._waited += time.monotonic() - began


class Loop:
    """Loop that is open from the first enter() until close().

    framework: name of a package that runs the loop and may leave it without a callback. Such a loop is open while its thread is in the package's
    outermost function.
    """

    def __init__(self, framework: Optional[str] = None) -> None:
        self._framework = framework
        self._recorder: Optional[Recorder] = None
        self._phases: list[Phase] = []  # phases of the thread that runs the loop
        self._depth = 0        # number of the thread's phases when the loop started
        self._step: Optional[Begun] = None  # running step, as in the phases
        self._thread: Optional[int] = None
        self._code: Optional[CodeType] = None

    @property
    def may_be_left(self) -> bool:
        return self._code is not None

    def enter(self, recorder: Optional[Recorder], step: Optional[Begun] = None) -> None:
        """Opens the loop for a step. step: the return value of begin_step() for this step."""
        self._step = step[1] if type(step) is tuple else step
        if recorder is self._recorder:
            return
        self.close()
        self._recorder = recorder
        if recorder is not None:
            self._phases = recorder.thread_phases()
            self._depth = len(self._phases)
            if self._framework is not None:
                self._thread, self._code = threading.get_ident(), _outermost_code(self._framework)
            recorder.loops.add(self)

    def close(self) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            self._end_phases(recorder)
            recorder.loops.remove(self)

    def is_left(self) -> bool:
        return self.may_be_left and not _runs(self._thread, self._code)

    def _end_phases(self, recorder: Recorder) -> None:
        """Ends the phases that hooks started in the last step, because after an exception no hook ends them."""
        for phase in list(self._phases[self._depth:]):
            if self.may_be_left or (self._step is not None and phase[3] is self._step):
                recorder.end_phase(phase, record=False, phases=self._phases)
                return


def _outermost_code(package: str) -> Optional[CodeType]:
    """Returns the code object of the package's outermost function on the calling thread's stack, or None if the package is not on the stack."""
    found = None
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == package:
            found = frame.f_code
        frame = frame.f_back
    return found


def _runs(thread: Optional[int], code: Optional[CodeType]) -> bool:
    frame = sys._current_frames().get(thread or 0)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None
