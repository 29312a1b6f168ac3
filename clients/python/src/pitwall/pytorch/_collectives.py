"""Implementation of watch_collectives(), which measures the time that a process spends in torch.distributed functions.

The functions are replaced in the module torch.distributed. Calls through the module are observed (`torch.distributed.all_reduce(…)`), but calls
through a name imported earlier are not. With gloo, a call returns when the operation is complete. With NCCL, a call returns once the operation is
launched, so its duration is meaningless. Instead, events in the compute stream measure how long that stream was blocked (_collective_times.py). A
call with async_op=True is timed until it returns. Its result is passed on unchanged, because PyTorch checks whether the result is a Work before it
waits for it. Work.wait is replaced in its class and times the wait itself. As a result, if the host waits, the phase "collective" covers the time
that the process waited for its peers.
"""
import functools
import threading

import torch
import torch.distributed as distributed

from .. import _lifecycle
from .._guard import swallow
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
_lock = threading.Lock()
_depth = threading.local()
_users = 0
_originals = {}
_wait = None      # class Work and its original method while that is replaced
_labels = {}


def watch(ddp):
    """Replaces the functions only once, even if called several times. Returns a handle with close()."""
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            for name in FUNCTIONS:
                original = getattr(distributed, name, None)
                if callable(original):
                    _originals[name] = original
                    setattr(distributed, name, _timed(name.lstrip("_"), original))
            _replace_wait()
    watched = Watch()
    try:
        if ddp is not None:
            _hook_buckets(ddp)
    except BaseException:  # for example, the model already has a hook
        watched.close()
        raise
    return watched


class Watch:
    def __init__(self):
        self._open = True

    def close(self):
        """Restores the functions after the last handle is closed."""
        global _users
        with _lock:
            if not self._open:
                return
            self._open = False
            _users -= 1
            if _users:
                return
            for name, original in _originals.items():
                if getattr(getattr(distributed, name), "_pitwall", None) is original:  # otherwise other code has wrapped the function again
                    setattr(distributed, name, original)
            _originals.clear()
            _restore_wait()


def _replace_wait():
    global _wait
    work = getattr(distributed.distributed_c10d, "Work", None)
    original = getattr(work, "wait", None)
    if not callable(original) or hasattr(original, "_pitwall"):
        return

    @functools.wraps(original)
    def wait(*arguments, **named):
        recorder = _lifecycle.recorder
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
    wait._pitwall = original
    try:
        work.wait = wait
        _wait = work, original
    except TypeError:  # in this build the class is immutable, so only blocking calls are timed
        pass


def _restore_wait():
    global _wait
    if _wait is not None:
        work, original = _wait
        if getattr(work.wait, "_pitwall", None) is original:  # otherwise other code has wrapped the function again
            work.wait = original
    _wait = None


def _begin_wait(recorder, work):
    """Returns the state for _end_wait(), or None."""
    try:
        times = _collective_times.of(recorder)
        group, number, device = times.forget(work)
        begun = recorder.now() if device is None else times.mark(device)
        return _waiting(recorder), group, number, device, begun
    except Exception:
        swallow("watch_collectives")
        return None


def _end_wait(recorder, waiting, completed):
    if waiting is None:
        return
    phase, group, number, device, begun = waiting
    if phase is not None:
        _waited(recorder, phase, record=device is None)
    try:
        times = _collective_times.of(recorder)
        if device is not None:
            times.add_pair(recorder.mode(), group, device, begun)
        elif group is not None:
            times.add(recorder.mode(), group, (recorder.now() - begun) / 1e9)
            if completed:
                _operations.of(recorder).complete(group, number)
    except Exception:
        swallow("watch_collectives")


def _waiting(recorder, phases=None):
    """Starts the phase "collective" unless it is already running."""
    try:
        return None if recorder.in_phase("collective") else recorder.begin_phase("collective", phases)
    except Exception:
        swallow("watch_collectives")
        return None


def _waited(recorder, phase, phases=None, record=True):
    try:
        recorder.end_phase(phase, record, phases)
    except Exception:
        swallow("watch_collectives")


def _timed(operation, original):
    @functools.wraps(original)
    def call(*arguments, **named):
        if compiling() or _lifecycle.recorder is None or getattr(_depth, "inside", False):
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
    call._pitwall = original
    return call


