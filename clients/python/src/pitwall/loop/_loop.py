"""Training loop API: steps, phases, and modes.

Each function is a thin layer over the Recorder, is a no-op before init(), and never raises into the loop.
"""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Generic, Iterable, Iterator, Optional, Sized, Tuple, TypeVar, Union, cast

from .._client import client
from .._guard import MAX_STEP, WrongCall, brief, swallow, warn_once
from ..recording._core import Begun, Phase
from ..recording._open_loops import Loop
from ..recording._recorder import Recorder
from . import _loader

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])


class Block:
    """A context manager that is also a decorator, including for async functions. Each call to the decorated function is a separate block with the
    same argument."""

    __slots__ = ("_argument", "_begun")

    def __init__(self, argument: Any) -> None:
        self._argument = argument
        self._begun: Optional[Tuple[Any, ...]] = None

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        raise NotImplementedError

    def __call__(self, function: _F) -> _F:
        kind, argument = type(self), self._argument
        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def timed_coroutine(*args: Any, **kwargs: Any) -> Any:
                with kind(argument):
                    return await function(*args, **kwargs)
            return cast(_F, timed_coroutine)

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            with kind(argument):
                return function(*args, **kwargs)
        return cast(_F, timed)


class _Phase(Block):
    __slots__ = ()

    def __enter__(self) -> _Phase:
        try:
            recorder = client.recorder
            self._begun = (recorder, recorder.begin_phase(self._argument)) if recorder is not None else None
        except Exception:
            swallow("phase")
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._begun is not None:
                recorder, begun = self._begun
                self._begun = None
                recorder.end_phase(begun)
        except Exception:
            swallow("phase")


def phase(name: str) -> Block:
    """Times a part of a step: `with phase("forward"): ...`, or `@phase("forward")` on a function.

    Common names: dataloader, forward, backward, optimizer, collective, checkpoint, eval. Phases may be nested, and each phase counts its full time. A
    phase outside any step, or in a step that ended long ago, is sent without a step. Each thread has its own phases. Never raises.
    """
    try:
        if type(name) is not str or not name:
            warn_once("phase: name must be a non-empty string (got %s); use a name such as \"forward\"", brief(name))
        return _Phase(name if type(name) is str else str(name))
    except Exception:
        swallow("phase")
        return _Phase("unknown")


class _StepContext:
    __slots__ = ("_number", "_begun")

    def __init__(self, number: Optional[int]) -> None:
        self._number = number
        self._begun: Optional[Tuple[Recorder, Begun]] = None

    def __enter__(self) -> _StepContext:
        try:
            recorder = client.recorder
            if recorder is not None:
                begun = recorder.begin_step(number_or_next("step", self._number))
                self._begun = (recorder, begun) if begun is not None else None
            else:
                self._begun = None
        except Exception:
            swallow("step")
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        try:
            if self._begun is not None:
                recorder, begun = self._begun
                self._begun = None
                if kind is None:
                    recorder.end_step(begun)
                    recorder.loops.end_step()
                else:
                    recorder.drop_step(begun)  # a failed step counts as unfinished
        except Exception:
            swallow("step")


def step(number: Optional[int] = None) -> _StepContext:
    """Times one step of a loop without a loader: `with pitwall.step(): ...`. number: defaults to the next step's number. The client cannot detect the
    end of such a loop. Therefore, call finish() after the loop, or iterate over steps(range(n)). Never raises."""
    return _StepContext(number)


class _Steps(Generic[_T]):
    """Iterable returned by steps()."""

    def __init__(self, loader: Iterable[_T], start: Optional[int]) -> None:
        self._loader = loader
        self._start = start

    def __iter__(self) -> Iterator[_T]:
        iterator = iter(self._loader)
        start = self._start
        facts = _loader.Facts(self._loader, iterator)
        loop = Loop()
        try:
            while True:
                facts.expect()
                recorder, step_begun, phase_begun = _begin_fetch(start, loop)
                start = None
                try:
                    batch = next(iterator)
                except BaseException as end:
                    _drop_fetch(recorder, step_begun, phase_begun)
                    if isinstance(end, StopIteration):
                        return
                    raise
                _end_fetch(recorder, step_begun, phase_begun)
                facts.report(recorder)
                try:
                    yield batch
                except GeneratorExit:
                    # The script left the loop. The step counts as finished if its body has recorded any data, because a `break` at the end of the
                    # body is common.
                    _leave_step(recorder, step_begun)
                    raise
                _end_step(recorder, step_begun)
        finally:
            _close(loop)


class _SizedSteps(_Steps[_T]):
    def __len__(self) -> int:
        return len(cast(Sized, self._loader))


