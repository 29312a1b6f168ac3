"""Timing of a profiled step: operator self times, and the overlap of communication and computation.

Reads the events of torch.profiler (FunctionEvent: name, device_type, time_range in microseconds, is_async, self_cpu_time_total, and
self_device_time_total since 2.5, self_cuda_time_total before).

On a GPU, the intervals come from kernels. Kernels from communication libraries and copies between devices count as communication, and all other
kernels as computation. Other copies and fills count as neither. Without a GPU, the intervals come from operators. Operators from c10d and the
backends count as communication, and any other operator with a namespace as computation. Annotations such as "Optimizer.step#SGD.step" may enclose
both and count as neither.
"""
from __future__ import annotations

import re
from typing import Any, Callable, Iterable, List, Optional, Tuple

from ..recording._core import Labels

Value = Tuple[str, Labels, float]  # metric, labels, seconds
Interval = Tuple[float, float]

LARGEST = 20      # maximum number of reported operators per device
MAX_NAME = 200

# Substrings of kernel names, in lowercase and with _ instead of -. services/codec/imports/traces/communication_kernels.cc has the same table and
# cites the sources.
COMMUNICATION_KERNELS = (
    "nccl", "rccl", "msccl", "oneccl", "hccl", "hcom_", "deep_ep", "ep::internode", "ep::intranode", "shmem", "_on_stream_kernel",
    "userbuffers", "ucc_reduce_", "ompi_op_", "allreduce", "all_reduce", "allgather", "all_gather", "reducescatter", "reduce_scatter",
    "alltoall", "all_to_all", "collective_permute", "cross_device_reduce")
_MEMORY = re.compile(r"^(Memcpy|Memset)\b")
_BETWEEN_DEVICES = re.compile(r"^(Memcpy PtoP|MemcpyP2P)")
_COMMUNICATION = re.compile(r"^(c10d|_c10d_functional\w*|c10d_functional|gloo|nccl|mpi|ucc)(::?)")
_WRAPPER = re.compile(r"^autograd::engine::")


def totals(events: Iterable[Any]) -> list[Value]:
    """Returns (metric, labels, seconds) for the events of one step."""
    cpu: List[Any] = []
    gpu: List[Any] = []
    for event in events:
        (cpu if _device(event) == "CPU" else gpu).append(event)
    marks = {event.name for event in cpu}
    kernels = [event for event in gpu if event.name not in marks]  # PyTorch mirrors its annotations on the GPU's track
    values = _operators(cpu, "cpu", _cpu_us) + _operators(cpu, "gpu", _gpu_us)
    if kernels:
        communication = [_span(event) for event in kernels if communicates(event.name)]
        computation = [_span(event) for event in kernels if not communicates(event.name) and not _MEMORY.match(event.name)]
    else:
        communication = [_span(event) for event in cpu if _COMMUNICATION.match(event.name)]
        computation = [_span(event) for event in cpu if "::" in event.name and not _COMMUNICATION.match(event.name)
                       and not _WRAPPER.match(event.name)]
    communication, computation = merge(communication), merge(computation)
    covered = length(communication) + length(computation) - length(merge(communication + computation))
    return values + [
        ("train_communication_seconds", (), length(communication) / 1e6),
        ("train_computation_seconds", (), length(computation) / 1e6),
        ("train_exposed_communication_seconds", (), (length(communication) - covered) / 1e6)]


def communicates(kernel: str) -> bool:
    """Returns whether a kernel or copy moves data between devices. Template arguments and parameters in the name are ignored."""
    if _BETWEEN_DEVICES.match(kernel):
        return True
    if _MEMORY.match(kernel):
        return False
    plain, depth = [], 0
    for c in kernel:
        if c in "<(":
            depth += 1
        elif c in ">)":
            depth = max(depth - 1, 0)
        elif depth == 0:
            plain.append(c)
    name = "".join(plain).lower().replace("-", "_")
    return not name.startswith("triton_") and any(text in name for text in COMMUNICATION_KERNELS)


def largest(seconds: dict[str, float], device: str) -> list[Value]:
    """Returns the metric values for the largest entries of {operator: seconds}."""
    names = sorted((name for name in seconds if seconds[name] > 0), key=lambda name: (-seconds[name], name))[:LARGEST]
    return [("train_operator_seconds", (("device", device), ("operator", name)), seconds[name]) for name in names]


def merge(intervals: Iterable[Interval]) -> list[Interval]:
    """Returns the union of the intervals as sorted, disjoint intervals."""
    merged: list[Interval] = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            if end > merged[-1][1]:
                merged[-1] = (merged[-1][0], end)
        elif end > begin:
            merged.append((begin, end))
    return merged


def length(merged: Iterable[Interval]) -> float:
    return sum(end - begin for begin, end in merged)


def _operators(events: Iterable[Any], device: str, own_us: Callable[[Any], float]) -> list[Value]:
    seconds: dict[str, float] = {}
    for event in events:
        us = own_us(event)
        if us > 0:
            name = event.name[:MAX_NAME]
            seconds[name] = seconds.get(name, 0.0) + us / 1e6
    return largest(seconds, device)


def _cpu_us(event: Any) -> float:
    # An asynchronous event has no self time in the thread that started it.
    us: float = event.time_range.end - event.time_range.start if event.is_async else event.self_cpu_time_total
    return us


def _gpu_us(event: Any) -> float:
    us: Optional[float] = getattr(event, "self_device_time_total", None)
    return float(event.self_cuda_time_total) if us is None else us


def _span(event: Any) -> Interval:
    return event.time_range.start, event.time_range.end


def _device(event: Any) -> str:
    return str(getattr(event.device_type, "name", "CPU"))
