"""Pitwall's client for training scripts.

    import pitwall
    pitwall.init(job="resnet")
    for batch in pitwall.steps(loader):
        with pitwall.phase("forward"):
            loss = model(batch)
        with pitwall.phase("backward"):
            loss.backward()
        pitwall.log(loss=loss.item())

Times what the loop does and sends it to the collector of this node over a Unix socket. Nothing here ever raises into
the training script, waits for the collector or prints; without a collector, or before init(), every call is a no-op.
Debug messages go to the logger "pitwall", each kind of failure once. All functions may be called from any thread.
"""
import functools
import inspect
import logging
import re

from . import _lifecycle
from ._version import __version__

__all__ = ["init", "finish", "steps", "step", "phase", "log", "mode", "info", "__version__"]

_logger = logging.getLogger("pitwall")
_told = set()  # failures already logged
_metrics = {}  # name given to log() -> metric name
_NOT_IN_NAMES = re.compile("[^a-zA-Z0-9_:]")
_MAX_STEP = 1 << 61  # the collector takes less than 2^62


def _swallow(where):
    """Logs the exception in flight, once for each place and kind."""
    import sys
    key = (where, sys.exc_info()[0])
    if key not in _told and len(_told) < 100:
        _told.add(key)
        _logger.debug("pitwall: %s failed and was ignored", where, exc_info=True)


def init(job=None, *, job_id=None, rank=None, local_rank=None, world_size=None, attempt=None, labels=None, socket=None,
         queue=_lifecycle.DEFAULT_QUEUE, step_lag=0):
    """Starts the client. Whatever is not given comes from the environment (see the README's table).

    job: the job's name. job_id: unique for ever, if the scheduler has such a thing. labels: further labels of this
    process. socket: path of the collector's socket. queue: spans and values kept while the collector does not read;
    newer ones are dropped and counted. step_lag: how many steps late values of a step may be logged.
    """
    try:
        _lifecycle.begin(job, job_id, rank, local_rank, world_size, attempt, labels, socket, queue, step_lag)
    except Exception:
        _swallow("init")


def finish(reason="completed", timeout=1.0):
    """Sends what is left and says goodbye: "completed", "failed", or "" for unknown. Done by itself at exit."""
    try:
        _lifecycle.end(reason if reason in ("completed", "failed") else "", timeout)
    except Exception:
        _swallow("finish")


def info():
    """What the collector said of this process: {"node", "job_id", "source"}; {} while there is none."""
    client = _lifecycle.client
    return dict(client.sender.welcome or {}) if client is not None else {}


class _Phase:
    __slots__ = ("_name", "_begun")

    def __init__(self, name):
        self._name = name
        self._begun = None

    def __enter__(self):
        try:
            recorder = _lifecycle.recorder
            self._begun = (recorder, recorder.begin_phase(self._name)) if recorder is not None else None
        except Exception:
            _swallow("phase")
        return self

    def __exit__(self, *_):
        try:
            if self._begun is not None:
                recorder, begun = self._begun
                self._begun = None
                recorder.end_phase(begun)
        except Exception:
            _swallow("phase")

    def __call__(self, function):
        name = self._name
        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def timed(*args, **kwargs):
                with _Phase(name):
                    return await function(*args, **kwargs)
        else:
            @functools.wraps(function)
            def timed(*args, **kwargs):
                with _Phase(name):
                    return function(*args, **kwargs)
        return timed


def phase(name):
    """Times a part of a step: `with phase("forward"): ...`, or `@phase("forward")` on a function.

    Usual names: dataloader, forward, backward, optimizer, collective, checkpoint, eval. Phases may nest; each is
    counted in full. A phase outside any step, or whose step was over long ago, is sent without a step.
    """
    try:
        return _Phase(name if type(name) is str else str(name))
    except Exception:
        _swallow("phase")
        return _Phase("unknown")


class _StepContext:
    __slots__ = ("_number", "_begun")

    def __init__(self, number):
        self._number = number
        self._begun = None

    def __enter__(self):
        try:
            recorder = _lifecycle.recorder
            begun = recorder.begin_step(_step_number(self._number)) if recorder is not None else None
            self._begun = (recorder, begun) if begun is not None else None
        except Exception:
            _swallow("step")
        return self

    def __exit__(self, kind, *_):
        try:
            if self._begun is not None:
                recorder, begun = self._begun
                self._begun = None
                if kind is None:
                    recorder.end_step(begun)
                else:
                    recorder.drop_step(begun)  # a step that failed was not finished
        except Exception:
            _swallow("step")


def step(number=None):
    """One step of a loop that has no loader: `with pitwall.step(): ...`. Counts by itself, unless given a number."""
    return _StepContext(number)