def _begin(operation, arguments, named):
    """Returns the state for _end(), or None."""
    try:
        recorder = _lifecycle.recorder
        group = _group(arguments, named)
        name, size = _group_name(group), max(
            [_bytes(value) for value in (*arguments, *named.values())], default=0)
        number = _count(recorder, name, operation, size)
        device = _device(arguments, named)
        begun = None if device is None else _collective_times.of(recorder).mark(device)
        return recorder, recorder.begin_phase("collective"), name, operation, size, group, number, device, begun
    except Exception:
        swallow("watch_collectives")
        return None


def _end(timing, completed, result):
    if timing is None:
        return
    try:
        recorder, phase, name, operation, size, group, number, device, begun = timing
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


def _count(recorder, group, operation, size):
    return _operations.of(recorder).begin(group, operation, size if operation in EQUAL else 0)


def _device(arguments, named):
    """Returns the device of a call that returns before its work is complete. The host cannot time such a call. Returns None for host memory."""
    for value in (*arguments, *named.values()):
        if isinstance(value, (list, tuple)) and value:
            value = value[0]
        if isinstance(value, torch.Tensor):
            return None if value.device.type == "cpu" else value.device
    return None


def _record_values(recorder, name, operation, size, seconds, group):
    mode = recorder.mode()
    recorder.record(_values(name, operation, size, seconds, group), mode, recorder.step_number(mode))


def _record_late(recorder, name, operation, size, group, seconds, mode, number):
    """Records the values of a collective in a step that has ended."""
    recorder.record(_values(name, operation, size, seconds, group), mode, number)


def _values(name, operation, size, seconds, group):
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


def _bus_factor(operation, ranks):
    """Returns the bus factor as defined by nccl-tests: the bytes that a link carries per byte of the whole message."""
    if operation.startswith("all_reduce"):
        return 2 * (ranks - 1) / ranks
    if operation.startswith(("all_gather", "reduce_scatter", "all_to_all")):
        return (ranks - 1) / ranks
    return 1.0


def _group(arguments, named):
    group = named.get("group")
    if group is None:
        group = next((value for value in arguments if isinstance(value, distributed.ProcessGroup)), None)
    return group


def _group_name(group):
    """Returns a group name that is the same on all ranks of the group."""
    world = distributed.distributed_c10d
    if group is None or group is distributed.group.WORLD:
        return "default"
    names = getattr(getattr(world, "_world", None), "pg_names", None) or getattr(world, "_pg_names", {})
    try:
        return str(names[group])[:64]
    except (KeyError, TypeError):
        return str(getattr(group, "group_name", "") or "other")[:64]


def _bytes(value):
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    if isinstance(value, (list, tuple)):
        return sum(_bytes(part) for part in value)
    return 0


def _hook_buckets(ddp):
    """Registers a hook for each gradient bucket. The hook computes the mean over the ranks, as DDP does without a hook, and measures the time. If
    the gradients are in host memory, the rank counts as waiting once the last bucket is launched, because its own computation is finished."""
    group = ddp.process_group
    wait = _BucketWait()
    ranks = distributed.get_world_size(group)
    name = _group_name(group)

    def reduce_bucket(_, bucket):
        recorder = _lifecycle.recorder
        buffer = bucket.buffer()
        begin = _started(recorder, name, buffer)
        buffer.div_(ranks)
        wait.launched(recorder, bucket, buffer)
        original = _originals.get("all_reduce", distributed.all_reduce)
        future = original(buffer, group=group, async_op=True).get_future()

        def done(finished):
            result = finished.value()[0]
            wait.finished()
            if begin is not None:
                try:
                    _record_values(recorder, name, "all_reduce", _bytes(buffer), (recorder.now() - begin) / 1e9, group)
                except Exception:
                    swallow("watch_collectives")
            return result
        return future.then(done)
    ddp.register_comm_hook(None, reduce_bucket)


class _BucketWait:
    """Phase "collective", from the launch of the last bucket to the completion of all buckets."""

    def __init__(self):
        self._lock = threading.Lock()
        self._under_way = 0
        self._begun = None  # recorder, phase, phases of the training thread

    def launched(self, recorder, bucket, buffer):
        try:
            with self._lock:
                self._under_way += 1
                if recorder is not None and not buffer.is_cuda and bucket.is_last() and self._begun is None:
                    phase = _waiting(recorder)
                    self._begun = None if phase is None else (recorder, phase, recorder.thread_phases())
        except Exception:
            swallow("watch_collectives")

    def finished(self):
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


def _started(recorder, name, buffer):
    try:
        if recorder is not None:
            _count(recorder, name, "all_reduce", _bytes(buffer))
            return recorder.now()
    except Exception:
        swallow("watch_collectives")
    return None
