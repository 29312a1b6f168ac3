"""Statistics of a step's tensors, computed on the tensors' devices and copied from each device in one transfer.

Statistics of CPU tensors are recorded immediately. Results on other devices are copied to pinned memory after the work that produces them, and
recorded when the copy has arrived, at most one step later. Training does not wait for its device.
"""
from __future__ import annotations

from collections import deque
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple, Union

import torch

from .._client import client
from .._guard import swallow, debug_once
from ..recording._core import Labels
from ._collections import CHANGES, REDUCTIONS, Collection
from ._reductions import SIGMOID_LIMITS, TANH_LIMITS, Unusable, change, reduce, usable

Found = Tuple[str, Union[Labels, List[Labels]], Any]  # metric, labels or a list of them, tensor

MAX_TENSORS = 4096  # maximum number of tensors per step; each tensor has dozens of series


class History:
    """CPU copies of tensors from the previous saved step, in their original dtype, up to a maximum number of bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._copies: Dict[Any, torch.Tensor] = {}

    def exchange(self, key: Tuple[str, str], tensor: torch.Tensor) -> Optional[torch.Tensor]:
        """Stores a copy. Returns the previous copy, or None if there is no previous copy with this shape."""
        before = self._copies.get(key)
        if before is not None and (before.shape != tensor.shape or before.dtype != tensor.dtype):
            self._bytes -= before.numel() * before.element_size()
            before = self._copies.pop(key)
        if key not in self._copies:
            size = tensor.numel() * tensor.element_size()
            if self._bytes + size > self._most_bytes:
                debug_once("changes of %s are not computed because tensor copies are limited to %d bytes", key[1], self._most_bytes)
                return None
            self._bytes += size
            before = None
        # Each call allocates a new copy, because the transfer of the old copy to the device may still be in progress.
        pinned = tensor.is_cuda
        copy = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=pinned)
        copy.copy_(tensor.detach(), non_blocking=pinned)
        self._copies[key] = copy
        return before


class Statistics:
    """Collects the numbers computed from one step's tensors until send() is called."""

    def __init__(self, history_bytes: int) -> None:
        self._history = History(history_bytes)
        self._labels: Dict[Tuple[str, str, Optional[str]], Labels] = {}  # (collection, tensor, le) -> labels
        self._found: List[Found] = []
        self._ready: List[Tuple[str, Labels, float]] = []
        self._seen: Set[Tuple[str, str]] = set()
        self._under_way: deque[Tuple[Any, List[Found], torch.Tensor, str, Optional[int]]] = deque()

    def add(self, collections: Iterable[Collection], kind_name: str, tensor: Optional[torch.Tensor]) -> None:
        """Reduces a tensor for each of the collections, once per name. kind_name: the tensor's name."""
        fresh = [c for c in collections if (c.name, kind_name) not in self._seen]
        if not fresh or tensor is None:
            return
        if len(self._seen) >= MAX_TENSORS:
            debug_once("more than %d tensors in a step; the other tensors are skipped", MAX_TENSORS)
            return
        self._seen.update((c.name, kind_name) for c in fresh)
        try:
            with torch.no_grad():
                numbers = usable(tensor)
                for collection in fresh:
                    self._add(collection, kind_name, tensor, numbers)
        except Unusable as why:
            debug_once("%s is skipped because it is %s", kind_name, str(why))
        except Exception:
            swallow("the reduction of a tensor")

    def _add(self, collection: Collection, name: str, tensor: torch.Tensor, numbers: torch.Tensor) -> None:
        limits = TANH_LIMITS if "tanh" in name else SIGMOID_LIMITS if "sigmoid" in name else None
        wanted = collection.reductions
        found = reduce(numbers, wanted, collection.bounds, limits, collection.unit_axis)
        # An intentionally frozen layer does not change and must not raise an issue.
        if wanted & CHANGES and (tensor.requires_grad or not isinstance(tensor, torch.nn.Parameter)):
            before = self._history.exchange((collection.name, name), tensor)
            if before is not None:
                found += change(numbers, before, wanted)
        for reduction, les, number in found:
            labels = (self._label(collection.name, name) if les is None
                      else [self._label(collection.name, name, le) for le in les])
            self._found.append((REDUCTIONS[reduction], labels, number))

    def add_number(self, metric: str, number: Any, labels: Labels = ()) -> None:
        """Adds a single number: a float, or a tensor with one element."""
        if isinstance(number, torch.Tensor) and number.device.type != "cpu":
            self._found.append((metric, labels, number.detach().reshape(())))
        else:
            self._ready.append((metric, labels, float(number)))

    def busy(self) -> bool:
        """Returns whether any numbers still have to be sent or received."""
        return bool(self._found or self._ready or self._under_way or self._seen)

    def send(self, mode: str, step: Optional[int]) -> None:
        """Passes the collected numbers to the recorder as values of the step."""
        found, self._found = self._found, []
        ready, self._ready = self._ready, []
        self._seen.clear()
        if ready and client.recorder is not None:
            client.recorder.record(ready, mode, step)
        if not found:
            return
        pieces: Dict[Any, List[Found]] = {}
        for entry in found:
            pieces.setdefault((entry[2].device, entry[2].dtype), []).append(entry)
        for (device, _), entries in pieces.items():
            numbers = (torch.stack([entry[2] for entry in entries]) if all(e[2].dim() == 0 for e in entries)
                       else torch.cat([entry[2].reshape(-1) for entry in entries]))
            if device.type != "cuda":
                _record(entries, numbers, mode, step)
                continue
            landing = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
            landing.copy_(numbers, non_blocking=True)
            arrived = torch.cuda.Event()
            arrived.record(torch.cuda.current_stream(device))
            self._under_way.append((arrived, entries, landing, mode, step))

    def receive(self, mode: Optional[str] = None, before: Optional[int] = None, everything: bool = False) -> None:
        """Records the numbers that have arrived. Waits for the numbers of `mode` from steps below `before`, or for all numbers if `everything` is
        set."""
        while self._under_way:
            arrived, entries, landing, of_mode, step = self._under_way[0]
            if everything or (of_mode == mode and before is not None and step is not None and step < before) \
                    or len(self._under_way) > 64:
                arrived.synchronize()
            elif not arrived.query():
                return
            self._under_way.popleft()
            _record(entries, landing, of_mode, step)

    def _label(self, collection: str, tensor: str, le: Optional[str] = None) -> Labels:
        key = (collection, tensor, le)
        labels = self._labels.get(key)
        if labels is None:
            labels = (("collection", collection), ("tensor", tensor)) if le is None else (
                ("collection", collection), ("le", le), ("tensor", tensor))
            if len(self._labels) < 65536:
                self._labels[key] = labels
        return labels


def _record(entries: List[Found], numbers: torch.Tensor, mode: str, step: Optional[int]) -> None:
    recorder = client.recorder
    if recorder is None:
        return
    left = iter(numbers.tolist())
    values: List[Tuple[str, Labels, float]] = []
    for metric, labels, _ in entries:
        if isinstance(labels, list):
            values.extend((metric, pairs, float(next(left))) for pairs in labels)
        else:
            values.append((metric, labels, float(next(left))))
    recorder.record(values, mode, step)
