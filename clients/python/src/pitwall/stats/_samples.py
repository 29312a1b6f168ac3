"""Metrics computed from the labels, predictions, and inputs of a batch, and from the expert counts of a mixture of experts. These metrics are the
input for ClassImbalance, Confusion, CheckInputImages, NLPSequenceRatio, and the mixture-of-experts rules.

Accepts PyTorch tensors, numpy arrays, and lists (or anything that numpy converts to an array). Lists require neither library. Reading tensors on a
GPU waits for the GPU.
"""
from __future__ import annotations

import math
import threading
import weakref
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

from .._client import client
from .._guard import MAX_STEP, swallow, debug_once
from ..recording._core import Labels
from ..recording._recorder import Recorder
from ._own_time import OwnTime

Value = Tuple[str, Labels, float]  # metric, labels, value

MAX_CLASSES = 1024            # further classes are not counted
MAX_CONFUSION_CLASSES = 32    # each pair is a series
SCORE_BINS = 50               # bins of [0, 1], for each of two classes
RESIDUAL_BINS = 40            # bins over a range derived from the first step's residuals
MAX_CHANNELS = 64
MAX_TOKENS = 64
MAX_EXPERTS = 1024

_lock = threading.Lock()
_edges: weakref.WeakKeyDictionary[Recorder, Dict[str, Tuple[float, float]]] = weakref.WeakKeyDictionary()  # mode -> (low, width) of residuals
# (mode, class) -> [labels, wrong predictions]
_counts: weakref.WeakKeyDictionary[Recorder, Dict[Tuple[str, int], List[int]]] = weakref.WeakKeyDictionary()


def log_classification(labels: Any, predictions: Any = None, *, classes: Optional[int] = None, step: Optional[int] = None) -> None:
    """Counts a batch's labels by class, and the mispredicted labels if predictions are passed.

    labels: class numbers from 0, of any shape. Negative numbers (ignore_index) are ignored.
    predictions: class numbers of the same shape, or scores with one more axis for the classes. The class axis is the second one (the inner one for
    lists).
    classes: number of classes; defaults to the number of scores, or else to the number of classes seen.

    The confusion matrix is sent for up to 32 classes. Never raises.
    """
    recorder = client.recorder
    if recorder is None:
        return
    try:
        with OwnTime(recorder):
            classification(recorder, labels, predictions, classes, step=step)
    except Exception:
        swallow("log_classification")


def log_images(batch: Any, channel_axis: int = 1, *, name: str = "input", step: Optional[int] = None) -> None:
    """Logs the number of images in a batch (first axis: images) and the mean of each channel. name: value of the label `tensor`. Never raises."""
    recorder = client.recorder
    if recorder is None:
        return
    try:
        with OwnTime(recorder):
            images(recorder, batch, channel_axis, name, step=step)
    except Exception:
        swallow("log_images")


def log_tokens(ids: Any, watch: Sequence[int] = (0,), *, name: str = "input", step: Optional[int] = None) -> None:
    """Logs the number of tokens in a batch of token IDs, and the share of each token in `watch` (padding, unknown, …). Never raises."""
    recorder = client.recorder
    if recorder is None:
        return
    try:
        with OwnTime(recorder):
            tokens(recorder, ids, watch, name, step=step)
    except Exception:
        swallow("log_tokens")


def log_experts(tokens: Any, layer: Union[int, str] = 0, *, probabilities: Any = None, step: Optional[int] = None) -> None:
    """Logs the number of tokens that each expert of a mixture-of-experts layer received on this rank in the whole step.

    tokens: the count of each expert, including zero counts.
    layer: value of the label `layer`.
    probabilities: the router's output, which sums to 1 over the last axis (the experts). The entropy of the mean is sent, divided by the logarithm of
    the number of experts.

    A rank does not have to see all tokens, because rules add the counts of all ranks and average the entropies. Never raises.
    """
    recorder = client.recorder
    if recorder is None:
        return
    try:
        with OwnTime(recorder):
            experts(recorder, tokens, layer, probabilities, step=step)
    except Exception:
        swallow("log_experts")


