"""Builders for operators, aggregations, and modifiers. TABLE has the same row format as in functions.py."""
from data import EXACT, EXACT_INTEGERS, METRICS, ROUNDED
from tree import Node, Selector

ARITHMETIC = ("+", "-", "*", "/", "%", "^", "atan2")
COMPARISON = ("==", "!=", ">", "<", ">=", "<=")
SETS = ("and", "or", "unless")


def _listed(names):
    return "(" + ", ".join(names) + ")"


# Required exactness of an operator's operands.
def _needs(op, need):
    if op in COMPARISON or op in ("%", "^"):  # -8 to the power of nearly 2 is NaN
        return max(need, EXACT)
    return need


def _gives(op, left, right):
    exact = min(left.exact, right.exact)
    if op in ("^", "atan2"):
        return ROUNDED
    return exact if op in ("+", "-") else min(exact, EXACT)


BEST = {"+": EXACT_INTEGERS, "-": EXACT_INTEGERS, "*": EXACT, "/": EXACT, "%": EXACT, "^": ROUNDED, "atan2": ROUNDED}


def _binary(op):
    """Returns two operands of any kind."""
    def build(g, depth, need):
        draw = g.rng.random()
        if draw < 0.35:
            return with_number(g, op, depth, need, False)
        if draw < 0.5:
            return with_number(g, op, depth, need, True)
        return matched(g, op, depth, need, None)
    return build


def with_number(g, op, depth, need, number_first, want_bool=False):
    need = _needs(op, need)
    vector = g.vector(depth, need)
    scalar = g.scalar(depth, need)
    left, right = (scalar, vector) if number_first else (vector, scalar)
    names, word = [op], op
    exact = _gives(op, left, right)
    if op in COMPARISON:
        exact = vector.exact
        if want_bool or "bool" in g.usable and g.chance(0.8 if op == "==" else 0.6):
            word, exact = op + " bool", EXACT_INTEGERS
            names.append("bool")
    return Node("vector", ["(", 0, " %s " % word, 1, ")"], [left, right], names, vector.labels, vector.key, exact)


def matched(g, op, depth, need, clause):
    """Returns two vectors. clause: on, ignoring, group_left, group_right, bool, or None for any clause that fits."""
    need = _needs(op, need)
    left = g.vector(depth, need)
    right = _relative(g, left, op) if g.chance(0.9 if op == "unless" else 0.4) else g.vector(depth, need)
    common = set(left.labels) & set(right.labels)
    if op not in SETS:
        many = {"group_left": left, "group_right": right}.get(clause)
        if many is None and not set(left.key) <= common and not set(right.key) <= common:
            many = g.rng.choice((left, right))
        if many is left:
            right = _coarser(g, right, left)
        elif many is right:
            left = _coarser(g, left, right)
    return _join(g, op, left, right, clause)


def _relative(g, left, op):
    """Returns a selector that matches one to one if possible; for unless, a selector that matches only some elements."""
    fit = [m for m in METRICS if m.exact >= left.exact and m.key == left.key and m.flavor != "extreme"]
    if not fit:
        return g.vector(0, left.exact)
    right = g.selector(metric=g.rng.choice(fit))
    if op == "unless" and right.labels:
        return right.changed(matchers=('%s=%s' % (right.labels[-1], g.rng.choice(('"0"', '"x"', '"user"', '"tb"'))),))
    return right


def _coarser(g, one, many):
    """Returns the "one" side of a many-to-one match, aggregated if necessary."""
    shared = [n for n in one.labels if n in many.labels and n != "zone"]
    by = tuple(g.some(shared, 1)[:2])
    if set(one.key) <= set(shared):
        return one
    op = "max" if "max" in g.usable else "sum"
    return Node("vector", ["%s by %s (" % (op, _listed(by)), 0, ")"], [one], [op, "by"], by, by,
                one.exact if op == "max" else ROUNDED)


