"""Collections, as in SMDebug: their tensors, the steps at which they are read, and the reductions of each.

A tensor's name says what it is: a parameter has its own (`fc1.weight`), its gradient `gradient/fc1.weight`, an
optimizer's variable `optimizer/exp_avg/fc1.weight`; what goes into and out of a module is `<path>.<class>_input_<n>` and
`<path>.<class>_output_<n>` with the class in lower case (`features.1.relu_output_0`), n counting over the calls of one
forward pass; the model's own have no path (`resnet_input_0`), a loss has its module's class (`crossentropyloss_output_0`).
"""
import re

# Kinds of tensors. Those of a block belong to a module that has others inside.
PARAMETER, GRADIENT, OPTIMIZER, INPUT, OUTPUT, BLOCK_INPUT, BLOCK_OUTPUT, MODEL_INPUT, LOSS = range(9)
ANY = frozenset(range(9))
NEVER = 1 << 62  # a step that does not come

# Reductions and the series that they give; two of them (histogram and the unit ones) are series of buckets.
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

# name: (kinds of tensors, pattern, reductions). A collection of another name looks at all kinds.
BUILT_IN = {
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

# Buckets of a histogram of elements. Few and fixed: each is a series.
HISTOGRAM_BOUNDS = (-100.0, -10.0, -1.0, -0.1, -0.01, -1e-3, -1e-4, -1e-6, 0.0, 1e-6, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0,
                    100.0)
MAX_BOUNDS = 64


class Schedule:
    """The steps at which something is saved: start, start + every, … before end, and the explicit ones."""

    def __init__(self, every=500, start=0, end=None, steps=None):
        self.every = _whole("every", every, 0)
        self.start = _whole("start", start, 0)
        self.end = None if end is None else _whole("end", end, 0)
        self.steps = tuple(sorted(_whole("steps", step, 0) for step in steps or ()))

    def due(self, last, step):
        """Whether a step to be saved lies in (last, step]: a gradient that comes with every fourth step only must not
        miss what fell between. last None: only `step` itself counts."""
        after = step - 1 if last is None or last > step else last
        if any(after < number <= step for number in self.steps):
            return True
        until = step if self.end is None else min(step, self.end - 1)
        if not self.every or until < self.start:
            return False
        newest = until - (until - self.start) % self.every
        return newest > after

    def next_after(self, step):
        """The lowest step to be saved above the given one."""
        found = min((number for number in self.steps if number > step), default=NEVER)
        if self.every:
            number = max(self.start, step + 1)
            number += (self.start - number) % self.every
            if self.end is None or number < self.end:
                found = min(found, number)
        return found


class Collection:
    """Tensors by name, the steps at which they are reduced, and the reductions.

    name: the label `collection`; weights, biases, gradients, losses, inputs (the model's), outputs (of all layers),
    relu_input, relu_output, tanh_input, sigmoid_input and optimizer_variables bring their patterns and reductions.
    include: regular expressions, searched for in a tensor's name (see above; as they are in SMDebug). every, start, end
    (exclusive), steps: training steps of the mode; every=0: only the explicit steps. modes: names of the modes in which
    it is saved (default: all), or a dict mode -> dict of those four where a mode has others. "global": all modes that
    are not named.
    reductions: names of REDUCTIONS, or "all". unit_axis: axis of an activation that counts units. bounds: upper bounds
    of the histogram's buckets. Raises ValueError: what it says cannot be meant.
    """

    def __init__(self, name, include=None, *, every=500, start=0, end=None, steps=None, modes=None, reductions=None,
                 unit_axis=1, bounds=HISTOGRAM_BOUNDS):
        self.name = str(name)
        kinds, pattern, usual = BUILT_IN.get(self.name, (ANY, None, _DEFAULT))
        if include is None and pattern is None:
            raise ValueError("collection %r is not one of %s: it needs include=[patterns]" % (name, ", ".join(BUILT_IN)))
        self.kinds = frozenset(kinds)
        self.patterns = [_pattern(self.name, text) for text in
                         ([pattern] if include is None else [include] if isinstance(include, str) else include)]
        self._others = Schedule(every, start, end, steps)  # of modes that are not named
        self._modes = {}
        if isinstance(modes, dict):
            given = {"every": every, "start": start, "end": end, "steps": steps}
            self._modes = {mode: Schedule(**dict(given, **own)) for mode, own in modes.items()}
            self._others = self._modes.pop("global", self._others)
        elif modes is not None:
            self._modes = {mode: self._others for mode in ([modes] if isinstance(modes, str) else modes)}
            self._others = self._modes.pop("global", None)
        chosen = usual if reductions is None else REDUCTIONS if reductions == "all" else (
            [reductions] if isinstance(reductions, str) else reductions)
        unknown = sorted(set(chosen) - set(REDUCTIONS))
        if unknown:
            raise ValueError("collection %r: no reduction %s; there are %s"
                             % (name, ", ".join(map(str, unknown)), ", ".join(REDUCTIONS)))
        self.reductions = frozenset(chosen)
        self.unit_axis = _whole("unit_axis", unit_axis, None)
        self.bounds = tuple(sorted({float(bound) for bound in bounds}))
        if not 1 <= len(self.bounds) <= MAX_BOUNDS or not all(abs(bound) < float("inf") for bound in self.bounds):
            raise ValueError("collection %r: bounds must be 1 to %d finite numbers" % (name, MAX_BOUNDS))

    @classmethod
    def defaults(cls, every=500):
        """What the shipped rules need."""
        return [cls(name, every=every) for name in DEFAULTS]

    def schedule(self, mode):
        """The mode's Schedule, or None."""
        return self._modes.get(mode, self._others)

    def matches(self, kind, name):
        return kind in self.kinds and any(pattern.search(name) for pattern in self.patterns)


def _whole(what, number, least):
    if not isinstance(number, int) or isinstance(number, bool) or (least is not None and number < least):
        raise ValueError("%s must be a whole number%s, not %r"
                         % (what, "" if least is None else " of %d or more" % least, number))
    return number


def _pattern(name, text):
    try:
        return re.compile(text)
    except (re.error, TypeError) as error:
        raise ValueError("collection %r: %r is not a regular expression: %s" % (name, text, error)) from None
