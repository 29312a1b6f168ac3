"""Derives the progress of a framework's loop from its callbacks: the time between two callbacks is recorded as spans and steps.

All callbacks of a loop run in one thread. As with steps(), the span of a step starts with the wait for its batch.
"""
from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, Optional, Tuple, TypeVar, cast

from .._client import client
from .._guard import swallow
from ..loop._log import metric_of
from ..recording._core import Begun, Labels, Phase
from ..recording._open_loops import Loop

_Method = TypeVar("_Method", bound=Callable[..., Any])


def quiet(method: _Method) -> _Method:
    """Decorates a callback so that it never raises. After an exception, the callback returns None, which the framework interprets as "no change"."""
    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return method(self, *arguments, **named)
        except Exception:
            swallow("%s of %s" % (method.__name__, type(self).__module__.rpartition(".")[2]))
            return None
    return cast(_Method, call)


class Progress:
    """Progress of one loop. number: the last step that ran; None before the first step. framework: package name of the framework if it may leave the
    loop without calling a callback."""

    def __init__(self, framework: Optional[str] = None) -> None:
        self._framework = framework
        self._reset()

    def _reset(self) -> None:
        self._loop = Loop(self._framework)
        self.recorder = client.recorder
        self.number: Optional[int] = None
        self._step: Optional[Begun] = None  # result of begin_step() for a training step
        self._fetching = False
        self._phases: Dict[str, Phase] = {}  # name -> result of begin_phase()
        self._eval: Optional[List[Any]] = None  # [outer mode, phase, eval step]
        self._since: Optional[Phase] = None  # phase that covers the time between two callbacks

    def begin_loop(self) -> None:
        """Records the start of training; stop() records its end."""
        self._loop.enter(self.recorder)

    # Training steps.

    def fetch(self, number: int) -> None:
        """Records the start of the wait for the batch of step `number`."""
        self.rest()
        if self._step is None and self.recorder is not None:
            self._step = self.recorder.begin_step(number, fetching=True)
            self._fetching = True
            self.between("dataloader")

    def begin_step(self, number: int) -> None:
        """Records that the batch has arrived and its step has started. Has no effect while a step is running."""
        if self.recorder is None or (self._step is not None and not self._fetching):
            return
        if self._fetching:
            self._end_between()
            self._fetching = False
            if self._step is not None:
                self.recorder.confirm_step(self._step)
        else:
            self._step = self.recorder.begin_step(number)
        self.number = number

    def end_step(self) -> None:
        self.end_phases()
        if self.recorder is not None and self._step is not None and not self._fetching:
            step, self._step = self._step, None
            self.recorder.end_step(step)

    @property
    def fetching(self) -> bool:
        return self._fetching

    @property
    def in_step(self) -> bool:
        return self._step is not None and not self._fetching

    def rest(self, was: Optional[str] = None) -> None:
        """Renames the phase that was assumed to be the wait for a batch. was: the actual phase. If omitted, the phase is dropped."""
        since = self._since
        self._end_between(record=not self._fetching)
        if self.recorder is not None and self._fetching and was is not None and since is not None:
            self.recorder.end_phase((was, since[1], since[2], None))
        if self._fetching:
            self._fetching = False
            step, self._step = self._step, None
            if self.recorder is not None and step is not None:
                self.recorder.drop_step(step)

    def stop(self) -> None:
        """Records the end of training. Open steps and phases count as unfinished."""
        self.rest()
        self.end_eval()
        self.end_phases()
        step, self._step = self._step, None
        if self.recorder is not None and step is not None:
            self.recorder.drop_step(step)
        self._loop.close()

    # Phases.

    def between(self, name: str) -> None:
        """Starts a phase that lasts until the next callback."""
        self._end_between()
        if self.recorder is not None:
            self._since = self.recorder.begin_phase(name)

    def _end_between(self, record: bool = True) -> None:
        since, self._since = self._since, None
        if self.recorder is not None and since is not None:
            self.recorder.end_phase(since, record)

    def phase(self, name: str) -> None:
        if self.recorder is not None and name not in self._phases and not self.recorder.in_phase(name):
            self._phases[name] = self.recorder.begin_phase(name)

    def end_phase(self, name: str) -> None:
        begun = self._phases.pop(name, None)
        if self.recorder is not None and begun is not None:
            self.recorder.end_phase(begun)

    def end_phases(self) -> None:
        for name in list(self._phases):
            self.end_phase(name)

    # Evaluations. An evaluation has its own steps and is a phase of the last training step.

    def begin_eval(self) -> None:
        if self.recorder is not client.recorder:  # a separate evaluation without prior training
            self.stop()
            self._reset()
        self.rest()
        if self.recorder is None or self._eval is not None:
            return
        outside = self.recorder.mode()
        phase = self.recorder.begin_phase("eval")
        self.recorder.set_mode("eval")
        self._eval = [outside, phase, None]
        self.fetch_eval()

    def fetch_eval(self) -> None:
        """Ends the previous step and starts the wait for the next evaluation batch."""
        if self.recorder is not None and self._eval is not None:
            if self._eval[2] is not None:
                self.recorder.confirm_step(self._eval[2])
                self.recorder.end_step(self._eval[2])
            self._eval[2] = self.recorder.begin_step(fetching=True)

    def end_eval(self) -> None:
        if self.recorder is None or self._eval is None:
            return
        (outside, phase, step), self._eval = self._eval, None
        if step is not None:
            self.recorder.drop_step(step)
        self.recorder.set_mode(outside)
        self.recorder.end_phase(phase)

    @property
    def in_eval(self) -> bool:
        return self._eval is not None

    # Values.

    def log(self, values: Dict[str, Any], mode: str = "train") -> None:
        """Logs values as log() does. values: {name: number}; values that are not numbers are ignored. The values belong to the running step of the
        mode, or else the last one."""
        if self.recorder is None:
            return
        found: List[Tuple[str, Labels, float]] = []
        for name, value in values.items():
            try:
                if _is_number(value):
                    found.append((metric_of(name), (), float(value)))
            except Exception:  # the other values are still logged
                swallow("log of a %s as a number" % type(value).__name__)
        if found:
            self.recorder.record(found, mode, self.recorder.step_number(mode))


def _is_number(value: Any) -> bool:
    if isinstance(value, (bool, str, bytes)) or value is None:
        return False
    size = getattr(value, "numel", None) or (lambda: getattr(value, "size", 1))
    return hasattr(value, "__float__") and size() == 1
