"""Profiler of training steps, which runs torch.profiler and cProfile for a few steps and sends the results.

Each step is profiled separately. The profile starts before the step's span and ends after it, both in the training thread. The results are also
computed in the training thread, between two steps, so that the values still belong to their step. If a step is cut short by an exception, an empty
loader, or finish(), its profile is discarded.
"""
from __future__ import annotations

import cProfile
import os
import sys
import threading
from types import CodeType
from typing import Any, Iterable, Optional, Protocol, Union

from .._guard import MAX_STEP, WrongCall, swallow
from ..recording._recorder import Recorder
from . import _operators

MAX_STEPS = 100
MAX_WANTED = 16  # maximum number of pending calls
TOOLS = ("torch", "python")

_lock = threading.Lock()


def request(recorder: Recorder, steps: Any = 2, start: Any = None, tools: Any = None, trace_dir: Any = None) -> None:
    """Requests a profile from a recorder. For the arguments, see pitwall.profile(). Raises ValueError and TypeError. Thread-safe."""
    wanted = Wanted(steps, start, tools, trace_dir)
    with _lock:
        if recorder.profiler is None:
            recorder.profiler = Profiler(recorder)
        recorder.profiler.want(wanted)


class Wanted:
    """Steps to profile, and the tools to use."""

    def __init__(self, steps: Any, start: Any, tools: Any, trace_dir: Any) -> None:
        self.numbers: Optional[set[int]] = None
        if isinstance(steps, int) and not isinstance(steps, bool):
            self.left = steps
        else:
            if start is not None:
                raise WrongCall("start must not be combined with a list of steps", start, "omit it")
            try:
                self.numbers = {int(number) for number in steps}
            except Exception:  # iter() and int() of an object may raise anything
                raise WrongCall("steps must be a number or a list of numbers", steps, "use 2 or [100, 200]") from None
            self.left = len(self.numbers)
        if not 1 <= self.left <= MAX_STEPS:
            raise WrongCall("the number of steps is out of range", self.left, "use 1 to %d" % MAX_STEPS)
        try:
            self.start = None if start is None else min(max(int(start), 0), MAX_STEP)
        except Exception:  # int() of an object may raise anything
            raise WrongCall("start must be a step number", start, "use an int") from None
        if tools is None:
            tools = ("torch",) if "torch" in sys.modules else ("python",)
        self.tools = (tools,) if isinstance(tools, str) else tuple(tools) if isinstance(tools, (tuple, list, set, frozenset)) else ()
        unknown = [tool for tool in self.tools if tool not in TOOLS]
        if unknown or not self.tools:
            raise WrongCall("unknown tool", unknown[0] if unknown else tools, "use %s" % ", ".join(TOOLS))
        try:
            self.trace_dir = None if trace_dir is None else os.fspath(trace_dir)
        except TypeError:
            raise WrongCall("trace_dir must be a path", trace_dir, "use the path of a directory") from None

    def includes(self, number: int) -> bool:
        return number in self.numbers if self.numbers is not None else self.start is None or number >= self.start

    def over(self, next_number: int) -> bool:
        return self.left <= 0 or (self.numbers is not None and next_number > max(self.numbers))


