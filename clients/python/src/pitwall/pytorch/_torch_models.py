"""Model wrappers, and the tensors in the inputs and outputs of modules."""
from __future__ import annotations

from typing import Any, Callable, Iterator, List, Optional, Tuple

import torch

MAX_TENSORS = 64  # maximum number of tensors per input or output


def unwrap(model: Any) -> Tuple[torch.nn.Module, bool, bool]:
    """Returns (the user's module, whether it is compiled, whether DDP or a similar wrapper reduces its gradients)."""
    compiled = distributed = False
    while True:
        if isinstance(getattr(model, "_orig_mod", None), torch.nn.Module):
            model, compiled = model._orig_mod, True
        elif isinstance(model, (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)):
            distributed = distributed or isinstance(model, torch.nn.parallel.DistributedDataParallel)
            model = model.module
        else:
            return model, compiled or getattr(model, "_compiled_call_impl", None) is not None, distributed


def tensors(value: Any, depth: int = 3) -> Iterator[torch.Tensor]:
    """Returns at most MAX_TENSORS tensors from an input or output of a module."""
    found: List[torch.Tensor] = []

    def walk(value: Any, depth: int) -> None:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif depth and isinstance(value, (tuple, list)):
            for part in value[:MAX_TENSORS]:
                walk(part, depth - 1)
        elif depth and isinstance(value, dict):
            for part in list(value.values())[:MAX_TENSORS]:
                walk(part, depth - 1)
    walk(value, depth)
    return iter(found[:MAX_TENSORS])


def loss_in(output: Any) -> Optional[torch.Tensor]:
    found = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    return found if isinstance(found, torch.Tensor) and found.numel() == 1 else None


def add_memory(add: Callable[[str, Any], None], device: Any, limit: int) -> None:
    """Adds the memory statistics of a GPU. The peak is not reset afterwards, because scripts may read it too."""
    statistics = torch.cuda.memory_stats_as_nested_dict(device)
    allocated = statistics["allocated_bytes"]["all"]
    add("train_gpu_memory_allocated_bytes", allocated["current"])
    add("train_gpu_memory_peak_bytes", allocated["peak"])
    add("train_gpu_memory_reserved_bytes", statistics["reserved_bytes"]["all"]["current"])
    add("train_gpu_memory_limit_bytes", limit)
    add("train_gpu_allocation_retries_total", statistics["num_alloc_retries"])
