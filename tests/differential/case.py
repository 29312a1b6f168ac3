"""A differential test case (a data set, an expression, and ticks) and its verdict."""
import math
import random

from compare import OVERFLOW, difference, magnitude
from data import ROUNDED, STALE
from engines import Query
from tree import Node, Selector

PERTURBATIONS = 12
NOT_YET = "is not supported yet"
CONDITION = 16  # maximum distance between the oracle's result and ours, in multiples of the oracle's own variation
SAME_LABELS = "vector cannot contain metrics with the same labelset"
REGRESSIONS = {"deriv", "predict_linear"}
MEANINGLESS = 1e-3  # a result that varies by this fraction of itself is meaningless


class Case:
    def __init__(self, dataset, node, ticks, step, lookback, subquery_interval, feature=""):
        self.dataset = dataset
        self.node = node
        self.ticks = ticks  # the first tick and their number
        self.step = step
        self.lookback = lookback
        self.subquery_interval = subquery_interval
        self.feature = feature

    def query(self):
        first, count = self.ticks
        return Query(self.node.text(), first, first + (count - 1) * self.step, self.step, self.lookback,
                     self.subquery_interval)

    def changed(self, **change):
        fields = dict(self.__dict__)
        fields.update(change)
        return Case(**fields)


class Verdict:
    """kind: agree, both_fail, unsupported, or differ; or a permitted difference: ill_conditioned, tied, or range. full: True if the oracle's result
    is neither empty nor an error."""

    def __init__(self, kind, detail="", full=False):
        self.kind = kind
        self.detail = detail
        self.full = full


def judge(case, ours, theirs):
    full = theirs.kind == "ok" and any(elements for _, elements in theirs.ticks)
    if ours.kind == "unsupported" or ours.kind == "error" and NOT_YET in ours.message:
        return Verdict("unsupported", ours.message, full)
    if ours.kind == "error" and theirs.kind == "error":
        return Verdict("both_fail", ours.message)
    if ours.kind != "ok" or theirs.kind != "ok":
        return Verdict("differ", "ours: %s %s; expected: %s %s" % (ours.kind, ours.message, theirs.kind, theirs.message),
                       full)
    detail = difference(ours, theirs, case.node.text(), magnitude(case.dataset, case.node.metrics()))
    return Verdict("differ", detail, full) if detail else Verdict("agree", "", full)


def ask_both(case, pitwall, oracle):
    for engine in (pitwall, oracle):
        engine.load(case.dataset)
        engine.ask(case.query())
    return pitwall.answers(1) + oracle.answers(1)


def excuse(case, ours, theirs, oracle, seed):
    """Returns the kind of a permitted difference, or None if the difference is Pitwall's fault."""
    if ours.kind == "ok" and SAME_LABELS in theirs.message and "subquery" in case.node.all_names():
        # In Prometheus, a subquery result is a range. Elements that have the same labels but never occur at the same step cause an error.
        return "range"
    if ours.kind != "ok" or theirs.kind != "ok":
        return None
    if _tied(case, case.node, oracle, False):
        return "tied"
    return "ill_conditioned" if _ill_conditioned(case, ours, theirs, oracle, seed) else None


def _tied(case, node, oracle, in_subquery):
    """Returns True if topk() and similar functions choose among equal elements in an undefined order. In a subquery, only a selector defines an
    order."""
    in_subquery = in_subquery or "subquery" in node.names
    if node.names[:1] in (("topk",), ("bottomk",), ("limitk",)):
        inner = node.kids[-1]
        if in_subquery and not isinstance(inner, Selector):
            return True
        if not inner.ordered():
            if node.names[0] == "limitk":
                return True
            oracle.ask(case.changed(node=inner).query())
            answer, = oracle.answers(1)
            if any(len({v for _, v in elements}) < len(elements) for _, elements in answer.ticks):
                return True
    return any(_tied(case, kid, oracle, in_subquery) for kid in node.kids)


def _ill_conditioned(case, ours, theirs, oracle, seed):
    """Returns True if perturbing the rounded values (non-integer data and intermediate results) by one unit in the last place moves the oracle's
    result at least as far as its distance from ours. Labels must always agree."""
    if case.node.exact > ROUNDED:
        return False
    apart = _distances(ours, theirs)
    if apart is None or not any(apart):
        return False
    scale = magnitude(case.dataset, case.node.metrics())
    if scale > OVERFLOW and case.node.all_names() & REGRESSIONS:
        return True  # the order of operations decides whether products of such numbers are infinite
    rng = random.Random(seed)
    unit = 1e-15 * scale
    wobble = [0.0] * len(apart)
    for i in range(PERTURBATIONS):
        moved = case.changed(dataset=_moved_data(case.dataset, rng) if i % 2 else case.dataset,
                             node=_moved_node(case.node, rng, unit))
        oracle.load(moved.dataset)
        oracle.ask(moved.query())
        answer, = oracle.answers(1)
        distances = _distances(answer, theirs) if answer.kind == "ok" else None
        if distances is not None:
            wobble = [max(pair) for pair in zip(wobble, distances)]
    sizes = [abs(value) for _, elements in theirs.ticks for _, value in sorted(elements)]
    return all(a == 0 or a <= CONDITION * w or w > MEANINGLESS * size for a, w, size in zip(apart, wobble, sizes))


def _distances(ours, theirs):
    """Returns the distance between each pair of numbers (infinite if only one of the two is finite), or None if the labels differ."""
    distances = []
    for (_, mine), (_, wanted) in zip(ours.ticks, theirs.ticks):
        by_labels = dict(wanted)
        if {labels for labels, _ in mine} != set(by_labels):
            return None
        for labels, value in sorted(mine):
            other = by_labels[labels]
            if value == other or (math.isnan(value) and math.isnan(other)):
                distances.append(0.0)
            elif math.isfinite(value) and math.isfinite(other):
                distances.append(abs(value - other))
            else:
                distances.append(math.inf)
    return distances


def _moved_data(dataset, rng):
    """Perturbs the data. Whole numbers stay unchanged, so that exact results stay exact."""
    def moved(value):
        if value is STALE or not math.isfinite(value) or (value == int(value) and abs(value) < 2 ** 53):
            return value
        return value * (1 + rng.choice((-1, 1)) * 2.0 ** -51)
    return dataset.with_series([(labels, [(t, moved(v)) for t, v in samples]) for labels, samples in dataset.series])


def _moved_node(node, rng, unit):
    """Perturbs every rounded intermediate result slightly: by a factor close to 1 (variances have errors of 1e-13), and by one unit in the last place
    of the input."""
    kids = [_moved_node(kid, rng, unit) for kid in node.kids]
    moved = Node(node.kind, node.parts, kids, exact=node.exact) if kids else node
    if not kids or node.exact > ROUNDED or node.kind not in ("vector", "scalar"):
        return moved
    factor = rng.choice(("1.0000000000000004", "0.9999999999999996", "1", "1.0000000000001", "0.9999999999999"))
    return Node(node.kind, ["((", 0, ") * %s + %r)" % (factor, rng.choice((0.0, unit, -unit)))], [moved], exact=node.exact)
