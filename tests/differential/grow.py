"""Random well-typed expressions over a data set.

Discontinuous functions (comparisons, floor, topk, resets, …) are applied only to values that both engines must compute exactly to the last bit, so
that rounding cannot flip them. Each node has an exactness (data.py), and a builder requests children with the exactness that it needs.
"""
import experimental
import functions
import operators
from data import EXACT, EXACT_INTEGERS, METRICS, ROUNDED
from duration import duration
from tree import Node, Selector, number


class Feature:
    """A function, an operator, or a modifier that the test counts by name.

    build(grower, depth, need) makes a node that uses the feature. gives: the best exactness of its result. weight: frequency inside other
    expressions; 0 if the feature would only make them empty.
    """

    def __init__(self, name, kind, build, gives, weight=1):
        self.name = name
        self.kind = kind
        self.build = build
        self.gives = gives
        self.weight = weight


FEATURES = {f.name: f for f in [Feature(*row) for row in functions.TABLE + operators.TABLE + experimental.TABLE]}
EXPERIMENTAL = {row[0] for row in experimental.TABLE}


class Grower:
    """A generator of one random expression. usable: names of additional features that may accompany the requested one."""

    def __init__(self, rng, dataset, usable):
        self.rng = rng
        self.dataset = dataset
        self._planted = None
        self._fillers = {kind: [f for f in FEATURES.values() if f.kind == kind and f.weight and f.name in usable]
                         for kind in ("vector", "scalar")}
        self.usable = usable

    def expression(self, name):
        """Returns a tree that uses this feature, possibly inside other features."""
        rng = self.rng
        node = FEATURES[name].build(self, rng.choice((0, 1, 1, 1, 2)), ROUNDED)
        for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
            if node.kind != "vector":
                break
            self._planted = node
            outer = self.vector(rng.choice((1, 1, 2)), ROUNDED)
            if self._planted is None:  # the vector contains the node
                node = outer
            self._planted = None
        return node

    def chance(self, share):
        return self.rng.random() < share

    # Vectors.

    def vector(self, depth, need):
        planted = self._planted
        if planted is not None and planted.exact >= need and (depth <= 0 or self.chance(0.3)):
            self._planted = None
            return planted
        if depth <= 0 or self.chance(0.1):
            return self.selector(need)
        return self._filler("vector", need).build(self, depth - 1, need)

    def _filler(self, kind, need):
        fit = [f for f in self._fillers[kind] if f.gives >= need]
        return self.rng.choices(fit, [f.weight for f in fit])[0]

    def metric(self, need, flavors=None):
        fit = [m for m in METRICS if m.exact >= need and (m.flavor in flavors if flavors else m.flavor != "buckets")]
        draw = self.rng.random() if not flavors else 1
        preferred = ("gauge", "counter") if draw < 0.55 else ("odd",) if draw < 0.7 else ()
        return self.rng.choice([m for m in fit if m.flavor in preferred] or fit)

    def selector(self, need=ROUNDED, metric=None):
        metric = metric or self.metric(need)
        return Selector(metric.name, self._matchers(metric), offset=self._offset(), labels=metric.labels,
                        key=metric.key, exact=metric.exact)

    def window_of(self, metric, window=None):
        """Returns a matrix selector."""
        return Selector(metric.name, self._matchers(metric), window or self.window(), self._offset(),
                        labels=metric.labels, key=metric.key, exact=metric.exact)

    def matrix(self, depth, need, flavors=None, window=None):
        if "subquery" in self.usable and depth > 0 and self.chance(0.2):
            return self.subquery(depth - 1, need)
        return self.window_of(self.metric(need, flavors), window)

    def subquery(self, depth, need):
        inner = self.vector(depth, need)
        interval = self.dataset.interval
        resolution = self.rng.choice(("", duration(interval), duration(interval * 2), duration(interval * 3 // 2)))
        factor = self.rng.choice((3, 5, 5, 8, 12))
        window = max(interval * factor, 4 * 60_000 if not resolution else 0)
        offset = self._offset()
        return Node("matrix", ["(", 0, ")[%s:%s]%s" % (duration(window), resolution, " offset " + offset if offset else "")],
                    [inner], ["subquery"] + (["offset"] if offset else []), inner.labels, inner.key, inner.exact)

    def window(self):
        interval = self.dataset.interval
        factor = self.rng.choice((0.5, 1, 1.5, 2, 3, 3, 4, 5, 5, 6, 8, 10, 20, 60))
        odd = self.rng.choice((0, 0, 0, 1, 137)) if interval * factor < 4_000 else self.rng.choice((0, 0, 0, 500, 1_000))
        return duration(int(interval * factor) + odd)

    def _offset(self):
        if "offset" not in self.usable or not self.chance(0.1):
            return ""
        return self.offset()

    def offset(self):
        interval = self.dataset.interval
        return duration(self.rng.choice((interval, interval * 2, interval * 3 // 2, 1, 5_000)))

    def _matchers(self, metric):
        if not self.chance(0.2):
            return ()
        rng = self.rng
        choices = []
        if "job" in metric.labels:
            choices += ['job="a"', 'job=~"a|b"', 'job!="b"', 'job=~".+"']
        if "instance" in metric.labels:
            choices += ['instance!="2"', 'instance=~"[01]"', 'instance!~"1.*"', 'instance=~"0|1|2"']
        if "mode" in metric.labels:
            choices += ['mode="user"', 'mode=~"i.*|sys"', 'mode!=""']
        if "zone" in metric.labels:
            choices += ['zone=~"x|"', 'zone!="y"', 'zone!~".+"']
        choices.append('missing=""')
        return tuple(rng.sample(choices, min(len(choices), rng.choice((1, 1, 2)))))

    # Scalars.

    def literal(self, integer=False):
        rng = self.rng
        if integer or self.chance(0.6):
            return number(str(rng.randint(-3, 12)), EXACT_INTEGERS)
        return number(rng.choice(("0.5", "0.25", "1.5", "-2.75", "1e3", "0x1F", "1e-3", "100", "3.7", "1_000", "1m30s")
                                 + (("Inf", "NaN", "-Inf") if self.chance(0.2) else ())), EXACT)

    def constant(self, texts):
        return number(self.rng.choice(texts), EXACT)

    def scalar(self, depth, need):
        if depth <= 0 or self.chance(0.6) or not self._fillers["scalar"]:
            return self.literal(need == EXACT_INTEGERS)
        fit = [f for f in self._fillers["scalar"] if f.gives >= need]
        return self.rng.choice(fit).build(self, depth - 1, need) if fit else self.literal(need == EXACT_INTEGERS)

    def some(self, names, least=0):
        """Returns a random subset in the original order."""
        names = list(names)
        if not names:
            return []
        count = self.rng.randint(min(least, len(names)), len(names))
        return sorted(self.rng.sample(names, count), key=names.index)
