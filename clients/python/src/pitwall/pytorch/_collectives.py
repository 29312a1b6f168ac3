"""Implementation of watch_collectives(), which measures the time that a process spends in torch.distributed functions.

The functions are replaced in the module torch.distributed. Calls through the module are observed (`torch.distributed.all_reduce(…)`), but calls
through a name imported earlier are not. With gloo, a call returns when the operation is complete. With NCCL, a call returns once the operation is
launched, so its duration is meaningless. Instead, events in the compute stream measure how long that stream was blocked (_collective_times.py). A
call with async_op=True is timed until it returns. Its result is passed on unchanged, because PyTorch checks whether the result is a Work before it
waits for it. Work.wait is replaced in its class and times the wait itself. As a result, if the host waits, the phase "collective" covers the time
that the process waited for its peers.
"""
from __future__ import annotations

import functools
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
import torch.distributed as distributed

from .._client import client
from .._guard import swallow
from ..recording._core import Labels, Phase, Values
from ..recording._recorder import Recorder
from . import _collective_times, _operations

# Some functions ending in _single exist only in the latest PyTorch, where FSDP calls them.
FUNCTIONS = ("all_reduce", "all_reduce_coalesced", "all_gather", "all_gather_into_tensor", "all_gather_single",
             "_all_gather_base", "all_gather_coalesced", "all_gather_object", "reduce_scatter", "reduce_scatter_tensor",
             "reduce_scatter_single", "_reduce_scatter_base", "gather_single", "gather_into_tensor", "broadcast", "broadcast_object_list", "barrier", "monitored_barrier", "all_to_all",
             "all_to_all_single", "reduce", "gather", "gather_object", "scatter", "scatter_object_list")
SIZES = ((1 << 10, "1KiB"), (32 << 10, "32KiB"), (1 << 20, "1MiB"), (32 << 20, "32MiB"), (1 << 30, "1GiB"))
# Operations for which all ranks of a group must pass the same number of bytes.
EQUAL = frozenset(("all_reduce", "all_gather_into_tensor", "all_gather_single", "all_gather_base", "reduce_scatter_tensor",
                   "reduce_scatter_single", "reduce_scatter_base", "broadcast", "reduce"))

compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None) or (lambda: False)
# Phase, group, number, device, and start as a time or an event.
_Waiting = Tuple[Optional[Phase], Optional[str], Optional[int], Any, Any]
# Recorder, phase, name of the group, operation, size, group, number, device, and start as an event.
_Timing = Tuple[Recorder, Phase, str, str, int, Any, Optional[int], Any, Any]

_depth = threading.local()
_labels: Dict[Tuple[str, str, str], Labels] = {}


class _Functions:
    """Replaced functions of torch.distributed and of its class Work. They are replaced while they have users.

    Threads: every method is thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._originals: Dict[str, Callable[..., Any]] = {}
        self._wait: Optional[Tuple[Any, Callable[..., Any]]] = None  # class Work and its original method

    def acquire(self) -> None:
        """Adds a user."""
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            for name in FUNCTIONS:
                original = getattr(distributed, name, None)
                if callable(original):
                    self._originals[name] = original
                    setattr(distributed, name, _timed(name.lstrip("_"), original))
            self._replace_wait()

    def release(self) -> None:
        """Removes a user, and restores the functions after the last one."""
        with self._lock:
            self._users -= 1
            if self._users:
                return
            for name, original in self._originals.items():
                if getattr(getattr(distributed, name), "_pitwall", None) is original:  # otherwise other code has wrapped the function again
                    setattr(distributed, name, original)
            self._originals.clear()
            self._restore_wait()

    def original(self, name: str) -> Callable[..., Any]:
        """Returns the function of torch.distributed that was replaced."""
        found: Callable[..., Any] = self._originals.get(name) or getattr(distributed, name)
        return found

    def _replace_wait(self) -> None:
        work = getattr(distributed.distributed_c10d, "Work", None)
        original: Any = getattr(work, "wait", None)
        if work is None or not callable(original) or hasattr(original, "_pitwall"):
            return
        try:
            work.wait = _timed_wait(original)
            self._wait = work, original
        except TypeError:  # in this build the class is immutable, so only blocking calls are timed
            pass

    def _restore_wait(self) -> None:
        if self._wait is not None:
            work, original = self._wait
            if getattr(work.wait, "_pitwall", None) is original:  # otherwise other code has wrapped the function again
                work.wait = original
        self._wait = None


_functions = _Functions()


class Watch:
    """User of the replaced functions."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = True
        _functions.acquire()

    def close(self) -> None:
        """Restores the functions after the last handle is closed."""
        with self._lock:
            was_open, self._open = self._open, False
        if was_open:
            _functions.release()


def watch(ddp: Any) -> Watch:
    """Replaces the functions only once, even if called several times. Returns a handle with close()."""
    watched = Watch()
    try:
        if ddp is not None:
            _hook_buckets(ddp)
    except BaseException:  # for example, the model already has a hook
        watched.close()
        raise
    return watched


