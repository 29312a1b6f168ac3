"""Builders for all functions that operate on floats. TABLE rows: name, kind, builder, best exactness, and weight as a filler."""
from data import EXACT, EXACT_INTEGERS, METRICS, ROUNDED
from duration import duration
from tree import Node


def call(name, arguments, kind, of=None, exact=ROUNDED, labels=None, key=None):
    """Returns name(arguments) with the given labels. The default is the labels of `of`."""
    parts, kids = [name + "("], []
    for i, argument in enumerate(arguments):
        if i:
            parts.append(", ")
        if isinstance(argument, str):
            parts.append(argument)
        else:
            parts.append(len(kids))
            kids.append(argument)
    parts.append(")")
    labels = labels if labels is not None else of.labels if of else ()
    return Node(kind, parts, kids, [name], labels, key if key is not None else of.key if of else (), exact)


def _string(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"')


# Functions of a single element.

def _element(name, keeps=ROUNDED, needs=ROUNDED, flavor=None):
    """keeps: maximum exactness of the result. The default is the argument's exactness."""
    def build(g, depth, need):
        if flavor and g.chance(0.6):
            inner = g.selector(metric=g.metric(max(need, needs), (flavor,)))
        else:
            inner = g.vector(depth, max(need, needs))
        return call(name, [inner], "vector", inner, min(keeps, inner.exact))
    return build


def _sgn(g, depth, need):
    inner = g.vector(depth, max(need, EXACT))
    return call("sgn", [inner], "vector", inner, EXACT_INTEGERS if inner.exact else ROUNDED)


def _clamp(name, bounds):
    def build(g, depth, need):
        inner = g.vector(depth, need)
        limits = [g.scalar(depth, max(need, EXACT)) for _ in range(bounds)]
        if bounds == 2 and g.chance(0.8):  # otherwise the bounds are usually reversed, and the result is empty
            limits = [g.constant(("-5", "0", "-Inf", "1")), g.constant(("3", "10", "7", "Inf"))]
        return call(name, [inner] + limits, "vector", inner, min([inner.exact] + [s.exact for s in limits]))
    return build


def _round(g, depth, need):
    inner = g.vector(depth, max(need, EXACT))
    if g.chance(0.4):
        return call("round", [inner], "vector", inner, inner.exact)
    return call("round", [inner, g.constant(("2", "5", "0.5", "0.1", "10", "-3", "0", "1e-3"))], "vector", inner, ROUNDED)


def _timestamp(g, depth, need):
    inner = g.vector(0 if g.chance(0.7) else depth, ROUNDED)
    exact = EXACT_INTEGERS if g.dataset.whole_seconds and not inner.kids else ROUNDED
    if exact < need:
        return g.selector(need)
    return call("timestamp", [inner], "vector", inner, exact)


def _date(name):
    def build(g, depth, need):
        if g.chance(0.15):
            return call(name, [], "vector", exact=EXACT_INTEGERS)
        # Go's conversion of values beyond int64 depends on the CPU architecture.
        inner = g.selector(metric=g.metric(EXACT, ("time",) if g.chance(0.8) else ("gauge", "counter", "unit")))
        return call(name, [inner], "vector", inner, EXACT_INTEGERS)
    return build


# Functions over a window.

def _window(name, keeps=ROUNDED, needs=ROUNDED, flavors=None, always=None):
    def build(g, depth, need):
        wanted = max(needs, need if always is None else ROUNDED)
        inner = g.matrix(depth, wanted, flavors if flavors and g.chance(0.8) else None)
        return call(name, [inner], "vector", inner, always if always is not None else min(keeps, inner.exact))
    return build


def _sum_over_time(g, depth, need):
    inner = g.matrix(depth, need)
    return call("sum_over_time", [inner], "vector", inner, EXACT_INTEGERS if inner.exact == EXACT_INTEGERS else ROUNDED)


def _ts_of(name, needs):
    def build(g, depth, need):
        exact = EXACT_INTEGERS if g.dataset.whole_seconds else ROUNDED
        if exact < need:
            return g.selector(need)
        inner = g.matrix(depth, needs)
        return call(name, [inner], "vector", inner, exact if not inner.kids else ROUNDED)
    return build


def _quantile_over_time(g, depth, need):
    inner = g.matrix(depth, ROUNDED)
    return call("quantile_over_time", [_share(g, depth), inner], "vector", inner)


def _share(g, depth):
    """Returns a quantile: usually a constant, possibly out of range."""
    if depth > 0 and g.chance(0.2):
        return g.scalar(depth, ROUNDED)
    return g.constant(("0", "0.1", "0.25", "0.5", "0.5", "0.9", "0.99", "1", "-1", "2", "0.333"))


def _predict_linear(g, depth, need):
    inner = g.matrix(depth, ROUNDED)
    ahead = g.constant(("0", "60", "3600", "-30", "12.5")) if g.chance(0.8) else g.scalar(depth, ROUNDED)
    return call("predict_linear", [inner, ahead], "vector", inner)


def _smoothing(g, depth, need):
    window = duration(g.dataset.interval * g.rng.choice((3, 5, 10))) if g.chance(0.6) else None
    inner = g.matrix(depth, ROUNDED, window=window)
    factors = [g.constant(("0.1", "0.3", "0.5", "0.9") if g.chance(0.95) else ("0", "1")) for _ in range(2)]
    return call("double_exponential_smoothing", [inner] + factors, "vector", inner)


# Functions for labels, absence, and order.

def _label_replace(g, depth, need):
    inner = g.vector(depth, need)
    source = g.rng.choice([n for n in inner.labels if not n.startswith('"')] or ["job"])
    target = g.rng.choice(("fresh", "fresh", "fresh", source, "zone"))
    pattern, replacement = g.rng.choice((("(.*)", "$1"), ("(.*)", "x$1-${1}"), ("([a-z]+)(.*)", "$2$1"), ("a", "gone"),
                                         ("(?P<w>.).*", "${w}"), (".*", ""), ("", "was empty"), ("[0-9]+", "n")))
    if target != "fresh" and "$1" not in replacement:
        target = "fresh"  # other target labels would merge series
    labels = tuple(inner.labels) + ((target,) if target not in inner.labels else ())
    return call("label_replace", [inner, _string(target), _string(replacement), _string(source), _string(pattern)],
                "vector", inner, inner.exact, labels=labels)


def _label_join(g, depth, need):
    inner = g.vector(depth, need)
    sources = g.some([n for n in inner.labels if not n.startswith('"')] + ["missing"])
    target = g.rng.choice(("fresh", "fresh", "fresh", "joined", "job" if "job" in sources else "fresh"))
    labels = tuple(inner.labels) + ((target,) if target not in inner.labels else ())
    separator = g.rng.choice(("-", "", "::"))
    return call("label_join", [inner, _string(target), _string(separator)] + [_string(s) for s in sources],
                "vector", inner, inner.exact, labels=labels)


def _gone(g, matrix):
    """Returns a selector that matches no series, with labels that absent() can derive."""
    matchers = g.some(('job="nowhere"', 'instance=~"9"', 'zone="q"', 'mode!="x"', 'zone=~"q"'), 1)
    if not any(m in matchers for m in ('job="nowhere"', 'zone="q"')):
        matchers.append('job="nowhere"')
    text = "%s{%s}" % (g.rng.choice(("gi", "gf", "ci", "nothing")), ",".join(matchers))
    return Node("matrix" if matrix else "vector", [text + ("[%s]" % g.window() if matrix else "")],
                labels=("job",), exact=EXACT_INTEGERS)


def _absent(g, depth, need):
    inner = _gone(g, False) if g.chance(0.8) else g.vector(depth, ROUNDED)
    return call("absent", [inner], "vector", exact=EXACT_INTEGERS, labels=("job", "zone"), key=())


def _absent_over_time(g, depth, need):
    inner = _gone(g, True) if g.chance(0.8) else g.matrix(depth, ROUNDED)
    return call("absent_over_time", [inner], "vector", exact=EXACT_INTEGERS, labels=("job", "zone"), key=())


def _sort(name):
    def build(g, depth, need):
        inner = g.vector(depth, max(need, EXACT))
        return call(name, [inner], "vector", inner, inner.exact)
    return build


def _sort_by_label(name):
    def build(g, depth, need):
        inner = g.vector(depth, need)
        names = g.some([n for n in inner.labels if not n.startswith('"')]) or ["job"]
        return call(name, [inner] + [_string(n) for n in names], "vector", inner, inner.exact)
    return build


# Classic histograms.

def _buckets(g, steady, sound=False):
    """Returns a vector with the label le. steady: only whole numbers, so that a rank may be exactly on a bucket boundary. sound: without duplicate
    buckets."""
    name = "h_bucket" if sound or g.chance(0.8) else "hx_bucket"
    metric = next(m for m in METRICS if m.name == name)
    if steady:
        inner = g.selector(metric=metric)
    else:
        inner = call("rate", [g.window_of(metric, duration(g.dataset.interval * g.rng.choice((3, 5, 10))))], "vector",
                     metric)
    if g.chance(0.4) and "sum" in g.usable and "by" in g.usable:
        by = g.rng.choice((("job", "le"), ("le",), ("instance", "le")))
        inner = Node("vector", ["sum by (%s) (" % ", ".join(by), 0, ")"], [inner], ["sum", "by"], by, by, inner.exact)
    return inner, tuple(n for n in inner.labels if n != "le")


def _histogram_quantile(g, depth, need):
    steady = g.chance(0.5) or "rate" not in g.usable
    inner, labels = _buckets(g, steady)
    share = g.constant(("0.5", "0.25", "0.75", "0", "1", "-1", "1.5") if steady else ("0.437", "0.911", "0.0731"))
    return call("histogram_quantile", [share, inner], "vector", labels=labels, key=labels)


def _histogram_quantiles(g, depth, need):
    # Prometheus repairs the buckets again for each quantile. If the buckets are unsound, the result depends on the order of quantiles.
    inner, labels = _buckets(g, True, True)
    shares = [g.constant((text,)) for text in g.some(("0", "0.25", "0.5", "0.9", "1"), 1)]
    return call("histogram_quantiles", [inner, '"q"'] + shares, "vector", labels=labels + ("q",), key=labels + ("q",))


def _histogram_fraction(g, depth, need):
    inner, labels = _buckets(g, True)
    bounds = g.rng.choice((("0", "0.5"), ("0.1", "2.5"), ("-1", "0.3"), ("0.07", "Inf"), ("-Inf", "1"), ("2", "1"),
                           ("-Inf", "Inf")))
    return call("histogram_fraction", [g.constant((b,)) for b in bounds] + [inner], "vector", labels=labels, key=labels)


# Scalars.

def _time(g, depth, need):
    return call("time", [], "scalar", exact=EXACT if g.dataset.whole_seconds else ROUNDED)


def _scalar(g, depth, need):
    if g.chance(0.6):
        inner = g.selector(metric=g.metric(EXACT, ("lone",)))
    else:
        inner = g.vector(depth, need)
    return call("scalar", [inner], "scalar", exact=min(inner.exact, EXACT))


def _vector(g, depth, need):
    inner = g.scalar(depth + 1, need)
    return call("vector", [inner], "vector", exact=inner.exact)


def _of_two(name):
    def build(g, depth, need):
        both = [g.scalar(depth, max(need, EXACT)) for _ in range(2)]
        return call(name, both, "scalar", exact=min(s.exact for s in both))
    return build


_ANY = (EXACT_INTEGERS,)
TABLE = [
    ("abs", "vector", _element("abs", *_ANY), EXACT_INTEGERS, 2),
    ("ceil", "vector", _element("ceil", EXACT_INTEGERS, EXACT), EXACT_INTEGERS, 1),
    ("floor", "vector", _element("floor", EXACT_INTEGERS, EXACT), EXACT_INTEGERS, 1),
    ("round", "vector", _round, ROUNDED, 1),
    ("sgn", "vector", _sgn, EXACT_INTEGERS, 1),
    ("sqrt", "vector", _element("sqrt", EXACT), EXACT, 1),
    ("clamp", "vector", _clamp("clamp", 2), EXACT_INTEGERS, 0.5),
    ("clamp_min", "vector", _clamp("clamp_min", 1), EXACT_INTEGERS, 1),
    ("clamp_max", "vector", _clamp("clamp_max", 1), EXACT_INTEGERS, 1),
    ("timestamp", "vector", _timestamp, EXACT_INTEGERS, 1),
    ("label_replace", "vector", _label_replace, EXACT_INTEGERS, 1),
    ("label_join", "vector", _label_join, EXACT_INTEGERS, 1),
    ("absent", "vector", _absent, EXACT_INTEGERS, 0.2),
    ("absent_over_time", "vector", _absent_over_time, EXACT_INTEGERS, 0.2),
    ("sort", "vector", _sort("sort"), EXACT_INTEGERS, 0.2),
    ("sort_desc", "vector", _sort("sort_desc"), EXACT_INTEGERS, 0.2),
    ("sort_by_label", "vector", _sort_by_label("sort_by_label"), EXACT_INTEGERS, 0.2),
    ("sort_by_label_desc", "vector", _sort_by_label("sort_by_label_desc"), EXACT_INTEGERS, 0.2),
    ("histogram_quantile", "vector", _histogram_quantile, ROUNDED, 1),
    ("histogram_quantiles", "vector", _histogram_quantiles, ROUNDED, 0.3),
    ("histogram_fraction", "vector", _histogram_fraction, ROUNDED, 1),
    ("vector", "vector", _vector, EXACT_INTEGERS, 0.5),
    ("scalar", "scalar", _scalar, EXACT, 1),
    ("time", "scalar", _time, ROUNDED, 1),
    ("pi", "scalar", lambda g, depth, need: call("pi", [], "scalar", exact=EXACT), EXACT, 1),
    ("max_of", "scalar", _of_two("max_of"), EXACT_INTEGERS, 1),
    ("min_of", "scalar", _of_two("min_of"), EXACT_INTEGERS, 1),
    # Windows.
    ("avg_over_time", "vector", _window("avg_over_time"), ROUNDED, 2),
    ("sum_over_time", "vector", _sum_over_time, EXACT_INTEGERS, 2),
    ("min_over_time", "vector", _window("min_over_time", *_ANY), EXACT_INTEGERS, 2),
    ("max_over_time", "vector", _window("max_over_time", *_ANY), EXACT_INTEGERS, 2),
    ("first_over_time", "vector", _window("first_over_time", *_ANY), EXACT_INTEGERS, 1),
    ("last_over_time", "vector", _window("last_over_time", *_ANY), EXACT_INTEGERS, 1),
    ("count_over_time", "vector", _window("count_over_time", always=EXACT_INTEGERS), EXACT_INTEGERS, 1),
    ("present_over_time", "vector", _window("present_over_time", always=EXACT_INTEGERS), EXACT_INTEGERS, 0.5),
    ("stddev_over_time", "vector", _window("stddev_over_time"), ROUNDED, 1),
    ("stdvar_over_time", "vector", _window("stdvar_over_time"), ROUNDED, 1),
    ("quantile_over_time", "vector", _quantile_over_time, ROUNDED, 1),
    ("mad_over_time", "vector", _window("mad_over_time"), ROUNDED, 1),
    ("changes", "vector", _window("changes", needs=EXACT, always=EXACT_INTEGERS), EXACT_INTEGERS, 1),
    ("resets", "vector", _window("resets", needs=EXACT, flavors=("counter",), always=EXACT_INTEGERS), EXACT_INTEGERS, 1),
    ("rate", "vector", _window("rate", needs=EXACT, flavors=("counter",)), ROUNDED, 2),
    ("increase", "vector", _window("increase", needs=EXACT, flavors=("counter",)), ROUNDED, 1),
    ("irate", "vector", _window("irate", needs=EXACT, flavors=("counter",)), ROUNDED, 1),
    ("delta", "vector", _window("delta"), ROUNDED, 1),
    ("idelta", "vector", _window("idelta", *_ANY), EXACT_INTEGERS, 1),
    ("deriv", "vector", _window("deriv"), ROUNDED, 1),
    ("predict_linear", "vector", _predict_linear, ROUNDED, 1),
    ("double_exponential_smoothing", "vector", _smoothing, ROUNDED, 1),
    ("ts_of_first_over_time", "vector", _ts_of("ts_of_first_over_time", ROUNDED), EXACT_INTEGERS, 0.5),
    ("ts_of_last_over_time", "vector", _ts_of("ts_of_last_over_time", ROUNDED), EXACT_INTEGERS, 0.5),
    ("ts_of_min_over_time", "vector", _ts_of("ts_of_min_over_time", EXACT), EXACT_INTEGERS, 0.5),
    ("ts_of_max_over_time", "vector", _ts_of("ts_of_max_over_time", EXACT), EXACT_INTEGERS, 0.5),
]
TABLE += [(name, "vector", _element(name), ROUNDED, 0.3) for name in
          ("exp", "ln", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asinh", "acosh", "atan", "deg",
           "rad")]
TABLE += [(name, "vector", _element(name, flavor="unit"), ROUNDED, 0.2) for name in ("asin", "acos", "atanh")]
TABLE += [(name, "vector", _date(name), EXACT_INTEGERS, 0.2) for name in
          ("minute", "hour", "day_of_week", "day_of_month", "day_of_year", "days_in_month", "month", "year")]
