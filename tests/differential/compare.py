"""Comparison of two query results."""
import math
import re

from data import STALE

RELATIVE = 1e-6
# Tolerance for sums and differences of rounded numbers: a result near zero may differ by only a few units in the last place of the input. Relative to
# the largest magnitude among the expression's metrics.
CANCELLED = 1e-12
OVERFLOW = 1e307  # magnitude from which sums overflow a float

BY_VALUE = ("sort(", "sort_desc(", "topk (", "bottomk (")
SORTED_BY = re.compile(r'(, "\w+")*\)$')
BY_LABELS = ("sort_by_label(", "sort_by_label_desc(")


def same_number(a, b, magnitude=0.0):
    if a == b or (math.isnan(a) and math.isnan(b)):
        return True
    if math.isnan(a) or math.isnan(b):
        return magnitude > OVERFLOW  # the difference of two infinities
    if math.isinf(a) or math.isinf(b):
        return a * b > 0 and min(abs(a), abs(b)) > OVERFLOW  # cosh(710) is a float only in some implementations
    return abs(a - b) <= max(RELATIVE * min(abs(a), abs(b)), CANCELLED * magnitude)


def magnitude(dataset, metrics):
    """Returns the largest finite value of these metrics, whose names may be quoted."""
    names = {m.strip('"') for m in metrics}
    largest = 0.0
    for labels, samples in dataset.series:
        if labels["__name__"] in names:
            for _, value in samples:
                if value is not STALE and math.isfinite(value):
                    largest = max(largest, abs(value))
    return largest or 1.0


def difference(ours, theirs, expression, scale):
    """Returns None if the results agree, otherwise a one-line description of the difference. Neither result may be an error."""
    if ours.type != theirs.type:
        return "type %s, expected %s" % (ours.type, theirs.type)
    if ours.message != theirs.message:
        return "text %r, expected %r" % (ours.message, theirs.message)
    if [t for t, _ in ours.ticks] != [t for t, _ in theirs.ticks]:
        return "other ticks"
    for (t, mine), (_, wanted) in zip(ours.ticks, theirs.ticks):
        mismatch = _tick_difference(mine, wanted, expression, scale)
        if mismatch:
            return "at %d ms: %s" % (t, mismatch)
    return None


def _tick_difference(mine, wanted, expression, scale):
    if len(mine) != len(wanted) or {labels for labels, _ in mine} != {labels for labels, _ in wanted}:
        return "elements %s, expected %s" % (_named(mine, wanted), _named(wanted, mine))
    by_labels = dict(wanted)
    if len(by_labels) != len(wanted) or len(dict(mine)) != len(mine):
        return "the same labels twice"
    for labels, value in mine:
        if not same_number(value, by_labels[labels], scale):
            return "%s is %r, expected %r" % (series_text(labels), value, by_labels[labels])
    if expression.startswith(BY_LABELS) and _some_lack(wanted, SORTED_BY.search(expression).group(0)):
        return None
    for (labels, value), (expected_labels, expected) in zip(mine, wanted):
        # Equal values may appear in any order.
        if (expression.startswith(BY_VALUE) and not same_number(value, expected, scale) or
                expression.startswith(BY_LABELS) and labels != expected_labels):
            return "another order at %s" % series_text(expected_labels)
    return None


def _some_lack(elements, names):
    """Returns True if only some elements have the label to sort by. Prometheus sorts such elements inconsistently: "a" after "" and "" after "a"."""
    return any(len({name in dict(labels) for labels, _ in elements}) > 1 for name in re.findall(r'"(\w+)"', names))


def _named(some, others):
    """Formats up to four elements that the other list does not contain, and the total number of elements."""
    known = {labels for labels, _ in others}
    lacking = [series_text(labels) for labels, _ in some if labels not in known]
    return "{" + ", ".join(lacking[:4]) + (", …" if len(lacking) > 4 else "") + "} of %d" % len(some)


def series_text(labels):
    """Formats labels in PromQL syntax."""
    labels = dict(labels)
    name = labels.pop("__name__", "")
    plain = name.replace("_", "").isalnum() and name.isascii()
    inside = [] if plain or not name else [_quoted(name)]
    inside += ["%s=%s" % (n if n.replace("_", "").isalnum() and n.isascii() else _quoted(n), _quoted(v))
               for n, v in sorted(labels.items())]
    return (name if plain else "") + ("{%s}" % ",".join(inside) if inside or not plain else "")


def _quoted(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
