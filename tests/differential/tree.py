"""Expression trees that generate their own text, so that the shrinker can take them apart."""


# Features that order elements themselves, or change the labels that determine the order.
REORDERING = {"label_replace", "label_join", "histogram_quantile", "histogram_quantiles", "histogram_fraction", "sort",
              "sort_desc", "sort_by_label", "sort_by_label_desc", "sum", "avg", "min", "max", "count", "group", "stddev",
              "stdvar", "quantile", "topk", "bottomk", "limitk", "limit_ratio", "count_values", "on", "ignoring", "or",
              "group_left", "group_right", "subquery", "by name"}


class Node:
    """Text with holes: parts contains strings and the indices of children.

    kind is vector, scalar, matrix, or string; names are the functions and operators that this node itself uses. The other fields are properties that
    the generator needs: the value's labels, the labels that identify its elements (key), and its exactness to the last bit (exact, see grow.py).
    """

    def __init__(self, kind, parts, kids=(), names=(), labels=(), key=(), exact=0):
        self.kind = kind
        self.parts = parts
        self.kids = list(kids)
        self.names = tuple(names)
        self.labels = tuple(labels)
        self.key = tuple(key)
        self.exact = exact

    def text(self):
        return "".join(p if isinstance(p, str) else self.kids[p].text() for p in self.parts)

    def nodes(self):
        yield self
        for kid in self.kids:
            yield from kid.nodes()

    def all_names(self):
        return {name for node in self.nodes() for name in node.names}

    def ordered(self):
        """Returns True if both engines order the elements by labels. Ties in topk() and the elements that limitk() selects depend on this order."""
        return (self.kind == "scalar" or not set(self.names) & REORDERING) and all(kid.ordered() for kid in self.kids)

    def metrics(self):
        return {node.metric for node in self.nodes() if isinstance(node, Selector)}

    def with_kid(self, index, kid):
        other = Node(self.kind, self.parts, self.kids, self.names, self.labels, self.key, self.exact)
        other.kids[index] = kid
        return other

    def simpler(self):
        """Yields smaller trees of the same kind, smallest first. A plain child replaces its parent if possible."""
        inside = sorted((n for n in self.nodes() if n is not self and n.kind == self.kind), key=lambda n: len(n.text()))
        yield from inside
        if self.kind == "scalar" and self.text() not in ("1", "2"):
            yield number("1")
            yield number("2")
        for index, kid in enumerate(self.kids):
            for less in kid.simpler():
                yield self.with_kid(index, less)


class Selector(Node):
    """A metric with matchers, optionally with a window (matrix) and an offset."""

    def __init__(self, metric, matchers=(), window="", offset="", **more):
        self.metric = metric
        self.matchers = tuple(matchers)
        self.window = window
        self.offset = offset
        inside = ((metric,) if metric.startswith('"') else ()) + self.matchers
        body = ("" if metric.startswith('"') else metric) + ("{%s}" % ",".join(inside) if inside else "")
        text = body + ("[%s]" % window if window else "") + (" offset " + offset if offset else "")
        names = ["offset"] if offset else []
        super().__init__("matrix" if window else "vector", [text], names=names, **more)

    def changed(self, **change):
        fields = {"metric": self.metric, "matchers": self.matchers, "window": self.window, "offset": self.offset,
                  "labels": self.labels, "key": self.key, "exact": self.exact}
        fields.update(change)
        return Selector(**fields)

    def simpler(self):
        if self.offset:
            yield self.changed(offset="")
        for i in range(len(self.matchers)):
            yield self.changed(matchers=self.matchers[:i] + self.matchers[i + 1:])


def number(text, exact=0):
    return Node("scalar", [text], exact=exact)