def _join(g, op, left, right, clause):
    """Returns the operator with a matching clause that fits both sides, or occasionally one that does not fit."""
    names, words = [op], [op]
    exact = _gives(op, left, right) if op in ARITHMETIC else min(left.exact, right.exact)
    if op in COMPARISON:
        exact = left.exact
        if "bool" in g.usable and (clause == "bool" or g.chance(0.8 if op == "==" else 0.6)):
            words.append("bool")
            names.append("bool")
            exact = EXACT_INTEGERS
    common = [n for n in left.labels if n in right.labels]
    keys = [n for n in common if n in left.key + right.key]
    one_to_one = set(left.key) | set(right.key) <= set(common)
    group = None
    if op in SETS:
        match = g.some([n for n in common if n != "zone"], 1)
    elif one_to_one and clause not in ("group_left", "group_right"):
        match = keys + [n for n in common if n not in keys and g.chance(0.3)]
    else:
        group = clause if clause in ("group_left", "group_right") else \
            "group_left" if set(right.key) <= set(common) else "group_right"
        match = [n for n in common if n in (right if group == "group_left" else left).key]
    alike = set(left.labels) == set(right.labels)
    grouping = clause if clause in ("on", "ignoring") else None
    if grouping is None and (group or not g.chance(0.5 if alike else 0.05)):
        grouping = g.rng.choice([c for c in ("on", "ignoring") if c in g.usable] or [None])
    labels, key = left.labels, left.key
    if grouping:
        ignored = sorted((set(left.labels) | set(right.labels)) - set(match))
        words.append(grouping + " " + _listed(match if grouping == "on" else ignored))
        names.append(grouping)
        labels = tuple(match)
    if op in SETS:
        labels, key = left.labels, left.key
        if op == "or":
            labels = key = tuple(dict.fromkeys(left.labels + right.labels))
    elif group and grouping and not g.chance(0.08):
        many, one = (left, right) if group == "group_left" else (right, left)
        include = g.some([n for n in one.labels if n not in match and (n not in many.labels or g.chance(0.2))])
        # Prometheus would parse a parenthesized operand as the label list.
        bare = not include and isinstance(right, Selector) and not right.text().startswith("{") and g.chance(0.5)
        words.append(group + ("" if bare else " " + _listed(include)))
        names.append(group)
        labels, key = many.labels + tuple(n for n in include if n not in many.labels), many.key
    return Node("vector", ["(", 0, " %s " % " ".join(words), 1, ")"], [left, right], names, labels, key, exact)


def _clause(clause):
    def build(g, depth, need):
        if clause in ("on", "ignoring") and g.chance(0.3) and "and" in g.usable:
            op = g.rng.choice(SETS)
        elif clause == "bool" or g.chance(0.15):
            op = g.rng.choice(COMPARISON)
        else:
            op = g.rng.choice(("+", "-", "*", "/"))
        if clause == "bool" and g.chance(0.5):
            return with_number(g, op, depth, ROUNDED, g.chance(0.3), True)
        return matched(g, op, depth, need, clause)
    return build


def _negative(g, depth, need):
    inner = g.vector(depth, need)
    return Node("vector", ["-", 0], [inner], ["unary -"], inner.labels, inner.key, inner.exact)


def _scalars(g, depth, need):
    """Returns an arithmetic operation on numbers, or a comparison with bool."""
    op = g.rng.choice(ARITHMETIC + COMPARISON)
    need = _needs(op, need)
    left, right = g.scalar(depth, need), g.scalar(depth, need)
    if op in COMPARISON:
        return Node("scalar", ["(", 0, " %s bool " % op, 1, ")"], [left, right], [op, "bool", "scalar op"],
                    exact=EXACT)
    return Node("scalar", ["(", 0, " %s " % op, 1, ")"], [left, right], [op, "scalar op"],
                exact=min(_gives(op, left, right), EXACT))


# Aggregations.

def _grouping(g, inner, clause=None):
    """Returns (text, names, result labels)."""
    if clause is None:
        choices = [c for c in ("by", "without") if c in g.usable]
        clause = g.rng.choice(choices + [""]) if choices else ""
    if not clause:
        return "", [], ()
    picked = g.some(inner.labels)
    if clause == "by":
        return " by " + _listed(picked), ["by"], tuple(picked)
    return " without " + _listed(picked), ["without"], tuple(n for n in inner.labels if n not in picked)


def _aggregate(op, keeps=ROUNDED, needs=ROUNDED, always=None, clause=None, parameter=None):
    def build(g, depth, need):
        inner = g.vector(depth, max(needs, need if always is None else ROUNDED))
        if op == "limitk" and not inner.ordered() or op in ("topk", "bottomk") and not inner.ordered() and g.chance(0.5):
            inner = g.selector(max(needs, need))
        text, names, labels = _grouping(g, inner, clause)
        exact = always if always is not None else min(keeps, inner.exact)
        if op == "sum" and inner.exact < EXACT_INTEGERS:
            exact = ROUNDED
        if op in ("topk", "bottomk", "limitk", "limit_ratio"):
            labels, key = inner.labels, inner.key
        else:
            key = labels
        head, kids = [op + text + " ("], []
        if parameter:
            value = parameter(g, depth)
            if isinstance(value, str):
                head.append(value)
            else:
                head.append(0)
                kids.append(value)
            head.append(", ")
        head += [len(kids), ")"]
        if op == "count_values":
            labels = key = tuple(n for n in labels if n != "v") + ("v",)
        return Node("vector", head, kids + [inner], [op] + names, labels, key, exact)
    return build


def _how_many(g, depth):
    if depth > 0 and g.chance(0.1):
        return g.scalar(depth, EXACT)
    return g.constant(("1", "1", "2", "3", "100", "2.9", "1", "0") if g.chance(0.3) else ("1", "2", "3"))


def _ratio(g, depth):
    return g.constant(("0.5", "0.8", "-0.5", "1", "-1", "0.3", "0.7", "-0.8"))