class Profiler:
    """Profiler of one recorder. It is the recorder's step_watcher while any request is pending."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._lock = threading.Lock()
        self._wanted: list[Wanted] = []
        self._running: Optional[tuple[int, list[Tool], list[Wanted]]] = None  # thread, running tools, requests
        self.last_operators: tuple[tuple[str, float], ...] = ()  # (name, seconds) of the last profiled step, longest first

    def want(self, wanted: Wanted) -> None:
        with self._lock:
            if len(self._wanted) >= MAX_WANTED:
                raise WrongCall("too many calls are pending", len(self._wanted), "pass all steps in one call")
            self._wanted = self._wanted + [wanted]
            self.recorder.before_end.add(self)
            self.recorder.step_watcher = self

    # The recorder calls these functions in the step's thread.

    def before_step(self, mode: str, number: Optional[int]) -> None:
        """Starts the profiles requested for the step. number: the explicit step number, or None."""
        if mode != "train":
            return
        try:
            self._discard()  # the end of the previous profiled step was not reported
            number = self.recorder.next_step(mode) if number is None else number
            self._rest([wanted for wanted in self._wanted if wanted.over(number)])
            due = [wanted for wanted in self._wanted if wanted.includes(number)]
            if due:
                self._begin(due)
        except Exception:
            swallow("profile")

    def after_step(self, mode: str, number: Optional[int]) -> None:
        if mode != "train":
            return
        try:
            running = self._running
            if running is None or running[0] != threading.get_ident():
                return
            if number is None:
                self._discard()
                return
            self._running = None
            for tool in running[1]:
                try:
                    values = tool.end(number)
                    self.recorder.record(values, mode, number)
                    self.keep(values)
                except Exception:
                    swallow("profile")
            for wanted in running[2]:
                wanted.left -= 1
            self._rest([wanted for wanted in running[2] if wanted.over(number + 1)])
        except Exception:
            swallow("profile")

    def keep(self, values: Iterable[_operators.Value]) -> None:
        """Keeps the operators among a step's values for the response to a capture."""
        seconds = [(dict(labels).get("operator", ""), value) for metric, labels, value in values
                   if metric == "train_operator_seconds"]
        self.last_operators = tuple(sorted(seconds, key=lambda item: -item[1]))

    def flush(self) -> None:
        """Discards open profiles when the client ends."""
        self._discard()
        self._rest(self._wanted)

    def _rest(self, done: list[Wanted]) -> None:
        """Removes the completed requests. Keeps all others, including those that the sender's thread has added in the meantime for a capture."""
        if not done:
            return
        with self._lock:
            self._wanted = [wanted for wanted in self._wanted if wanted not in done]
            if not self._wanted:
                self.recorder.step_watcher = None
                self.recorder.before_end.discard(self)

    def _begin(self, due: list[Wanted]) -> None:
        tools: list[Tool] = []
        self._running = (threading.get_ident(), tools, due)
        trace_dir = next((wanted.trace_dir for wanted in due if wanted.trace_dir is not None), None)
        for name in [name for name in TOOLS if any(name in wanted.tools for wanted in due)]:
            try:
                tool: Tool = _Torch(self.recorder.rank, trace_dir) if name == "torch" else _Python()
                tool.begin()
                tools.append(tool)
            except WrongCall:
                swallow("profile")
            except Exception:
                swallow("profile with %s" % name)
        if not tools:  # the next step would fail too
            self._running = None
            self._rest(due)

    def _discard(self) -> None:
        running, self._running = self._running, None
        if running is None:
            return
        for tool in running[1]:
            try:
                tool.stop()
            except Exception:
                swallow("profile")


class Tool(Protocol):
    """Tool that profiles one step."""

    def begin(self) -> None:
        """Raises WrongCall if another profiler is running."""

    def stop(self) -> None:
        """Discards the profile."""

    def end(self, number: int) -> list[_operators.Value]:
        """Returns the values of the step."""


class _Torch:
    """Runs torch.profiler for one step."""

    def __init__(self, rank: int, trace_dir: Optional[str]) -> None:
        try:
            import torch
        except ImportError:
            raise WrongCall("PyTorch cannot be imported", "torch", "install it, or use tools=\"python\"") from None
        self._torch = torch
        self._rank = rank
        self._trace_dir = trace_dir

    def begin(self) -> None:
        torch = self._torch
        enabled = getattr(torch.autograd, "_profiler_enabled", lambda: False)
        if enabled():
            raise WrongCall("another torch.profiler is running", "torch", "end it before the profiled steps")
        activities = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        self._profile = torch.profiler.profile(activities=activities)
        self._profile.start()

    def stop(self) -> None:
        self._profile.stop()

    def end(self, number: int) -> list[_operators.Value]:
        self._profile.stop()
        values = _operators.totals(self._profile.events())
        if self._trace_dir is not None:
            try:
                os.makedirs(self._trace_dir, exist_ok=True)
                self._profile.export_chrome_trace(
                    os.path.join(self._trace_dir, "pitwall-rank%d-step%d.json" % (self._rank, number)))
            except Exception:
                swallow("the trace of profile")
        return values


class _Python:
    """Runs cProfile for one step in the training thread. Functions are labeled device="python"."""

    def begin(self) -> None:
        if sys.getprofile() is not None:
            raise WrongCall("another profiler is running", "python", "end it before the profiled steps")
        self._profile = cProfile.Profile()
        self._profile.enable()

    def stop(self) -> None:
        self._profile.disable()

    def end(self, number: int) -> list[_operators.Value]:
        self._profile.disable()
        seconds: dict[str, float] = {}
        for entry in self._profile.getstats():
            name = _function(entry.code)[:_operators.MAX_NAME]
            seconds[name] = seconds.get(name, 0.0) + entry.inlinetime
        return _operators.largest(seconds, "python")


def _function(code: Union[str, CodeType]) -> str:
    if isinstance(code, str):  # a C function: "<built-in method time.sleep>"
        return code
    return "%s/%s:%d(%s)" % (os.path.basename(os.path.dirname(code.co_filename)),
                             os.path.basename(code.co_filename), code.co_firstlineno, code.co_name)
