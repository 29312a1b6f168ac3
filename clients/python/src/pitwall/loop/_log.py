"""Implementation of log()."""
from __future__ import annotations

import re
from typing import Any, Mapping, Optional

from .._client import client
from .._guard import WrongCall, brief, swallow, warn_once
from ..recording._core import Labels
from ..recording._recorder import Recorder
from ._loop import number_or_next

_LOSS_TREND = "train_loss_trend"
_metrics: dict[str, str] = {}  # name passed to log() -> metric name
_NOT_IN_NAMES = re.compile("[^a-zA-Z0-9_:]")


def log(values: Optional[Mapping[str, Any]] = None, *, step: Optional[int] = None, labels: Optional[Mapping[str, object]] = None,
        **named: Any) -> None:
    """Logs numbers, either as `log(loss=0.3, accuracy=0.9)` or as a dict if a name is not a Python identifier.

    The name loss becomes train_loss, and every other name becomes train_<name>. Names that already start with train_ are unchanged. A value may be
    anything that float() accepts, including single-element tensors and arrays. For a GPU tensor, float() waits for the GPU. NaN and infinities are
    sent.

    step: defaults to the running step, or else the last one.
    labels: additional labels, such as {"tensor": "fc1.weight"}.

    Never raises. An invalid value is skipped with one warning, and the other values are logged.
    """
    recorder = client.recorder
    if recorder is None:
        return
    try:
        if values is not None and not hasattr(values, "keys"):
            raise WrongCall("values must be a dict of names and numbers", values, "call log(loss=0.3) or log({'loss': 0.3})")
        given = dict(values, **named) if values else named
        pairs = []
        for name, value in given.items():
            try:
                pairs.append((_metrics.get(name) or metric_of(name), float(value)))
            except Exception:  # an unsupported name or value; the other values are still logged
                warn_once("log: %s is not a number (%s); log a value that float() accepts", brief(name), brief(value))
        pinned: Labels = ()
        if labels:
            if hasattr(labels, "items"):
                pinned = tuple(sorted((str(name), str(value)) for name, value in labels.items()))
            else:
                warn_once("log: labels must be a dict (got %s); sending the values without labels", brief(labels))
        number = number_or_next("log", step)
        if number is None and any(metric == _LOSS_TREND for metric, _ in pairs):
            number = _first_step(recorder)
        recorder.log(pairs, pinned, number)
    except Exception:
        swallow("log")


def _first_step(recorder: Recorder) -> Optional[int]:
    """Returns the number of the first step if that step has not started; otherwise None. A value declared before the loop needs a step, because loss
    rules only read values that belong to steps."""
    mode = recorder.mode()
    return recorder.next_step(mode) if recorder.step_number(mode) is None else None


def metric_of(name: object) -> str:
    """Returns the name of the metric for a name passed to log(). Raises ValueError."""
    name = str(name)
    metric = _NOT_IN_NAMES.sub("_", name)
    if not metric:
        raise ValueError("empty metric name")
    if not metric.startswith("train_"):
        metric = "train_" + metric
    if len(_metrics) < 4096:
        _metrics[name] = metric
    return metric
