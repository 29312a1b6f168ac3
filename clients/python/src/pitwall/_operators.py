"""What a profiled step spent: operators' own times, and how communication and computation lie over each other.

Works on the events of torch.profiler (FunctionEvent: name, device_type, time_range in microseconds, is_async,
self_cpu_time_total, and since 2.5 self_device_time_total, before self_cuda_time_total).

On a GPU the intervals are those of kernels: NCCL's are communication, all others computation, copies and fills neither.
Without one they are those of operators: c10d's and the backends' are communication, everything with a namespace else
computation; marks such as "Optimizer.step#SGD.step" may stand around both, and count as neither.
"""
import re

LARGEST = 20      # operators a device
MAX_NAME = 200

_KERNEL_OF_NCCL = re.compile(r"nccl", re.IGNORECASE)   # ncclKernel_…, ncclDevKernel_…
_MEMORY = re.compile(r"^(Memcpy|Memset)\b")
_COMMUNICATION = re.compile(r"^(c10d|_c10d_functional\w*|c10d_functional|gloo|nccl|mpi|ucc)(::?)")
_WRAPPER = re.compile(r"^autograd::engine::")


def totals(events):
    """-> (metric, labels, seconds) of one step's events."""
    cpu, gpu = [], []
    for event in events:
        (cpu if _device(event) == "CPU" else gpu).append(event)
    marks = {event.name for event in cpu}
    kernels = [event for event in gpu if event.name not in marks]  # PyTorch mirrors its marks on the GPU's track
    values = _operators(cpu, "cpu", _cpu_us) + _operators(cpu, "gpu", _gpu_us)
    if kernels:
        communication = [_span(event) for event in kernels if _KERNEL_OF_NCCL.search(event.name)]
        computation = [_span(event) for event in kernels
                       if not _KERNEL_OF_NCCL.search(event.name) and not _MEMORY.match(event.name)]
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


def largest(seconds, device):
    """{operator: seconds} -> values of the largest ones."""
    names = sorted((name for name in seconds if seconds[name] > 0), key=lambda name: (-seconds[name], name))[:LARGEST]
    return [("train_operator_seconds", (("device", device), ("operator", name)), seconds[name]) for name in names]


def merge(intervals):
    """Sorted, disjoint intervals that cover the same."""
    merged = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            if end > merged[-1][1]:
                merged[-1] = (merged[-1][0], end)
        elif end > begin:
            merged.append((begin, end))
    return merged


def length(merged):
    return sum(end - begin for begin, end in merged)


def _operators(events, device, own_us):
    seconds = {}
    for event in events:
        us = own_us(event)
        if us > 0:
            name = event.name[:MAX_NAME]
            seconds[name] = seconds.get(name, 0.0) + us / 1e6
    return largest(seconds, device)


def _cpu_us(event):
    # What runs beside the thread that began it has no time of its own there.
    return event.time_range.end - event.time_range.start if event.is_async else event.self_cpu_time_total


def _gpu_us(event):
    us = getattr(event, "self_device_time_total", None)
    return event.self_cuda_time_total if us is None else us


def _span(event):
    return event.time_range.start, event.time_range.end


def _device(event):
    return getattr(event.device_type, "name", "CPU")
