"""Metrics for a PyTorch DataLoader passed to steps(): its arguments, recorded periodically, and the number of workers that deliver batches.

A private attribute of the loader's iterator identifies the worker that produces the next batch. If it is missing, deliveries are not reported.
"""
from __future__ import annotations

from collections import deque
from typing import Any, Iterator, Optional

from .._guard import swallow
from ..recording._recorder import Recorder

REPORT_EVERY = 500  # batches; rules with a step window look back 1000 steps

_FACTS = (("num_workers", "train_loader_workers_configured"), ("prefetch_factor", "train_loader_prefetch_factor"),
          ("pin_memory", "train_loader_pin_memory"))


SECOND_NS = 1_000_000_000
MAX_DELIVERIES = 4096


class Facts:
    """Metrics for one pass over one loader. Call expect() before each batch is requested and report() after the batch has arrived."""

    def __init__(self, loader: Any, iterator: Iterator[Any]) -> None:
        self._loader = loader if _is_torch_loader(loader) else None
        self._iterator: Any = iterator if self._loader is not None and hasattr(iterator, "_task_info") else None
        self._deliveries: deque[tuple[int, Any]] = deque(maxlen=MAX_DELIVERIES)  # (time, worker) within the last second
        self._worker = None
        self._left = 0

    def expect(self) -> None:
        if self._iterator is not None:
            try:
                note = self._iterator._task_info.get(self._iterator._rcvd_idx)
                self._worker = note[0] if note else None
            except Exception:
                self._iterator = None
                swallow("reading a loader")

    def report(self, recorder: Optional[Recorder]) -> None:
        if self._loader is None or recorder is None:
            return
        if self._iterator is not None and self._worker is not None:
            now = recorder.now()
            self._deliveries.append((now, self._worker))
            while now - self._deliveries[0][0] > SECOND_NS:
                self._deliveries.popleft()
            recorder.log([("train_loader_workers", float(len({worker for _, worker in self._deliveries})))], ())
        if self._left > 0:
            self._left -= 1
            return
        self._left = REPORT_EVERY - 1
        try:
            given = [(metric, getattr(self._loader, name, None)) for name, metric in _FACTS]
            # Without workers, batches are not prefetched and the prefetch factor is None.
            recorder.log([(metric, float(value)) for metric, value in given if value is not None], ())
        except Exception:
            swallow("reading a loader")


def _is_torch_loader(loader: object) -> bool:
    try:
        return any(kind.__module__.startswith("torch.utils.data.") and kind.__name__ == "DataLoader"
                   for kind in type(loader).__mro__)
    except Exception:
        swallow("reading a loader")
        return False
