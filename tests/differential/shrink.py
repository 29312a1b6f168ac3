"""Shrinks a failing case and prints it as a promqltest script."""
import math
from functools import reduce

from case import ask_both, judge
from compare import series_text
from data import STALE
from duration import duration

BUDGET = 600  # maximum number of queries


class Shrinker:
    def __init__(self, pitwall, oracle, still_fails):
        """still_fails(case, ours, theirs, verdict): returns True if this is the same kind of failure."""
        self._pitwall = pitwall
        self._oracle = oracle
        self._still_fails = still_fails
        self._left = BUDGET

    def fails(self, case):
        if self._left <= 0:
            return False
        self._left -= 1
        ours, theirs = ask_both(case, self._pitwall, self._oracle)
        return self._still_fails(case, ours, theirs, judge(case, ours, theirs))

    def shrink(self, case):
        before = None
        while case is not before and self._left > 0:
            before = case
            for step in (self._ticks, self._unused_series, self._expression, self._series, self._samples, self._values,
                         self._time):
                case = step(case)
        return case

    def _first(self, candidates, case):
        return next((c for c in candidates if self.fails(c)), case)

    def _ticks(self, case):
        first, count = case.ticks
        if count == 1:
            return case
        single = [(first + i * case.step, 1) for i in range(count)]
        shorter = [(first, n) for n in range(2, count)] + [(first + case.step * n, count - n) for n in range(1, count - 1)]
        return self._first((case.changed(ticks=t) for t in single + shorter), case)

    def _unused_series(self, case):
        used = {m.strip('"') for m in case.node.metrics()}
        kept = [s for s in case.dataset.series if s[0]["__name__"] in used]
        if len(kept) == len(case.dataset.series):
            return case
        return self._first([case.changed(dataset=case.dataset.with_series(kept))], case)

    def _expression(self, case):
        while True:
            smaller = self._first((case.changed(node=n) for n in case.node.simpler()
                                   if len(n.text()) < len(case.node.text())), case)
            if smaller is case:
                return case
            case = smaller

    def _drop(self, items, fails):
        """Removes chunks, large ones first, while the case still fails."""
        size = max(1, len(items) // 2)
        while True:
            at = 0
            while at < len(items):
                fewer = items[:at] + items[at + size:]
                if fewer != items and fails(fewer):
                    items = fewer
                else:
                    at += size
            if size == 1:
                return items
            size //= 2

    def _series(self, case):
        kept = self._drop(case.dataset.series,
                          lambda series: self.fails(case.changed(dataset=case.dataset.with_series(series))))
        return case if kept is case.dataset.series else case.changed(dataset=case.dataset.with_series(kept))

    def _samples(self, case):
        """Removes samples, first at the same times in all series, then in each series."""
        series = case.dataset.series

        def with_times(times):
            wanted = set(times)
            return [(labels, [p for p in samples if p[0] in wanted]) for labels, samples in series]
        times = sorted({t for _, samples in series for t, _ in samples})
        kept = self._drop(times, lambda t: self.fails(case.changed(dataset=case.dataset.with_series(with_times(t)))))
        if kept is not times:
            case = case.changed(dataset=case.dataset.with_series(with_times(kept)))
        for i in range(len(case.dataset.series)):
            labels, samples = case.dataset.series[i]

            def with_samples(some, i=i, labels=labels, case=case):
                all_series = list(case.dataset.series)
                all_series[i] = (labels, some)
                return case.changed(dataset=case.dataset.with_series(all_series))
            fewer = self._drop(samples, lambda some: self.fails(with_samples(some)))
            if fewer is not samples:
                case = with_samples(fewer)
        return case

    def _values(self, case):
        """Rounds all numbers at once."""
        def mapped(change):
            series = [(labels, [(t, v if v is STALE or not math.isfinite(v) else change(v)) for t, v in samples])
                      for labels, samples in case.dataset.series]
            return case.changed(dataset=case.dataset.with_series(series))
        for change in (lambda v: float(int(v)) if abs(v) < 1e15 else v, lambda v: float("%.2g" % v)):
            other = mapped(change)
            if other.dataset.series != case.dataset.series and self.fails(other):
                return other
        return case

    def _time(self, case):
        """Moves the case closer to the epoch and onto a grid."""
        times = [t for _, samples in case.dataset.series for t, _ in samples]
        base = min(times + [case.ticks[0]])

        def moved(change):
            series = [(labels, [(change(t), v) for t, v in samples]) for labels, samples in case.dataset.series]
            first, count = case.ticks
            return case.changed(dataset=case.dataset.with_series(series), ticks=(change(first), count))
        candidates = []
        if base > 0:
            candidates.append(moved(lambda t: t - base // 60_000 * 60_000))
        if any(t % 1000 for t in times):
            candidates.append(moved(lambda t: t // 1000 * 1000))
        for other in candidates:
            distinct = all(a[0] < b[0] for _, s in other.dataset.series for a, b in zip(s, s[1:]))
            changed = other.ticks != case.ticks or other.dataset.series != case.dataset.series
            if distinct and changed and self.fails(other):
                return other
        return case


def script(case, ours, theirs, verdict):
    """Returns a golden script with Prometheus' result."""
    times = sorted({t for _, samples in case.dataset.series for t, _ in samples})
    grid = reduce(math.gcd, times, 0) or 60_000
    lines = ["# " + line for line in verdict.detail.splitlines()]
    if case.lookback != 300_000 or case.subquery_interval != 60_000:
        lines.append("# look-back %s, default resolution of subqueries %s" % (duration(case.lookback),
                                                                            duration(case.subquery_interval)))
    lines.append("load " + duration(grid))
    used = {m.strip('"') for m in case.node.metrics()}
    for labels, samples in case.dataset.series:
        if used and labels["__name__"] not in used:
            continue
        lines.append("  %s %s" % (series_text(labels.items()), _points(samples, grid)))
    first, count = case.ticks
    text = case.node.text()
    if count > 1:
        lines.append("eval range from %s to %s step %s %s" % (_at(first), _at(first + (count - 1) * case.step),
                                                             duration(case.step), text))
    else:
        lines.append("eval instant at %s %s" % (_at(first), text))
    lines += _expected(theirs)
    lines += ["  # ours: " + line.strip() for line in _expected(ours)]
    return "\n".join(lines)


def _at(ms):
    return duration(ms) if ms >= 0 else "-" + duration(-ms)


def _points(samples, grid):
    points, at = [], 0
    for t, value in samples:
        missing = t // grid - at
        if missing:
            points.append("_" if missing == 1 else "_x%d" % missing)
        at = t // grid + 1
        points.append(_number(value))
    return " ".join(points)


def _number(value):
    if value is STALE:
        return STALE
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _expected(answer):
    if answer.kind != "ok":
        return ["  expect fail msg: " + answer.message if answer.kind == "error" else
                "  # %s: %s" % (answer.kind, answer.message)]
    if answer.type == "scalar":
        return ["  " + " ".join(_number(elements[0][1]) for _, elements in answer.ticks)]
    if answer.type == "string":
        return ["  expect string %r" % answer.message]
    columns = {}
    for i, (_, elements) in enumerate(answer.ticks):
        for labels, value in elements:
            columns.setdefault(labels, ["_"] * len(answer.ticks))[i] = _number(value)
    return ["  %s %s" % (series_text(labels), " ".join(column)) for labels, column in columns.items()]
