"""Reductions of one tensor, computed as small tensors on its device, so that the script does not wait for the device.

All reductions are computed in float32 (float64 for float64 tensors), with as few passes over the tensor as the requested reductions need. NaN and
infinities follow IEEE arithmetic: the mean of a tensor with a NaN is NaN. Variances are population variances. Percentiles are computed from a sample
of at most SAMPLE elements at a fixed stride, interpolated as in numpy.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Collection, List, Optional, Sequence, Tuple

import torch

Reduced = Tuple[str, Optional[Sequence[str]], Any]  # reduction, labels, numbers as a tensor

SAMPLE = 10000
# Bounds for the shares of units. In SageMaker Debugger, the inactivity threshold is 1% and the limit per layer is 50%.
SHARES = (0.0, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
# Default limits of SageMaker Debugger's SaturatedActivation.
TANH_LIMITS = (-9.4999, 9.4999)
SIGMOID_LIMITS = (-23.0, 16.99999)
RTOL, ATOL = 1e-5, 1e-8  # tolerances of UnchangedTensor and numpy's allclose

_UNITS = frozenset(("unit_activity", "unit_inside"))


class Unusable(ValueError):
    """Error for a value that cannot be reduced. The message describes the value, such as "a complex tensor"."""


def usable(tensor: Any) -> torch.Tensor:
    """Returns the tensor detached from its graph, as floating-point numbers. Raises Unusable."""
    if not isinstance(tensor, torch.Tensor):
        raise Unusable("a %s" % type(tensor).__name__)
    if tensor.layout is not torch.strided:
        raise Unusable("a tensor of layout %s" % str(tensor.layout).replace("torch.", ""))
    if getattr(tensor, "is_nested", False) or tensor.is_quantized or tensor.device.type == "meta":
        raise Unusable("a nested, quantized, or meta tensor")
    if tensor.is_complex():
        raise Unusable("a complex tensor")
    if type(tensor).__name__ == "DTensor":
        raise Unusable("a tensor distributed over several devices (DTensor)")
    tensor = tensor.detach()
    if tensor.dtype not in (torch.float32, torch.float64):
        tensor = tensor.float()
    if tensor.numel() == 0:
        raise Unusable("an empty tensor")
    return tensor


def reduce(tensor: torch.Tensor, wanted: Collection[str], bounds: Sequence[float] = (), limits: Optional[Tuple[float, float]] = None,
           unit_axis: int = 1) -> List[Reduced]:
    """Returns [(reduction, labels, numbers)]. labels is None for a single number; otherwise it lists the `le` of each bucket.

    tensor: from usable().
    wanted: names of reductions. The CHANGES reductions are computed by change() instead.
    limits: limits for unit_inside.
    """
    flat = tensor.reshape(-1)
    count = flat.numel()
    found = []

    def put(name: str, number: torch.Tensor, labels: Optional[Sequence[str]] = None) -> None:
        if name in wanted:
            found.append((name, labels, number))

    asked = wanted.__contains__
    low = None
    if asked("min") or asked("max") or asked("abs_max"):
        low, high = torch.aminmax(flat)
        put("min", low)
        put("max", high)
        if asked("abs_max"):
            put("abs_max", torch.maximum(low.abs(), high.abs()))
    if asked("variance") or asked("std"):
        variance, mean = torch.var_mean(flat, unbiased=False)
        put("variance", variance)
        put("std", variance.sqrt())
        put("mean", mean)
    elif asked("mean"):
        put("mean", flat.mean())
    if asked("abs_variance") or asked("abs_std") or asked("abs_min"):
        positive = flat.abs()
        if asked("abs_min"):
            put("abs_min", positive.min())
        if asked("abs_variance") or asked("abs_std"):
            variance = torch.var(positive, unbiased=False)
            put("abs_variance", variance)
            put("abs_std", variance.sqrt())
        del positive
    total = None
    if asked("l1") or asked("abs_l1") or asked("abs_mean"):
        total = torch.linalg.vector_norm(flat, 1)
        put("l1", total)
        put("abs_l1", total)
        put("abs_mean", total / count)
    if asked("l2") or asked("abs_l2"):
        norm = torch.linalg.vector_norm(flat)
        put("l2", norm)
        put("abs_l2", norm)
    if asked("zero_ratio"):
        put("zero_ratio", _ratio(count - torch.count_nonzero(flat), count))
    if asked("nan_ratio") or asked("nonfinite_ratio"):
        _put_health(flat, total, put)
    if asked("p5") or asked("p95"):
        sample = flat[::(count + SAMPLE - 1) // SAMPLE]
        p5, p95 = torch.quantile(sample, torch.tensor((0.05, 0.95), dtype=flat.dtype, device=flat.device))
        put("p5", p5)
        put("p95", p95)
    if asked("histogram"):
        put("histogram", _cumulative(flat, bounds), _le(bounds))
    if asked("unit_activity"):
        put("unit_activity", _units(tensor != 0, unit_axis), _le(SHARES))
    if asked("unit_inside") and limits is not None:
        put("unit_inside", _units((tensor >= limits[0]) & (tensor <= limits[1]), unit_axis), _le(SHARES))
    return found


def change(tensor: torch.Tensor, before: torch.Tensor, wanted: Collection[str]) -> List[Reduced]:
    """Like reduce(), but for the change since the previous saved step. before: the previous values, of the same shape."""
    before = usable(before.to(tensor.device, non_blocking=True)).to(tensor.dtype)
    difference = (tensor - before).abs_()
    count = tensor.numel()
    found: List[Reduced] = []
    computed: Tuple[Tuple[str, Callable[[], Any]], ...] = (
        ("update_abs_mean", lambda: difference.mean()),
        ("update_l2", lambda: torch.linalg.vector_norm(difference)),
        ("previous_abs_mean", lambda: torch.linalg.vector_norm(before, 1) / count),
        ("previous_l2", lambda: torch.linalg.vector_norm(before)))
    for name, number in computed:
        if name in wanted:
            found.append((name, None, number()))
    if "change_max" in wanted:
        # As in numpy's allclose, equal infinities are close, and NaN is not close to any value.
        ratio = difference.div_(before.abs().mul_(RTOL).add_(ATOL))
        ratio.nan_to_num_(nan=math.inf, posinf=math.inf)
        found.append(("change_max", None, ratio.masked_fill_(tensor == before, 0).max()))
    return found


def _put_health(flat: torch.Tensor, total: Optional[torch.Tensor], put: Callable[[str, torch.Tensor], None]) -> None:
    if flat.device.type == "cpu":
        # On the CPU, reading a number does not block. If the sum of absolute values is finite, every term is finite.
        if math.isfinite(torch.linalg.vector_norm(flat, 1) if total is None else total):
            put("nan_ratio", torch.zeros((), dtype=torch.float64))
            put("nonfinite_ratio", torch.zeros((), dtype=torch.float64))
            return
    count = flat.numel()
    put("nan_ratio", _ratio(torch.isnan(flat).sum(), count))
    put("nonfinite_ratio", _ratio(count - torch.isfinite(flat).sum(), count))


def _exact(device: Any) -> Any:
    return torch.float32 if device.type == "mps" else torch.float64


def _ratio(number: torch.Tensor, count: int) -> torch.Tensor:
    """Returns a ratio that is precise enough to represent one element in a billion."""
    return number.to(_exact(number.device)) / count


def _units(state: torch.Tensor, axis: int) -> torch.Tensor:
    """For each bound in SHARES, returns the number of units whose share of True values is at or below it, followed by the total number of units.
    state: a bool tensor."""
    if state.dim() < 2:
        axis, state = 0, state.reshape(-1)
    axis = axis if -state.dim() <= axis < state.dim() else state.dim() - 1
    units = state.movedim(axis, 0).reshape(state.shape[axis], -1)
    share = _ratio(units.sum(1), units.shape[1])
    bounds = torch.tensor(SHARES, dtype=share.dtype, device=state.device)
    below = (share[:, None] <= bounds).sum(0)
    return torch.cat((below, torch.full((1,), share.numel(), dtype=below.dtype, device=below.device)))


def _cumulative(flat: torch.Tensor, bounds: Sequence[float]) -> torch.Tensor:
    """Returns the number of elements at or below each bound, followed by the total. NaN counts as above every bound."""
    edges = torch.tensor(bounds, dtype=flat.dtype, device=flat.device)
    place = torch.bucketize(flat, edges, out_int32=True)
    return torch.bincount(place, minlength=len(bounds) + 1).cumsum(0)


def _le(bounds: Sequence[float]) -> Tuple[str, ...]:
    return tuple("%g" % bound for bound in bounds) + ("+Inf",)