def _share(g, depth):
    if depth > 0 and g.chance(0.15):
        return g.scalar(depth, ROUNDED)
    return g.constant(("0", "0.1", "0.25", "0.5", "0.9", "1", "-0.5", "1.5", "0.333"))


def _by_some(clause):
    def build(g, depth, need):
        op = g.rng.choice([o for o in ("sum", "min", "max", "avg", "count") if o in g.usable] or ["sum"])
        keeps, always = {"min": (EXACT_INTEGERS, None), "max": (EXACT_INTEGERS, None),
                         "count": (0, EXACT_INTEGERS)}.get(op, (ROUNDED, None))
        return _aggregate(op, keeps, always=always, clause=clause)(g, depth, need)
    return build


# Modifiers.

def _subquery(g, depth, need):
    inner = g.subquery(depth, EXACT)
    name = g.rng.choice([n for n in ("max_over_time", "sum_over_time", "avg_over_time", "count_over_time", "rate", "delta",
                                     "last_over_time", "stddev_over_time", "changes") if n in g.usable]
                        or ["max_over_time"])
    exact = {"max_over_time": inner.exact, "last_over_time": inner.exact, "count_over_time": EXACT_INTEGERS,
             "changes": EXACT_INTEGERS}.get(name, ROUNDED)
    return Node("vector", [name + "(", 0, ")"], [inner], [name], inner.labels, inner.key, exact)


def _offset(g, depth, need):
    metric = g.metric(need)
    return Selector(metric.name, offset=g.offset(), labels=metric.labels, key=metric.key, exact=metric.exact)


def _by_name(g, depth, need):
    """Selects several metrics in a single selector."""
    text = g.rng.choice(('{__name__=~"gi|gf"}', '{__name__="gi"}', '{__name__=~"[gh]i",job="a"}', '{__name__=~"c."}',
                         '{"gi",instance!="7"}', '{job="a",__name__=~"gi|mi"}'))
    return Node("vector", [text], (), ["by name"], ("__name__", "job", "instance"), ("__name__", "job", "instance"), EXACT)


TABLE = [(op, "vector", _binary(op), BEST[op], 0.6) for op in ARITHMETIC]
TABLE += [(op, "vector", _binary(op), EXACT_INTEGERS, 0.3) for op in COMPARISON]
TABLE += [(op, "vector", lambda g, depth, need, op=op: matched(g, op, depth, need, None), EXACT_INTEGERS, weight)
          for op, weight in (("and", 0.5), ("or", 1), ("unless", 0.2))]
TABLE += [(clause, "vector", _clause(clause), ROUNDED, 0.5)
          for clause in ("on", "ignoring", "group_left", "group_right", "bool")]
TABLE += [
    ("unary -", "vector", _negative, EXACT_INTEGERS, 0.5),
    ("scalar op", "scalar", _scalars, EXACT, 1),
    ("sum", "vector", _aggregate("sum", EXACT_INTEGERS), EXACT_INTEGERS, 2),
    ("avg", "vector", _aggregate("avg"), ROUNDED, 1),
    ("min", "vector", _aggregate("min", EXACT_INTEGERS), EXACT_INTEGERS, 1),
    ("max", "vector", _aggregate("max", EXACT_INTEGERS), EXACT_INTEGERS, 1),
    ("count", "vector", _aggregate("count", always=EXACT_INTEGERS), EXACT_INTEGERS, 1),
    ("group", "vector", _aggregate("group", always=EXACT_INTEGERS), EXACT_INTEGERS, 0.5),
    ("stddev", "vector", _aggregate("stddev"), ROUNDED, 1),
    ("stdvar", "vector", _aggregate("stdvar"), ROUNDED, 1),
    ("quantile", "vector", _aggregate("quantile", parameter=_share), ROUNDED, 1),
    ("topk", "vector", _aggregate("topk", EXACT_INTEGERS, EXACT, parameter=_how_many), EXACT_INTEGERS, 1),
    ("bottomk", "vector", _aggregate("bottomk", EXACT_INTEGERS, EXACT, parameter=_how_many), EXACT_INTEGERS, 1),
    ("limitk", "vector", _aggregate("limitk", EXACT_INTEGERS, parameter=_how_many), EXACT_INTEGERS, 0.5),
    ("limit_ratio", "vector", _aggregate("limit_ratio", EXACT_INTEGERS, parameter=_ratio), EXACT_INTEGERS, 0.5),
    ("count_values", "vector", _aggregate("count_values", needs=EXACT, always=EXACT_INTEGERS,
                                          parameter=lambda g, depth: '"v"' if g.chance(0.9) else '"job"'), EXACT_INTEGERS, 0.5),
    ("by", "vector", _by_some("by"), ROUNDED, 0),
    ("without", "vector", _by_some("without"), ROUNDED, 0),
    ("subquery", "vector", _subquery, ROUNDED, 1),
    ("offset", "vector", _offset, EXACT_INTEGERS, 0.3),
    ("by name", "vector", _by_name, EXACT, 0.1),
]
