"""Events in a GPU's compute stream, used to time collectives without waiting for the device."""
from __future__ import annotations

from typing import Any, Dict, List

import torch

_KEPT = 256  # maximum number of events kept for reuse, per device


class StreamEvents:
    def __init__(self) -> None:
        self._free: Dict[Any, List[Any]] = {}

    def record(self, device: Any) -> Any:
        """Returns an event, or None while a graph is being captured. Also returns None in any stream other than the device's default stream, because
        a collective in another stream (as in FSDP) does not block the computation."""
        if device.type != "cuda":
            return None
        stream = torch.cuda.current_stream(device)
        if stream != torch.cuda.default_stream(device) or torch.cuda.is_current_stream_capturing():
            return None
        free = self._free.get(device)
        event = free.pop() if free else torch.cuda.Event(enable_timing=True)
        event.record(stream)
        return event

    def passed(self, event: Any) -> bool:
        return bool(event.query())

    def seconds(self, begin: Any, end: Any) -> float:
        return float(begin.elapsed_time(end)) / 1e3

    def give_back(self, device: Any, event: Any) -> None:
        free = self._free.setdefault(device, [])
        if len(free) < _KEPT:
            free.append(event)