class _Steps:
    """The iterable that steps() returns."""

    def __init__(self, loader, start):
        self._loader = loader
        self._start = start

    def __iter__(self):
        iterator = iter(self._loader)
        start = self._start
        while True:
            recorder, step_begun, phase_begun = _begin_fetch(start)
            start = None
            try:
                batch = next(iterator)
            except StopIteration:
                _drop_fetch(recorder, step_begun, phase_begun)
                return
            except BaseException:
                _drop_fetch(recorder, step_begun, phase_begun)
                raise
            _end_fetch(recorder, step_begun, phase_begun)
            try:
                yield batch
            except GeneratorExit:
                # The loop was left. If the body had done anything, take the step as done: `break` at its end is usual.
                _leave_step(recorder, step_begun)
                raise
            _end_step(recorder, step_begun)


class _SizedSteps(_Steps):
    def __len__(self):
        return len(self._loader)


def steps(loader, start=None):
    """Iterates over the loader; each item is a step: the wait for it (phase "dataloader") and the loop's body.

    Counting goes on over several calls (epochs), and separately for each mode. start: number of the first step, when
    training resumes from a checkpoint; one below the last step is taken as a roll-back.
    """
    return (_SizedSteps if hasattr(loader, "__len__") else _Steps)(loader, start)


def _begin_fetch(start):
    try:
        recorder = _lifecycle.recorder
        if recorder is not None:
            step_begun = recorder.begin_step(_step_number(start), fetching=True)
            return recorder, step_begun, recorder.begin_phase("dataloader")
    except Exception:
        _swallow("steps")
    return None, None, None


def _end_fetch(recorder, step_begun, phase_begun):
    try:
        if recorder is not None:
            if step_begun is not None:
                recorder.confirm_step(step_begun)
            recorder.end_phase(phase_begun)
    except Exception:
        _swallow("steps")


def _drop_fetch(recorder, step_begun, phase_begun):
    try:
        if recorder is not None:
            recorder.end_phase(phase_begun, record=False)
            if step_begun is not None:
                recorder.drop_step(step_begun)
    except Exception:
        _swallow("steps")


def _end_step(recorder, step_begun):
    try:
        if step_begun is not None:
            recorder.end_step(step_begun)
    except Exception:
        _swallow("steps")


def _leave_step(recorder, step_begun):
    try:
        if step_begun is not None:
            recorder.drop_step(step_begun, keep_if_worked=True)
    except Exception:
        _swallow("steps")


def _step_number(number):
    return None if number is None else min(max(int(number), 0), _MAX_STEP)


def log(values=None, *, step=None, labels=None, **named):
    """Logs numbers: `log(loss=0.3, accuracy=0.9)`, or a dict for names that are no Python names.

    loss becomes train_loss, every other name train_<name>; names that begin with train_ are kept. Numbers are what
    float() takes: also tensors and arrays of one element (float() of a GPU tensor waits for the GPU). NaN and
    infinities are sent. step: default the step that runs or ran last. labels: e.g. {"tensor": "fc1.weight"}.
    """
    recorder = _lifecycle.recorder
    if recorder is None:
        return
    try:
        given = dict(values, **named) if values else named
        pairs = []
        for name, value in given.items():
            try:
                pairs.append((_metrics.get(name) or _metric(name), float(value)))
            except Exception:  # a name or value of a kind we do not take; the others go on
                _swallow("log of a %s as a number" % type(value).__name__)
        pinned = tuple(sorted((str(name), str(value)) for name, value in labels.items())) if labels else ()
        recorder.log(pairs, pinned, _step_number(step))
    except Exception:
        _swallow("log")


def _metric(name):
    name = str(name)
    metric = _NOT_IN_NAMES.sub("_", name)
    if not metric:
        raise ValueError("empty metric name")
    if not metric.startswith("train_"):
        metric = "train_" + metric
    if len(_metrics) < 4096:
        _metrics[name] = metric
    return metric


class _ModeContext:
    """What mode() returns: used with `with`, it restores the mode before, and times a phase of the mode's name."""

    __slots__ = ("_name", "_before", "_recorder", "_phase")

    def __init__(self, name):
        self._name = name
        self._phase = None
        self._recorder = _lifecycle.recorder
        self._before = self._recorder.set_mode(name) if self._recorder is not None else None

    def __enter__(self):
        try:
            if self._recorder is not None and self._before != self._name:
                self._recorder.set_mode(self._before)  # the phase is one of the outer mode's step
                self._phase = self._recorder.begin_phase(self._name)
                self._recorder.set_mode(self._name)
        except Exception:
            _swallow("mode")
        return self

    def __exit__(self, *_):
        try:
            if self._recorder is not None:
                self._recorder.set_mode(self._before)
                if self._phase is not None:
                    self._recorder.end_phase(self._phase)
        except Exception:
            _swallow("mode")


class _NoMode:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def mode(name):
    """Sets the mode ("train", "eval", ...) of this thread's steps and values from here on; `with mode("eval"):` for a
    block only, which is then also a phase "eval" of the training step around it. Each mode counts its own steps."""
    try:
        return _ModeContext(str(name) or "train")
    except Exception:
        _swallow("mode")
        return _NoMode()