def classification(recorder: Recorder, labels: Any, predictions: Any = None, classes: Optional[int] = None, mode: Optional[str] = None,
                   step: Optional[int] = None) -> None:
    labels = _array(labels)
    wrong: Dict[int, int] = {}
    pairs: Optional[Dict[Tuple[int, int], int]] = None
    if predictions is not None:
        predictions = _array(predictions)
        if predictions.ndim == labels.ndim + 1:
            classes = classes or int(predictions.shape[1])
            predictions = predictions.argmax(1)
        if tuple(predictions.shape) != tuple(labels.shape):
            raise ValueError("predictions must have the shape of the labels %s (got %s)"
                             % (tuple(labels.shape), tuple(predictions.shape)))
        pairs = _count_pairs(labels, predictions)
        counts: Dict[int, int] = {}
        for (label, prediction), count in pairs.items():
            counts[label] = counts.get(label, 0) + count
            if prediction != label:
                wrong[label] = wrong.get(label, 0) + count
    else:
        counts = _count(labels)
    mode = mode or recorder.mode()
    values: List[Value] = []
    with _lock:
        totals = _counts.setdefault(recorder, {})
        for label in sorted(counts):
            known = totals.get((mode, label))
            if known is None:
                if len(totals) >= MAX_CLASSES:
                    debug_once("more than %d classes; further classes are not counted", MAX_CLASSES)
                    continue
                known = totals[mode, label] = [0, 0]
            known[0] += counts[label]
            known[1] += wrong.get(label, 0)
            of_class = (("class", str(label)),)
            values.append(("train_label_samples_total", of_class, float(known[0])))
            if pairs is not None:
                values.append(("train_label_mispredictions_total", of_class, float(known[1])))
    if pairs is not None:
        highest = max([classes - 1 if classes else 0] + [max(pair) for pair in pairs])
        if highest < MAX_CONFUSION_CLASSES:
            # A pair that is absent from a step is sent as 0, so that the previous step's value does not persist.
            for label in range(highest + 1):
                for prediction in range(highest + 1):
                    values.append(("train_confusion_samples", (("label", str(label)), ("prediction", str(prediction))),
                                   float(pairs.get((label, prediction), 0))))
        else:
            debug_once("the confusion matrix is not sent for more than %d classes", MAX_CONFUSION_CLASSES)
    _send(recorder, values, mode, step)


def scores(recorder: Recorder, labels: Any, probabilities: Any, mode: Optional[str] = None, step: Optional[int] = None) -> None:
    """Counts the samples of each class (0 or 1) by their probability of class 1, in SCORE_BINS bins. The ROC curve and its area are computed from
    these counts. The result is exact except for samples of both classes within one bin. NaN and labels other than 0 and 1 are ignored."""
    bins: Dict[Tuple[int, int], int] = {}
    for label, probability in zip(_flat(_array(labels)), _flat(_array(probabilities))):
        if label in (0, 1) and 0 <= probability <= 1:
            at = int(label), min(int(probability * SCORE_BINS), SCORE_BINS - 1)
            bins[at] = bins.get(at, 0) + 1
    # A bin that is absent from a step is sent as 0, so that the previous step's value does not persist.
    _send(recorder, [("train_score_samples", (("bin", str(at)), ("class", str(label))), float(bins.get((label, at), 0)))
                     for label in (0, 1) for at in range(SCORE_BINS)], mode, step)


