"""Data for rule groups: values close to the thresholds in group_grow.py (2 to 7), so that alerts flap; gaps, stale markers, series that come and go,
and elements that change a label."""
from data import STALE, Dataset

LEVELS = range(0, 10)
ZONES = ("x", "y", "z")


class Shape:
    """Data available to rules: the metrics (gauges ga and gb with labels i and zone, gauge gc with only i, and counter cn) and the number of elements
    of each metric (half as many for gc)."""

    def __init__(self, elements):
        self.elements = elements


def make_data(rng, start, length):
    interval = rng.choice((5_000, 10_000, 10_000, 15_000, 30_000))
    elements = rng.choice((1, 2, 3, 3, 4, 6, 30 if rng.random() < 0.3 else 5))
    on_grid = rng.random() < 0.3  # on the tick grid, so that window edges coincide with samples
    series = []
    for metric in ("ga", "gb", "gc", "cn"):
        for i in range(elements if metric != "gc" else max(1, elements // 2)):
            labels = {"__name__": metric, "i": str(i)}
            if metric != "gc":
                labels["zone"] = ZONES[i % rng.choice((1, 2, 3))]
            times = _times(rng, start, length, interval, on_grid)
            values = _counter(rng, len(times)) if metric == "cn" else _hovering(rng, len(times))
            series += _moved(rng, labels, list(zip(times, values)))
    return Dataset(series, start, interval, length, on_grid), Shape(elements)


def _times(rng, start, length, interval, on_grid):
    phase = 0 if on_grid else rng.randrange(interval)
    count = length // interval
    first, last = 0, count
    if rng.random() < 0.15:
        first = rng.randrange(count)  # starts late
    if rng.random() < 0.15:
        last = rng.randrange(count)  # ends without a stale marker
    missed = rng.choice((0, 0, 0.05, 0.2))
    gap = range(0)
    if rng.random() < 0.2 and count > 4:
        at = rng.randrange(count)
        gap = range(at, at + rng.randint(2, 40))
    return [start + i * interval + phase for i in range(first, last)
            if i not in gap and not rng.random() < missed]


def _hovering(rng, count):
    """Returns whole numbers that cross a threshold often, rarely, or at each sample."""
    kind = rng.choice(("walk", "walk", "flap", "bursts", "still", "noise"))
    value = rng.choice(LEVELS)
    values = []
    low, high = sorted((rng.choice(LEVELS), rng.choice(LEVELS)))
    for k in range(count):
        if kind == "walk":
            value = min(max(value + rng.choice((-1, -1, 0, 0, 0, 1, 1)), 0), 9)
        elif kind == "flap":
            value = high if k % rng.choice((1, 2, 3)) == 0 else low
        elif kind == "bursts":
            if rng.random() < 0.1:
                value = low if value == high else high
        elif kind == "noise":
            value = rng.choice(LEVELS)
        values.append(float(value))
    return values


def _counter(rng, count):
    value, values = 0.0, []
    for _ in range(count):
        value = 0.0 if rng.random() < 0.02 else value + rng.choice((0, 0, 1, 5, 20))
        values.append(value)
    return values


def _moved(rng, labels, samples):
    """Returns the series unchanged, with a stale marker, or with a label that changes at some point."""
    if len(samples) < 6:
        return [(labels, samples)]
    draw = rng.random()
    if draw < 0.2:
        at = rng.randrange(2, len(samples))
        samples[at] = (samples[at][0], STALE)
        if rng.random() < 0.3:
            del samples[at + 1:]
    elif draw < 0.35 and "zone" in labels:
        at = rng.randrange(2, len(samples) - 1)
        other = dict(labels, zone=rng.choice([z for z in ZONES if z != labels["zone"]]))
        ended = [(samples[at][0], STALE)] if rng.random() < 0.7 else []  # otherwise both exist for a while
        return [(labels, samples[:at] + ended), (other, samples[at:])]
    return [(labels, samples)]