def steps(loader: Iterable[_T], start: Optional[int] = None) -> _SizedSteps[_T]:
    """Iterates over the loader. Each item is a step, which consists of the wait for the item (phase "dataloader") and the loop body.

    The step count continues across calls (epochs), separately for each mode. If watch() receives a new model after a loop has closed, its steps start
    at 0.

    start: number of the first step, for training that resumes from a checkpoint. A number below the last step is a rollback.

    The loop ends when the loader is exhausted, or when `break` or an exception leaves the loop. A process that is idle afterwards is not reported as
    hung. If the script keeps the iterator (`it = iter(pitwall.steps(loader))`), the loop ends with `it.close()` or `del it`. Errors from the loader
    propagate; the client itself never raises.
    """
    return cast("_SizedSteps[_T]", (_SizedSteps if hasattr(loader, "__len__") else _Steps)(loader, start))


def _begin_fetch(start: Optional[int], loop: Loop) -> tuple[Optional[Recorder], Optional[Begun], Optional[Phase]]:
    try:
        recorder = client.recorder
        if recorder is not None:
            step_begun = recorder.begin_step(None if start is None else number_or_next("steps", start), fetching=True)
            loop.enter(recorder, step_begun)
            return recorder, step_begun, recorder.begin_phase("dataloader")
    except Exception:
        swallow("steps")
    return None, None, None


def _end_fetch(recorder: Optional[Recorder], step_begun: Optional[Begun], phase_begun: Optional[Phase]) -> None:
    try:
        if recorder is not None:
            if step_begun is not None:
                recorder.confirm_step(step_begun)
            if phase_begun is not None:
                recorder.end_phase(phase_begun)
    except Exception:
        swallow("steps")


def _drop_fetch(recorder: Optional[Recorder], step_begun: Optional[Begun], phase_begun: Optional[Phase]) -> None:
    try:
        if recorder is not None:
            if phase_begun is not None:
                recorder.end_phase(phase_begun, record=False)
            if step_begun is not None:
                recorder.drop_step(step_begun)
    except Exception:
        swallow("steps")


def _end_step(recorder: Optional[Recorder], step_begun: Optional[Begun]) -> None:
    try:
        if recorder is not None and step_begun is not None:
            recorder.end_step(step_begun)
    except Exception:
        swallow("steps")


def _leave_step(recorder: Optional[Recorder], step_begun: Optional[Begun]) -> None:
    try:
        if recorder is not None and step_begun is not None:
            recorder.drop_step(step_begun, keep_if_worked=True)
    except Exception:
        swallow("steps")


def _close(loop: Loop) -> None:
    try:
        loop.close()
    except Exception:
        swallow("steps")


def step_number(number: Any) -> Optional[int]:
    """Converts a step number for the recorder. Raises WrongCall."""
    if number is None:
        return None
    try:
        whole = int(number)
    except Exception:  # int() of an object may raise anything
        raise WrongCall("the step must be a whole number", number, "use an int of at least 0") from None
    if whole < 0:
        warn_once("step: the number is negative (%s); using 0", brief(number))
    return min(max(whole, 0), MAX_STEP)


def number_or_next(place: str, number: Any) -> Optional[int]:
    """Returns the step number. If the number is invalid, logs a warning and returns None, so that the count continues."""
    try:
        return step_number(number)
    except WrongCall:
        swallow(place)
        return None


class _ModeContext:
    """Context manager returned by mode(). As a `with` block, it times a phase with the mode's name and restores the previous mode on exit."""

    __slots__ = ("_name", "_before", "_recorder", "_phase")

    def __init__(self, name: str) -> None:
        self._name = name
        self._phase: Optional[Phase] = None
        self._recorder = client.recorder
        self._before = self._recorder.set_mode(name) if self._recorder is not None else None

    def __enter__(self) -> _ModeContext:
        try:
            if self._recorder is not None and self._before is not None and self._before != self._name:
                self._recorder.set_mode(self._before)  # the phase belongs to the step of the outer mode
                self._phase = self._recorder.begin_phase(self._name)
                self._recorder.set_mode(self._name)
        except Exception:
            swallow("mode")
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._recorder is not None and self._before is not None:
                self._recorder.set_mode(self._before)
                if self._phase is not None:
                    self._recorder.end_phase(self._phase)
        except Exception:
            swallow("mode")


class _NoMode:
    def __enter__(self) -> _NoMode:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def mode(name: str) -> Union[_ModeContext, _NoMode]:
    """Sets the mode ("train", "eval", ...) of the calling thread's subsequent steps and values. `with mode("eval"):` sets the mode for a block. The
    block is also recorded as a phase "eval" of the surrounding training step. Each mode counts its own steps. Never raises."""
    try:
        if type(name) is not str or not name:
            warn_once("mode: name must be a non-empty string (got %s); use \"train\", \"eval\", or another name", brief(name))
        return _ModeContext(str(name) or "train")
    except Exception:
        swallow("mode")
        return _NoMode()
