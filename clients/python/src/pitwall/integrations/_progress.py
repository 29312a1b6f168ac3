"""Derives the progress of a framework's loop from its callbacks: the time between two callbacks is recorded as spans and steps.

All callbacks of a loop run in one thread. As with steps(), the span of a step starts with the wait for its batch.
"""
import functools

from .. import _lifecycle, _metric
from .._guard import swallow
from ..recording._open_loops import Loop


def quiet(method):
    """Decorates a callback so that it never raises. After an exception, the callback returns None, which the framework interprets as "no change"."""
    @functools.wraps(method)
    def call(self, *arguments, **named):
        try:
            return method(self, *arguments, **named)
        except Exception:
            swallow("%s of %s" % (method.__name__, type(self).__module__.rpartition(".")[2]))
            return None
    return call


class Progress:
    """Progress of one loop. number: the last step that ran; None before the first step. framework: package name of the framework if it may leave the
    loop without calling a callback."""

    def __init__(self, framework=None):
        self._framework = framework
        self._loop = Loop(framework)
        self.recorder = _lifecycle.recorder
        self.number = None
        self._step = None         # result of begin_step() for a training step
        self._fetching = False
        self._phases = {}         # name -> result of begin_phase()
        self._eval = None         # [outer mode, phase, eval step]
        self._since = None        # phase that covers the time between two callbacks

    def begin_loop(self):
        """Records the start of training; stop() records its end."""
        self._loop.enter(self.recorder)

    # Training steps.

    def fetch(self, number):
        """Records the start of the wait for the batch of step `number`."""
        self.rest()
        if self._step is None and self.recorder is not None:
            self._step = self.recorder.begin_step(number, fetching=True)
            self._fetching = True
            self.between("dataloader")

    def begin_step(self, number):
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

    def end_step(self):
        self.end_phases()
        if self._step is not None and not self._fetching:
            step, self._step = self._step, None
            self.recorder.end_step(step)

    @property
    def fetching(self):
        return self._fetching

    @property
    def in_step(self):
        return self._step is not None and not self._fetching

    def rest(self, was=None):
        """Renames the phase that was assumed to be the wait for a batch. was: the actual phase. If omitted, the phase is dropped."""
        since = self._since
        self._end_between(record=not self._fetching)
        if self._fetching and was is not None and since is not None:
            self.recorder.end_phase((was, since[1], since[2], None))
        if self._fetching:
            self._fetching = False
            step, self._step = self._step, None
            if step is not None:
                self.recorder.drop_step(step)

    def stop(self):
        """Records the end of training. Open steps and phases count as unfinished."""
        self.rest()
        self.end_eval()
        self.end_phases()
        step, self._step = self._step, None
        if step is not None:
            self.recorder.drop_step(step)
        self._loop.close()

    # Phases.

    def between(self, name):
        """Starts a phase that lasts until the next callback."""
        self._end_between()
        if self.recorder is not None:
            self._since = self.recorder.begin_phase(name)

    def _end_between(self, record=True):
        since, self._since = self._since, None
        if since is not None:
            self.recorder.end_phase(since, record)

    def phase(self, name):
        if self.recorder is not None and name not in self._phases and not self.recorder.in_phase(name):
            self._phases[name] = self.recorder.begin_phase(name)

    def end_phase(self, name):
        begun = self._phases.pop(name, None)
        if begun is not None:
            self.recorder.end_phase(begun)

    def end_phases(self):
        for name in list(self._phases):
            self.end_phase(name)

    # Evaluations. An evaluation has its own steps and is a phase of the last training step.

    def begin_eval(self):
        if self.recorder is not _lifecycle.recorder:  # a separate evaluation without prior training
            self.stop()
            self.__init__(self._framework)
        self.rest()
        if self.recorder is None or self._eval is not None:
            return
        outside = self.recorder.mode()
        phase = self.recorder.begin_phase("eval")
        self.recorder.set_mode("eval")
        self._eval = [outside, phase, None]
        self.fetch_eval()

    def fetch_eval(self):
        """Ends the previous step and starts the wait for the next evaluation batch."""
        if self._eval is not None:
            if self._eval[2] is not None:
                self.recorder.confirm_step(self._eval[2])
                self.recorder.end_step(self._eval[2])
            self._eval[2] = self.recorder.begin_step(fetching=True)

    def end_eval(self):
        if self._eval is None:
            return
        (outside, phase, step), self._eval = self._eval, None
        if step is not None:
            self.recorder.drop_step(step)
        self.recorder.set_mode(outside)
        self.recorder.end_phase(phase)

    @property
    def in_eval(self):
        return self._eval is not None

    # Values.

    def log(self, values, mode="train"):
        """Logs values as log() does. values: {name: number}; values that are not numbers are ignored. The values belong to the running step of the
        mode, or else the last one."""
        if self.recorder is None:
            return
        found = []
        for name, value in values.items():
            try:
                if _is_number(value):
                    found.append((_metric(name), (), float(value)))
            except Exception:  # the other values are still logged
                swallow("log of a %s as a number" % type(value).__name__)
        if found:
            self.recorder.record(found, mode, self.recorder.step_number(mode))


def _is_number(value):
    if isinstance(value, (bool, str, bytes)) or value is None:
        return False
    size = getattr(value, "numel", None) or (lambda: getattr(value, "size", 1))
    return hasattr(value, "__float__") and size() == 1