def residuals(recorder: Recorder, labels: Any, predictions: Any, mode: Optional[str] = None, step: Optional[int] = None) -> None:
    """Counts the samples of a regression by their residual (label minus prediction), in RESIDUAL_BINS bins. The first step sets the range: its 1st
    and 99th percentiles are a quarter of the range away from the ends. Residuals beyond the ends count in the outermost bins."""
    differences = [label - prediction for label, prediction in zip(_flat(_array(labels)), _flat(_array(predictions)))]
    differences = [one for one in differences if math.isfinite(one)]
    if not differences:
        return
    mode = mode or recorder.mode()
    with _lock:
        edges = _edges.setdefault(recorder, {})
        if mode not in edges:
            ordered = sorted(differences)
            low, high = ordered[len(ordered) // 100], ordered[-1 - len(ordered) // 100]
            spread = high - low or abs(high) or 1.0
            edges[mode] = low - spread / 2, 2 * spread / RESIDUAL_BINS
        low, width = edges[mode]
    bins = [0] * RESIDUAL_BINS
    for one in differences:
        bins[min(max(int((one - low) // width), 0), RESIDUAL_BINS - 1)] += 1
    _send(recorder, [("train_residual_samples", (("bin", str(at)), ("from", "%.6g" % (low + at * width))), float(count))
                     for at, count in enumerate(bins)], mode, step)


def images(recorder: Recorder, batch: Any, channel_axis: int = 1, name: str = "input", mode: Optional[str] = None,
           step: Optional[int] = None) -> None:
    batch = _array(batch)
    if batch.ndim < 2:
        raise ValueError("images must have at least two axes (got shape %s)" % (tuple(batch.shape),))
    axis = channel_axis % batch.ndim
    others = tuple(a for a in range(batch.ndim) if a != axis)
    if batch.shape[axis] > MAX_CHANNELS or axis == 0:
        raise ValueError("channel_axis must be an axis after the first with at most %d channels (got axis %d of shape %s)"
                         % (MAX_CHANNELS, channel_axis, tuple(batch.shape)))
    if _is_torch(batch):
        means = (batch.detach() if batch.is_floating_point() else batch.float()).mean(others).tolist()
    else:
        means = batch.mean(axis=others, dtype="float64").tolist()
    tensor = (("tensor", str(name)),)
    values: List[Value] = [("train_input_images", tensor, float(batch.shape[0]))]
    values += [("train_input_channel_mean", (("channel", str(channel)),) + tensor, float(mean))
               for channel, mean in enumerate(means)]
    _send(recorder, values, mode, step)


def tokens(recorder: Recorder, ids: Any, watch: Iterable[int] = (0,), name: str = "input", mode: Optional[str] = None,
           step: Optional[int] = None) -> None:
    ids = _array(ids)
    count = int(ids.numel() if _is_torch(ids) else ids.size)
    tensor = (("tensor", str(name)),)
    values: List[Value] = [("train_input_tokens", tensor, float(count))]
    if count:
        values += [("train_input_token_ratio", tensor + (("token", str(int(token))),), int((ids == token).sum()) / count)
                   for token in list(watch)[:MAX_TOKENS]]
    _send(recorder, values, mode, step)


def experts(recorder: Recorder, tokens: Any, layer: Union[int, str] = 0, probabilities: Any = None, mode: Optional[str] = None,
            step: Optional[int] = None) -> None:
    counts = [float(count) for count in _flat(_array(tokens))]
    if not 0 < len(counts) <= MAX_EXPERTS:
        raise ValueError("tokens must have 1 to %d counts (got %d)" % (MAX_EXPERTS, len(counts)))
    of_layer = ("layer", str(layer))
    values: List[Value] = [("train_expert_tokens", (("expert", str(expert)), of_layer), count) for expert, count in enumerate(counts)]
    if probabilities is not None and len(counts) > 1:
        values.append(("train_router_entropy_ratio", (of_layer,), _entropy(_array(probabilities), len(counts))))
    _send(recorder, values, mode, step)


def _entropy(probabilities: Any, experts: int) -> float:
    """Returns the entropy of the mean over all axes except the last, divided by ln of the number of experts."""
    if probabilities.ndim < 1 or probabilities.shape[-1] != experts:
        raise ValueError("the last axis of probabilities must have %d experts (got shape %s)" % (experts, tuple(probabilities.shape)))
    if isinstance(probabilities, _List):
        sums = [0.0] * experts
        for place, value in enumerate(probabilities.flat()):
            sums[place % experts] += value
    elif _is_torch(probabilities):
        sums = probabilities.detach().double().reshape(-1, experts).sum(0).tolist()
    else:
        sums = probabilities.reshape(-1, experts).sum(axis=0, dtype="float64").tolist()
    total = sum(sums)
    if not 0 < total < math.inf:
        return math.nan  # an entropy of 0 would cause an issue
    shares = [value / total for value in sums]
    return -sum(share * math.log(share) for share in shares if share > 0) / math.log(experts)


def _send(recorder: Recorder, values: Iterable[Value], mode: Optional[str], step: Optional[int]) -> None:
    mode = mode or recorder.mode()
    if step is None:
        step = recorder.step_number(mode)
    recorder.record(values, mode, None if step is None else min(max(int(step), 0), MAX_STEP))


def _is_torch(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "torch" or hasattr(value, "is_floating_point")


class _List:
    """Minimal array interface for lists, usable without numpy."""

    def __init__(self, rows: Any) -> None:
        self.shape = _shape(rows)
        self.ndim = len(self.shape)
        self._rows = rows
        self.size = 1
        for extent in self.shape:
            self.size *= extent

    def __eq__(self, number: object) -> Any:
        return _List([int(value == number) for value in self.flat()])

    __hash__ = None  # type: ignore[assignment]

    def sum(self) -> Any:
        return sum(self.flat())

    def argmax(self, axis: int) -> _List:
        if self.ndim != 2 or axis != 1:
            raise ValueError("scores in lists must have one list per label")
        return _List([max(range(len(row)), key=row.__getitem__) for row in self._rows])

    def mean(self, axis: Sequence[int], dtype: str) -> _List:
        kept, = [a for a in range(self.ndim) if a not in axis]
        sums = [0.0] * self.shape[kept]
        for place, value in enumerate(self.flat()):
            after = 1
            for extent in self.shape[kept + 1:]:
                after *= extent
            sums[place // after % self.shape[kept]] += value
        return _List([total * self.shape[kept] / self.size for total in sums])

    def tolist(self) -> Any:
        return self._rows

    def flat(self) -> Iterator[Any]:
        def walk(rows: Any, depth: int) -> Iterator[Any]:
            if depth == 0:
                yield rows
                return
            for row in rows:
                yield from walk(row, depth - 1)
        return walk(self._rows, self.ndim)


def _shape(rows: Any) -> Tuple[int, ...]:
    if not isinstance(rows, (list, tuple)):
        return ()
    inner = {_shape(row) for row in rows} or {()}
    if len(inner) > 1:
        raise ValueError("inner lists must have equal shapes")
    return (len(rows),) + inner.pop()


def _array(value: Any) -> Any:
    return _List(value) if isinstance(value, (list, tuple)) else value


def _flat(array: Any) -> Iterable[Any]:
    if isinstance(array, _List):
        return array.flat()
    values: List[Any] = array.reshape(-1).tolist()
    return values


def _count(labels: Any) -> Dict[int, int]:
    """Returns a dict label -> count. Negative labels are ignored."""
    if isinstance(labels, _List) or int(labels.numel() if _is_torch(labels) else labels.size) < 4096:
        counts: Dict[int, int] = {}
        for label in _flat(labels):
            if label >= 0:
                counts[int(label)] = counts.get(int(label), 0) + 1
        return counts
    return {int(label): int(count) for label, count in zip(*_unique(labels)) if label >= 0}


def _count_pairs(labels: Any, predictions: Any) -> Dict[Tuple[int, int], int]:
    """Returns a dict (label, prediction) -> count."""
    many = not isinstance(labels, _List) and int(labels.numel() if _is_torch(labels) else labels.size) >= 4096
    if many and not isinstance(predictions, _List) and _is_torch(labels) == _is_torch(predictions):
        labels, predictions = _wide(labels), _wide(predictions)  # a product of 8-bit integers would overflow
        base = max(int(predictions.max()) + 1, 1)
        keep = (labels >= 0) & (predictions >= 0)
        found = zip(*_unique(labels[keep] * base + predictions[keep]))
        return {(int(number) // base, int(number) % base): int(count) for number, count in found}
    counts: Dict[Tuple[int, int], int] = {}
    for label, prediction in zip(_flat(labels), _flat(predictions)):
        if label >= 0:
            pair = int(label), int(prediction)
            counts[pair] = counts.get(pair, 0) + 1
    return counts


def _wide(array: Any) -> Any:
    return array.long() if _is_torch(array) else array.astype("int64")


def _unique(array: Any) -> Tuple[List[Any], List[Any]]:
    if _is_torch(array):
        numbers, counts = array.unique(return_counts=True)
        return numbers.tolist(), counts.tolist()
    import numpy
    numbers, counts = numpy.unique(array, return_counts=True)
    return numbers.tolist(), counts.tolist()