def _timed_wait(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def wait(*arguments: Any, **named: Any) -> Any:
        recorder = client.recorder
        if compiling() or recorder is None or getattr(_depth, "inside", False):
            return original(*arguments, **named)
        waiting = _begin_wait(recorder, arguments[0]) if arguments else None
        completed = False
        try:
            result = original(*arguments, **named)
            completed = True
            return result
        finally:
            _end_wait(recorder, waiting, completed)
    return _marked(wait, original)


def _marked(wrapper: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a wrapper with the function that it replaces, and returns the wrapper."""
    wrapper._pitwall = original
    marked: Callable[..., Any] = wrapper
    return marked


def _begin_wait(recorder: Recorder, work: object) -> Optional[_Waiting]:
    """Returns the state for _end_wait(), or None."""
    try:
        times = _collective_times.of(recorder)
        group, number, device = times.forget(work)
        begun = recorder.now() if device is None else times.mark(device)
        phase = _waiting(recorder)
        _operations.of(recorder).enter(group, number)  # last, because _end_wait() ends it only if this function returns a state
        return phase, group, number, device, begun
    except Exception:
        swallow("watch_collectives")
        return None


def _end_wait(recorder: Recorder, waiting: Optional[_Waiting], completed: bool) -> None:
    if waiting is None:
        return
    phase, group, number, device, begun = waiting
    if phase is not None:
        _waited(recorder, phase, record=device is None)
    try:
        _operations.of(recorder).leave()
        times = _collective_times.of(recorder)
        if group is not None and device is not None:
            times.add_pair(recorder.mode(), group, device, begun)
        elif group is not None:
            times.add(recorder.mode(), group, (recorder.now() - begun) / 1e9)
            if completed:
                _operations.of(recorder).complete(group, number)
    except Exception:
        swallow("watch_collectives")


def _waiting(recorder: Recorder, phases: Optional[List[Phase]] = None) -> Optional[Phase]:
    """Starts the phase "collective" unless it is already running."""
    try:
        return None if recorder.in_phase("collective") else recorder.begin_phase("collective", phases)
    except Exception:
        swallow("watch_collectives")
        return None


def _waited(recorder: Recorder, phase: Phase, phases: Optional[List[Phase]] = None, record: bool = True) -> None:
    try:
        recorder.end_phase(phase, record, phases)
    except Exception:
        swallow("watch_collectives")


def _timed(operation: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*arguments: Any, **named: Any) -> Any:
        if compiling() or client.recorder is None or getattr(_depth, "inside", False):
            return original(*arguments, **named)
        timing = _begin(operation, arguments, named)
        _depth.inside = True
        result, completed = None, False
        try:
            result = original(*arguments, **named)
            completed = True
            return result
        finally:
            _depth.inside = False
            _end(timing, completed, result)
    return _marked(call, original)


def _begin(operation: str, arguments: Tuple[Any, ...], named: Dict[str, Any]) -> Optional[_Timing]:
    """Returns the state for _end(), or None."""
    try:
        recorder = client.recorder
        if recorder is None:
            return None
        group = _group(arguments, named)
        name, size = _group_name(group), max(
            [_bytes(value) for value in (*arguments, *named.values())], default=0)
        number = _count(recorder, name, operation, size)
        device = _device(arguments, named)
        begun = None if device is None else _collective_times.of(recorder).mark(device)
        phase = recorder.begin_phase("collective")
        _operations.of(recorder).enter(name, number)  # last, because _end() ends it only if this function returns a state
        return recorder, phase, name, operation, size, group, number, device, begun
    except Exception:
        swallow("watch_collectives")
        return None


def _end(timing: Optional[_Timing], completed: bool, result: Any) -> None:
    if timing is None:
        return
    try:
        recorder, phase, name, operation, size, group, number, device, begun = timing
        _operations.of(recorder).leave()
        times, mode = _collective_times.of(recorder), recorder.mode()
        launched = hasattr(result, "wait")  # an asynchronous call; the wait comes later or never
        if device is not None:
            recorder.end_phase(phase, record=False)  # the launch time is not a wait
            if completed and not launched:
                times.add_pair(mode, name, device, begun,
                               callback=functools.partial(_record_late, recorder, name, operation, size, group))
        else:
            seconds = recorder.end_phase(phase) / 1e9
            if completed and not launched:
                _operations.of(recorder).complete(name, number)
                times.add(mode, name, seconds)
            _record_values(recorder, name, operation, size, seconds, group)
        if launched:
            times.remember(result, name, number, device)
    except Exception:
        swallow("watch_collectives")


def _count(recorder: Recorder, group: str, operation: str, size: int) -> Optional[int]:
    return _operations.of(recorder).begin(group, operation, size if operation in EQUAL else 0)


def _device(arguments: Tuple[Any, ...], named: Dict[str, Any]) -> Any:
    """Returns the device of a call that returns before its work is complete. The host cannot time such a call. Returns None for host memory."""
    for value in (*arguments, *named.values()):
        if isinstance(value, (list, tuple)) and value:
            value = value[0]
        if isinstance(value, torch.Tensor):
            return None if value.device.type == "cpu" else value.device
    return None


def _record_values(recorder: Recorder, name: str, operation: str, size: int, seconds: float, group: Any) -> None:
    mode = recorder.mode()
    recorder.record(_values(name, operation, size, seconds, group), mode, recorder.step_number(mode))


def _record_late(recorder: Recorder, name: str, operation: str, size: int, group: Any, seconds: float, mode: str,
                 number: Optional[int]) -> None:
    """Records the values of a collective in a step that has ended."""
    recorder.record(_values(name, operation, size, seconds, group), mode, number)


def _values(name: str, operation: str, size: int, seconds: float, group: Any) -> Values:
    bucket = next((label for most, label in SIZES if size <= most), "more")
    labels = _labels.get((name, operation, bucket))
    if labels is None:
        labels = (("group", name), ("op", operation), ("size", bucket))
        if len(_labels) < 4096:
            _labels[name, operation, bucket] = labels
    values = [("train_collective_duration_seconds", labels, seconds)]
    if size and seconds > 0:
        values.append(("train_collective_bus_bandwidth_bytes_per_second", labels,
                       size / seconds * _bus_factor(operation, distributed.get_world_size(group))))
    return values


def _bus_factor(operation: str, ranks: int) -> float:
    """Returns the bus factor as defined by nccl-tests: the bytes that a link carries per byte of the whole message."""
    if operation.startswith("all_reduce"):
        return 2 * (ranks - 1) / ranks
    if operation.startswith(("all_gather", "reduce_scatter", "all_to_all")):
        return (ranks - 1) / ranks
    return 1.0


def _group(arguments: Tuple[Any, ...], named: Dict[str, Any]) -> Any:
    group = named.get("group")
    if group is None:
        group = next((value for value in arguments if isinstance(value, distributed.ProcessGroup)), None)
    return group


def _group_name(group: Any) -> str:
    """Returns a group name that is the same on all ranks of the group."""
    world = distributed.distributed_c10d
    if group is None or group is distributed.group.WORLD:
        return "default"
    names = getattr(getattr(world, "_world", None), "pg_names", None) or getattr(world, "_pg_names", {})
    try:
        return str(names[group])[:64]
    except (KeyError, TypeError):
        return str(getattr(group, "group_name", "") or "other")[:64]


def _bytes(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return int(value.numel() * value.element_size())
    if isinstance(value, (list, tuple)):
        return sum(_bytes(part) for part in value)
    return 0


def _hook_buckets(ddp: Any) -> None:
    """Registers a hook for each gradient bucket. The hook computes the mean over the ranks, as DDP does without a hook, and measures the time. If
    the gradients are in host memory, the rank counts as waiting once the last bucket is launched, because its own computation is finished."""
    group = ddp.process_group
    wait = _BucketWait()
    ranks = distributed.get_world_size(group)
    name = _group_name(group)

    def reduce_bucket(bucket: Any) -> Any:
        recorder = client.recorder
        buffer = bucket.buffer()
        begin = _started(recorder, name, buffer)
        buffer.div_(ranks)
        wait.launched(recorder, bucket, buffer)
        future = _functions.original("all_reduce")(buffer, group=group, async_op=True).get_future()

        def done(finished: Any) -> Any:
            result = finished.value()[0]
            wait.finished()
            if recorder is not None and begin is not None:
                try:
                    _record_values(recorder, name, "all_reduce", _bytes(buffer), (recorder.now() - begin) / 1e9, group)
                except Exception:
                    swallow("watch_collectives")
            return result
        return future.then(done)
    ddp.register_comm_hook(None, lambda _, bucket: reduce_bucket(bucket))  # DDP rejects a hook with other annotations than its own


class _BucketWait:
    """Phase "collective", from the launch of the last bucket to the completion of all buckets."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way = 0
        self._begun: Optional[Tuple[Recorder, Phase, List[Phase]]] = None  # with the phases of the training thread

    def launched(self, recorder: Optional[Recorder], bucket: Any, buffer: torch.Tensor) -> None:
        try:
            with self._lock:
                self._under_way += 1
                if recorder is not None and not buffer.is_cuda and bucket.is_last() and self._begun is None:
                    phase = _waiting(recorder)
                    self._begun = None if phase is None else (recorder, phase, recorder.thread_phases())
        except Exception:
            swallow("watch_collectives")

    def finished(self) -> None:
        """Ends the phase after the last bucket. Called by a thread of the process group."""
        try:
            with self._lock:
                self._under_way -= 1
                begun = None
                if self._under_way <= 0:
                    self._under_way = 0
                    begun, self._begun = self._begun, None
            if begun is not None:
                recorder, phase, phases = begun
                _waited(recorder, phase, phases)
        except Exception:
            swallow("watch_collectives")


def _started(recorder: Optional[Recorder], name: str, buffer: torch.Tensor) -> Optional[int]:
    try:
        if recorder is not None:
            _count(recorder, name, "all_reduce", _bytes(buffer))
            return recorder.now()
    except Exception:
        swallow("watch_collectives")
    return None
