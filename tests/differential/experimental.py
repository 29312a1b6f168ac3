"""Builders for Prometheus features behind feature flags: fill, duration arithmetic, info(), and anchored windows. TABLE has the same row format as in
functions.py. Other expressions never contain these features."""
from data import EXACT, ROUNDED
from duration import duration
from functions import call
from tree import Node


def _fill(word):
    def build(g, depth, need):
        left = g.selector(metric=g.metric(EXACT, ("gauge", "counter")))
        right = g.selector(metric=g.metric(EXACT, ("gauge", "counter")))
        match = [n for n in ("job", "instance", "mode") if n in left.key and n in right.key]
        group = ""
        if left.key != right.key:
            group = " group_left" if len(left.key) > len(right.key) else " group_right"
        fill = "%s(%s)" % (word, g.rng.choice(("0", "1.5", "NaN", "-Inf")))
        op = g.rng.choice(("+", "-", "*", ">", "== bool"))
        return Node("vector", ["(", 0, " %s on (%s)%s %s " % (op, ", ".join(match), group, fill), 1, ")"], [left, right],
                    [word], match, match)
    return build


def _duration_expression(g, depth, need):
    metric = g.metric(EXACT, ("gauge", "counter"))
    interval = g.dataset.interval
    length = duration(interval * g.rng.choice((2, 4, 6)))
    window = g.rng.choice(("%s*2" % length, "%s+%s" % (length, duration(interval)), "2*(%s)" % length, "%s/2" % length,
                           "(%s+%s)*1.5" % (length, length), "%d" % (interval * 5 // 1000), "max_of(%s, 7s)" % length,
                           "step()+%s" % length))
    name = g.rng.choice(("sum_over_time", "max_over_time", "count_over_time"))
    text = "%s(%s[%s])" % (name, metric.name, window)
    return Node("vector", [text], names=["duration expression"], labels=metric.labels, key=metric.key)


def _info(g, depth, need):
    inner = g.selector(metric=g.metric(EXACT, ("gauge", "counter")))
    if "instance" not in inner.labels:
        inner = g.selector(metric=g.metric(EXACT, ("unit",)))
    matchers = g.rng.choice((None, '{version=~".+"}', '{version=~".*"}', '{missing=~".*"}', '{version="v1"}',
                             '{__name__="target_info"}'))
    return call("info", [inner] + ([matchers] if matchers else []), "vector", inner, labels=inner.labels + ("version",))


def _anchored(g, depth, need):
    metric = g.metric(EXACT, ("counter",))
    name = g.rng.choice(("rate", "increase", "delta", "resets", "changes"))
    text = "%s(%s[%s] anchored)" % (name, metric.name, g.window())
    return Node("vector", [text], names=["anchored"], labels=metric.labels, key=metric.key)


def _nullary(name):
    return lambda g, depth, need: call(name, [], "scalar", exact=ROUNDED)


TABLE = [(word, "vector", _fill(word), ROUNDED, 0) for word in ("fill", "fill_left", "fill_right")]
TABLE += [(name, "scalar", _nullary(name), ROUNDED, 0) for name in ("start", "end", "step", "range")]
TABLE += [
    ("duration expression", "vector", _duration_expression, ROUNDED, 0),
    ("info", "vector", _info, ROUNDED, 0),
    ("anchored", "vector", _anchored, ROUNDED, 0),
]
