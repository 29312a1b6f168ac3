"""Norm of all gradients of a model, computed at the end of its backward pass."""
from __future__ import annotations

import math
from typing import Any, Callable, List, Sequence, Union

import torch

from ..recording._recorder import native

_FEW_NORMS = 64  # up to this number, Python adds the squares faster than PyTorch does
_LISTING = ("parameters", "named_parameters", "_named_members", "named_modules")


def lister(model: torch.nn.Module) -> Callable[[torch.nn.Module], List[torch.Tensor]]:
    """Returns a function that lists the gradients of the model's parameters."""
    def usual(module: torch.nn.Module, names: Sequence[str]) -> bool:
        return all(getattr(type(module), name, None) is getattr(torch.nn.Module, name, None) for name in names)

    # Classes with their own method for listing parameters, such as FSDP, are queried through that method.
    if native and usual(model, _LISTING) and all(usual(module, ("named_modules",)) for module in model.modules()):
        gradients: Callable[[torch.nn.Module], List[torch.Tensor]] = native.gradients
        return gradients
    return lambda model: [p.grad for p in model.parameters() if p.grad is not None]


def norm_of(gradients: List[torch.Tensor], scale: Any) -> Union[None, float, torch.Tensor]:
    """Returns the norm of the gradients, divided by `scale` unless that is None.

    The result is a float, or a tensor with one element on the gradients' device. Returns None if no gradient has a norm.
    """
    with torch.no_grad():
        gradients = [g for g in gradients if g.layout is torch.strided and type(g) is torch.Tensor]
        if not gradients:
            return None
        norms = torch._foreach_norm(gradients)
        device = norms[0].device
        if device.type == "cpu" and len(norms) <= _FEW_NORMS and all(n.device == device for n in norms):
            norm = math.sqrt(sum(number * number for number in map(float, norms)))
        else:
            norms = [n if n.dtype is torch.float32 and n.device == device else n.to(device, torch.float32) for n in norms]
            norm = torch.linalg.vector_norm(torch.stack(norms))
        if scale is not None:
            norm = norm / (scale.to(device) if isinstance(scale, torch.Tensor) else scale)
        return norm if device.type != "cpu" else float(norm)
