"""Collections, as in SageMaker Debugger. A collection is a set of tensors, the steps at which they are read, and their reductions.

A tensor's name identifies its kind. A parameter has its own name (`fc1.weight`), its gradient is `gradient/fc1.weight`, and an optimizer variable is
`optimizer/exp_avg/fc1.weight`. Inputs and outputs of a module are `<path>.<class>_input_<n>` and `<path>.<class>_output_<n>` with the class in
lowercase (`features.1.relu_output_0`), where n numbers the tensors across all calls in one forward pass. Inputs and outputs of the model do not have a path
(`resnet_input_0`). A loss is named after the class of its module (`crossentropyloss_output_0`).
"""
from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

# Kinds of tensors. The BLOCK kinds belong to modules that contain other modules.
PARAMETER, GRADIENT, OPTIMIZER, INPUT, OUTPUT, BLOCK_INPUT, BLOCK_OUTPUT, MODEL_INPUT, LOSS = range(9)
ANY = frozenset(range(9))
NEVER = 1 << 62  # step that is never reached

# Metric of each reduction. The histogram and the unit reductions produce one series per bucket.
REDUCTIONS = {
    "min": "train_tensor_min", "max": "train_tensor_max", "mean": "train_tensor_mean",
    "variance": "train_tensor_variance", "std": "train_tensor_std", "l1": "train_tensor_l1", "l2": "train_tensor_l2",
    "abs_min": "train_tensor_abs_min", "abs_max": "train_tensor_abs_max", "abs_mean": "train_tensor_abs_mean",
    "abs_variance": "train_tensor_abs_variance", "abs_std": "train_tensor_abs_std", "abs_l1": "train_tensor_abs_l1",
    "abs_l2": "train_tensor_abs_l2", "zero_ratio": "train_tensor_zero_ratio", "nan_ratio": "train_tensor_nan_ratio",
    "nonfinite_ratio": "train_tensor_nonfinite_ratio", "p5": "train_tensor_p5", "p95": "train_tensor_p95",
    "histogram": "train_tensor_histogram_bucket", "unit_activity": "train_tensor_unit_activity_bucket",
    "unit_inside": "train_tensor_unit_inside_bucket", "update_abs_mean": "train_tensor_update_abs_mean",
    "update_l2": "train_tensor_update_l2", "previous_abs_mean": "train_tensor_previous_abs_mean",
    "previous_l2": "train_tensor_previous_l2", "change_max": "train_tensor_change_max",
}
CHANGES = frozenset(("update_abs_mean", "update_l2", "previous_abs_mean", "previous_l2", "change_max"))

_HEALTH = ("zero_ratio", "nan_ratio", "nonfinite_ratio")
_SHAPE = ("min", "max", "mean", "variance", "std", "l2", "abs_mean", "abs_max")
_DEFAULT = _SHAPE + _HEALTH

# Each entry is name: (kinds of tensors, pattern, reductions). A collection with another name covers all kinds.
BUILT_IN: Dict[str, Tuple[Tuple[int, ...], str, Tuple[str, ...]]] = {
    "weights": ((PARAMETER,), r"^(?!.*bias)", _DEFAULT + tuple(sorted(CHANGES))),
    "biases": ((PARAMETER,), r"bias", _DEFAULT),
    "gradients": ((GRADIENT,), r"^gradient/", _DEFAULT + ("p5", "p95")),
    "losses": ((LOSS,), r"", ("min", "max", "mean", "nan_ratio", "nonfinite_ratio")),
    "inputs": ((MODEL_INPUT,), r"", _DEFAULT),
    "outputs": ((OUTPUT,), r"", _DEFAULT),
    "relu_input": ((INPUT,), r"relu\d*_input", _DEFAULT),
    "relu_output": ((OUTPUT,), r"relu\d*_output", ("mean", "variance", "abs_max", "unit_activity") + _HEALTH),
    "tanh_input": ((INPUT,), r"tanh_input", ("mean", "variance", "unit_inside") + _HEALTH),
    "sigmoid_input": ((INPUT,), r"sigmoid_input", ("mean", "variance", "unit_inside") + _HEALTH),
    "optimizer_variables": ((OPTIMIZER,), r"^optimizer/", _DEFAULT),
}
DEFAULTS = ("losses", "weights", "biases", "gradients", "relu_input", "relu_output", "tanh_input", "sigmoid_input")

# Buckets of the element histogram. The buckets are few and fixed because each bucket is a series.
HISTOGRAM_BOUNDS = (-100.0, -10.0, -1.0, -0.1, -0.01, -1e-3, -1e-4, -1e-6, 0.0, 1e-6, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0,
                    100.0)
MAX_BOUNDS = 64


