"""Training loop API: steps, phases, and modes.

Each function is a thin layer over the Recorder, is a no-op before init(), and never raises into the loop.
"""
import functools
import inspect

from .. import _lifecycle
from .._guard import MAX_STEP, WrongCall, brief, swallow, warn_once
from ..recording._open_loops import Loop
from . import _loader


class Block:
    """A context manager that is also a decorator, including for async functions. Each call to the decorated function is a separate block with the
    same argument."""

    __slots__ = ("_argument", "_begun")

    def __init__(self, argument):
        self._argument = argument
        self._begun = None

    def __call__(self, function):
        kind, argument = type(self), self._argument
        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def timed(*args, **kwargs):
                with kind(argument):
                    return await function(*args, **kwargs)
        else:
            @functools.wraps(function)
            def timed(*args, **kwargs):
                with kind(argument):
                    return function(*args, **kwargs)
        return timed


class _Phase(Block):
    __slots__ = ()

    def __enter__(self):
        try:
            recorder = _lifecycle.recorder
            self._begun = (recorder, recorder.begin_phase(self._argument)) if recorder is not None else None
        except Exception:
            swallow("phase")
        return self

    def __exit__(self, *_):
        try:
            if self._begun is not None:
                recorder, begun = self._begun
                self._begun = None
                recorder.end_phase(begun)
        except Exception:
            swallow("phase")


def phase(name):
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

    def __init__(self, number):
        self._number = number
        self._begun = None

    def __enter__(self):
        try:
            recorder = _lifecycle.recorder
            begun = recorder.begin_step(_number_or_next("step", self._number)) if recorder is not None else None
            self._begun = (recorder, begun) if begun is not None else None
        except Exception:
            swallow("step")
        return self

    def __exit__(self, kind, *_):
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


def step(number=None):
    """Times one step of a loop without a loader: `with pitwall.step(): ...`. number: defaults to the next step's number. The client cannot detect the
    end of such a loop. Therefore, call finish() after the loop, or iterate over steps(range(n)). Never raises."""
    return _StepContext(number)


class _Steps:
    """Iterable returned by steps()."""

    def __init__(self, loader, start):
        self._loader = loader
        self._start = start

    def __iter__(self):
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


class _SizedSteps(_Steps):
    def __len__(self):
        return len(self._loader)


def steps(loader, start=None):
    """Iterates over the loader. Each item is a step, which consists of the wait for the item (phase "dataloader") and the loop body.

    The step count continues across calls (epochs), separately for each mode. If watch() receives a new model after a loop has closed, its steps start
    at 0.

    start: number of the first step, for training that resumes from a checkpoint. A number below the last step is a rollback.

    The loop ends when the loader is exhausted, or when `break` or an exception leaves the loop. A process that is idle afterwards is not reported as
    hung. If the script keeps the iterator (`it = iter(pitwall.steps(loader))`), the loop ends with `it.close()` or `del it`. Errors from the loader
    propagate; the client itself never raises.
    """
    return (_SizedSteps if hasattr(loader, "__len__") else _Steps)(loader, start)


def _begin_fetch(start, loop):
    try:
        recorder = _lifecycle.recorder
        if recorder is not None:
            step_begun = recorder.begin_step(None if start is None else _number_or_next("steps", start), fetching=True)
            loop.enter(recorder, step_begun)
            return recorder, step_begun, recorder.begin_phase("dataloader")
    except Exception:
        swallow("steps")
    return None, None, None


def _end_fetch(recorder, step_begun, phase_begun):
    try:
        if recorder is not None:
            if step_begun is not None:
                recorder.confirm_step(step_begun)
            recorder.end_phase(phase_begun)
    except Exception:
        swallow("steps")


def _drop_fetch(recorder, step_begun, phase_begun):
    try:
        if recorder is not None:
            recorder.end_phase(phase_begun, record=False)
            if step_begun is not None:
                recorder.drop_step(step_begun)
    except Exception:
        swallow("steps")


def _end_step(recorder, step_begun):
    try:
        if step_begun is not None:
            recorder.end_step(step_begun)
    except Exception:
        swallow("steps")


def _leave_step(recorder, step_begun):
    try:
        if step_begun is not None:
            recorder.drop_step(step_begun, keep_if_worked=True)
    except Exception:
        swallow("steps")


def _close(loop):
    try:
        loop.close()
    except Exception:
        swallow("steps")


def step_number(number):
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


def _number_or_next(place, number):
    """Returns the step number. If the number is invalid, logs a warning and returns None, so that the count continues."""
    try:
        return step_number(number)
    except WrongCall:
        swallow(place)
        return None


class _ModeContext:
    """Context manager returned by mode(). As a `with` block, it times a phase with the mode's name and restores the previous mode on exit."""

    __slots__ = ("_name", "_before", "_recorder", "_phase")

    def __init__(self, name):
        self._name = name
        self._phase = None
        self._recorder = _lifecycle.recorder
        self._before = self._recorder.set_mode(name) if self._recorder is not None else None

    def __enter__(self):
        try:
            if self._recorder is not None and self._before != self._name:
                self._recorder.set_mode(self._before)  # the phase belongs to the step of the outer mode
                self._phase = self._recorder.begin_phase(self._name)
                self._recorder.set_mode(self._name)
        except Exception:
            swallow("mode")
        return self

    def __exit__(self, *_):
        try:
            if self._recorder is not None:
                self._recorder.set_mode(self._before)
                if self._phase is not None:
                    self._recorder.end_phase(self._phase)
        except Exception:
            swallow("mode")


class _NoMode:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def mode(name):
    """Sets the mode ("train", "eval", ...) of the calling thread's subsequent steps and values. `with mode("eval"):` sets the mode for a block. The
    block is also recorded as a phase "eval" of the surrounding training step. Each mode counts its own steps. Never raises."""
    try:
        if type(name) is not str or not name:
            warn_once("mode: name must be a non-empty string (got %s); use \"train\", \"eval\", or another name", brief(name))
        return _ModeContext(str(name) or "train")
    except Exception:
        swallow("mode")
        return _NoMode()