class Schedule:
    """Steps at which tensors are saved: start, start + every, … before end, and the explicit steps."""

    def __init__(self, every: int = 500, start: int = 0, end: Optional[int] = None, steps: Optional[Iterable[int]] = None) -> None:
        self.every = _whole("every", every, 0)
        self.start = _whole("start", start, 0)
        self.end = None if end is None else _whole("end", end, 0)
        self.steps = tuple(sorted(_whole("steps", step, 0) for step in steps or ()))

    def due(self, last: Optional[int], step: int) -> bool:
        """Returns whether the range (last, step] contains a step to be saved. Checking the whole range ensures that no save is missed if a gradient
        exists only on every fourth step. If last is None, only `step` itself counts."""
        after = step - 1 if last is None or last > step else last
        if any(after < number <= step for number in self.steps):
            return True
        until = step if self.end is None else min(step, self.end - 1)
        if not self.every or until < self.start:
            return False
        newest = until - (until - self.start) % self.every
        return newest > after

    def next_after(self, step: int) -> int:
        """Returns the lowest step above the given one that is to be saved."""
        found = min((number for number in self.steps if number > step), default=NEVER)
        if self.every:
            number = max(self.start, step + 1)
            number += (self.start - number) % self.every
            if self.end is None or number < self.end:
                found = min(found, number)
        return found


class Collection:
    """Set of tensors selected by name, the steps at which the tensors are reduced, and the reductions.

    name: value of the label `collection`. weights, biases, gradients, losses, inputs (of the model), outputs (of all layers), relu_input,
    relu_output, tanh_input, sigmoid_input, and optimizer_variables have built-in patterns and reductions.
    include: regular expressions that are searched for in a tensor's name (see the module's docstring; as in SageMaker Debugger).
    every, start, end (exclusive), steps: training steps of the mode. With every=0, only the explicit steps are saved.
    modes: names of the modes in which tensors are saved (default: all), or a dict that maps each mode with different settings to a dict of those four
    arguments. "global" stands for all modes that are not listed.
    reductions: names of REDUCTIONS, or "all".
    unit_axis: axis of an activation along which its units are counted.
    bounds: upper bounds of the histogram's buckets.

    Raises ValueError for an invalid argument.
    """

    def __init__(self, name: str, include: Union[str, Iterable[str], None] = None, *, every: int = 500, start: int = 0,
                 end: Optional[int] = None, steps: Optional[Iterable[int]] = None,
                 modes: Union[str, Iterable[str], Dict[str, Dict[str, Any]], None] = None,
                 reductions: Union[str, Iterable[str], None] = None, unit_axis: int = 1,
                 bounds: Iterable[float] = HISTOGRAM_BOUNDS) -> None:
        self.name = str(name)
        kinds, pattern, usual = BUILT_IN.get(self.name, (ANY, None, _DEFAULT))
        if include is None and pattern is None:
            raise ValueError("collection %r is not built in; pass include=[patterns], or use %s" % (name, ", ".join(BUILT_IN)))
        self.kinds = frozenset(kinds)
        self.patterns = [_pattern(self.name, text) for text in
                         ([pattern or ""] if include is None else [include] if isinstance(include, str) else include)]
        self._others: Optional[Schedule] = Schedule(every, start, end, steps)  # for modes that are not listed
        self._modes: Dict[str, Optional[Schedule]] = {}
        if isinstance(modes, dict):
            given: Dict[str, Any] = {"every": every, "start": start, "end": end, "steps": steps}
            self._modes = {mode: Schedule(**dict(given, **own)) for mode, own in modes.items()}
            self._others = self._modes.pop("global", self._others)
        elif modes is not None:
            self._modes = {mode: self._others for mode in ([modes] if isinstance(modes, str) else modes)}
            self._others = self._modes.pop("global", None)
        chosen = usual if reductions is None else REDUCTIONS if reductions == "all" else (
            [reductions] if isinstance(reductions, str) else reductions)
        unknown = sorted(set(chosen) - set(REDUCTIONS))
        if unknown:
            raise ValueError("collection %r: unknown reduction %s; use %s"
                             % (name, ", ".join(map(str, unknown)), ", ".join(REDUCTIONS)))
        self.reductions = frozenset(chosen)
        self.unit_axis = _whole("unit_axis", unit_axis, None)
        self.bounds = tuple(sorted({float(bound) for bound in bounds}))
        if not 1 <= len(self.bounds) <= MAX_BOUNDS or not all(abs(bound) < float("inf") for bound in self.bounds):
            raise ValueError("collection %r: bounds must be 1 to %d finite numbers" % (name, MAX_BOUNDS))

    @classmethod
    def defaults(cls, every: int = 500) -> List[Collection]:
        """Returns the collections that the shipped rules need."""
        return [cls(name, every=every) for name in DEFAULTS]

    def schedule(self, mode: str) -> Optional[Schedule]:
        """Returns the mode's Schedule, or None."""
        return self._modes.get(mode, self._others)

    def matches(self, kind: int, name: str) -> bool:
        return kind in self.kinds and any(pattern.search(name) for pattern in self.patterns)


def _whole(what: str, number: Any, least: Optional[int]) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or (least is not None and number < least):
        raise ValueError("%s must be a whole number%s (got %r)"
                         % (what, "" if least is None else " of at least %d" % least, number))
    return number


def _pattern(name: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except (re.error, TypeError) as error:
        raise ValueError("collection %r: include must contain regular expressions (got %r: %s)" % (name, text, error)) from None
