"""Random data sets: series that resemble a fleet's metrics, including every error-prone feature.

Times are in milliseconds, values are Python floats, and STALE is the stale marker.
"""
import math

STALE = "stale"
EXACT_INTEGERS = 2  # sums, products with small factors, and comparisons of such values are exact in any order
EXACT = 1           # unchanged bits: safe to compare, round, and order, but not to sum
ROUNDED = 0         # the last bits depend on the computation

INTERVALS = (1_000, 5_000, 10_000, 15_000, 15_000, 30_000, 60_000)
BOUNDS = ("0.05", "0.1", "0.5", "1", "2.5", "10", "+Inf")


class Metric:
    """Properties of a metric that the generator needs: its labels, the labels that identify its series, and the kind of its values."""

    def __init__(self, name, labels, key, exact, flavor):
        self.name = name
        self.labels = labels
        self.key = key
        self.exact = exact
        self.flavor = flavor


# Flavors: gauge, counter, unit (within [-1, 1]), odd (NaN, infinities), extreme (huge and tiny), buckets, time (Unix time), lone (one series), info
# (always 1), and ordinary gauges with awkward names.
METRICS = (
    Metric("gi", ("job", "instance", "zone"), ("job", "instance"), EXACT_INTEGERS, "gauge"),
    Metric("gf", ("job", "instance"), ("job", "instance"), EXACT, "gauge"),
    Metric("hi", ("job", "instance"), ("job", "instance"), EXACT_INTEGERS, "gauge"),
    Metric("ci", ("job", "instance"), ("job", "instance"), EXACT_INTEGERS, "counter"),
    Metric("cf", ("job", "instance", "zone"), ("job", "instance"), EXACT, "counter"),
    Metric("mi", ("job", "instance", "mode"), ("job", "instance", "mode"), EXACT_INTEGERS, "gauge"),
    Metric("mc", ("job", "instance", "mode"), ("job", "instance", "mode"), EXACT, "counter"),
    Metric("ji", ("job", "team"), ("job",), EXACT_INTEGERS, "gauge"),
    Metric("jf", ("job", "team"), ("job",), EXACT, "gauge"),
    Metric("one", ("host",), (), EXACT_INTEGERS, "lone"),
    Metric("u", ("job", "instance"), ("job", "instance"), EXACT, "unit"),
    Metric("odd", ("job", "instance"), ("job", "instance"), EXACT, "odd"),
    Metric("ex", ("job", "instance"), ("job", "instance"), EXACT, "extreme"),
    Metric("ts", ("job", "instance"), ("job", "instance"), EXACT_INTEGERS, "time"),
    Metric('"wéird.name"', ("job", "instance", '"l.a b"'), ("job", "instance"), EXACT_INTEGERS, "awkward"),
    Metric("target_info", ("job", "instance", "version"), ("job", "instance"), EXACT_INTEGERS, "info"),
    Metric("h_bucket", ("job", "instance", "le"), ("job", "instance", "le"), EXACT_INTEGERS, "buckets"),
    Metric("hx_bucket", ("job", "instance", "le"), ("job", "instance", "le"), EXACT_INTEGERS, "buckets"),
)


class Dataset:
    """series: list of (labels, [(t, value)…]). The object also contains the times used to choose expressions and ticks."""

    def __init__(self, series, start, interval, length, whole_seconds):
        self.series = series
        self.start = start
        self.interval = interval
        self.length = length
        self.whole_seconds = whole_seconds

    @property
    def end(self):
        return self.start + self.length

    def with_series(self, series):
        return Dataset(series, self.start, self.interval, self.length, self.whole_seconds)


def make_dataset(rng):
    interval = rng.choice(INTERVALS)
    count = rng.randint(15, 45)
    start = rng.choice((0, 0, 60_000, 1_000_000_000, 1_700_000_000_000))
    jitter = rng.choice(("none", "none", "phase", "random"))
    jobs = ["a", "b"][:rng.choice((1, 2, 2))]
    instances = ["0", "1", "2", "10"][:rng.choice((2, 3, 3, 4))]
    series = []
    for metric in METRICS:
        for labels in _label_sets(rng, metric, jobs, instances):
            times = _times(rng, start, interval, count, jitter)
            values = _VALUES[metric.flavor](rng, len(times), metric.exact == EXACT_INTEGERS)
            if metric.flavor != "buckets":
                samples = list(zip(times, values))
                series += _moved(rng, metric, labels, samples) or [(labels, _ended(rng, samples))]
                continue
            # A bucket may be missing. In one of the metrics, another bucket is duplicated or malformed.
            for bound, counts in zip(BOUNDS, values):
                if rng.random() > 0.02:
                    series.append((dict(labels, le=bound), list(zip(times, counts))))
            if metric.name == "hx_bucket":
                for other in rng.sample(("10.0", "Inf", "no bound"), rng.choice((0, 1, 2))):
                    series.append((dict(labels, le=other), list(zip(times, rng.choice(values)))))
    return Dataset(series, start, interval, interval * count, jitter == "none")


def _label_sets(rng, metric, jobs, instances):
    full = rng.random() < 0.6  # otherwise series are missing, and joins do not always find a match
    name = {"__name__": metric.name.strip('"')}
    if metric.flavor == "lone":
        return [dict(name, host="h")]
    sets = []
    for job in jobs:
        if "instance" not in metric.labels:
            sets.append(dict(name, job=job, team="t" + job))
            continue
        for instance in instances:
            if not full and rng.random() < 0.15:
                continue
            labels = dict(name, job=job, instance=instance)
            if "zone" in metric.labels and rng.random() < 0.7:
                labels["zone"] = rng.choice("xy")
            if metric.flavor == "awkward":
                labels["l.a b"] = rng.choice(("ü", 'q"\\', "plain"))
            if metric.flavor == "info":
                labels["version"] = rng.choice(("v1", "v2"))
            for mode in ("idle", "user", "sys") if "mode" in metric.labels else (None,):
                sets.append(dict(labels, mode=mode) if mode else labels)
    return sets


def _times(rng, start, interval, count, jitter):
    """Returns times on the grid, or off the grid by a fixed or random phase, with missed scrapes, a gap, and a late start."""
    first = rng.choice((0, 0, 0, 0, count // 4))
    phase = rng.randrange(interval) if jitter == "phase" else 0
    times = []
    missed = rng.choice((0, 0, 0.05, 0.2))
    gap = range(0)
    if rng.random() < 0.2:
        at = rng.randrange(count)
        gap = range(at, at + rng.randint(2, 12))
    for i in range(first, count):
        if i in gap or rng.random() < missed:
            continue
        off = rng.randint(-interval // 3, interval // 3) if jitter == "random" else phase
        times.append(start + i * interval + off)
    return times


def _ended(rng, samples):
    """Adds stale markers at the end, or in the middle of a series that returns later."""
    if len(samples) > 4 and rng.random() < 0.25:
        at = rng.randrange(len(samples) // 2, len(samples))
        samples[at] = (samples[at][0], STALE)
        if rng.random() < 0.5:
            del samples[at + 1:]
    return samples


def _moved(rng, metric, labels, samples):
    """Changes the last label of a series partway through: the series ends and another one starts. Returns an empty list if the label does not change."""
    if metric.name not in ("ji", "jf", "target_info") or len(samples) < 4 or rng.random() < 0.6:
        return []
    name, at = metric.labels[-1], rng.randrange(2, len(samples) - 1)
    other = dict(labels, **{name: labels[name] + "2"})
    return [(labels, samples[:at] + [(samples[at][0], STALE)]), (other, samples[at:])]


def _gauge(rng, count, integers):
    kind = rng.choice(("walk", "walk", "noise", "flat", "ramp", "steps"))
    value = float(rng.randint(-10, 30))
    values = []
    for _ in range(count):
        if kind == "walk":
            value += rng.randint(-3, 3) if integers else rng.gauss(0, 3)
        elif kind == "noise":
            value = rng.randint(-10, 20) if integers else rng.uniform(-10, 20)
        elif kind == "ramp":
            value += 2 if integers else 0.1
        elif kind == "steps" and rng.random() < 0.2:
            value = rng.choice((0, 1, 5, -5)) if integers else rng.choice((0.1, 0.3, 100.7))
        values.append(float(value))
    return values


def _counter(rng, count, integers):
    value = float(rng.choice((0, 0, rng.randint(1, 1000))))
    resets = rng.choice((0, 0, 0.03, 0.2))
    step = rng.choice((1, 10, 1000))
    values = []
    for _ in range(count):
        if rng.random() < resets:
            value = float(rng.choice((0, 0, 1)))
        elif rng.random() < 0.85:
            value += rng.randint(0, step) if integers else rng.random() * step
        values.append(value)
    return values


def _unit(rng, count, _):
    return [rng.choice((rng.uniform(-1, 1), 0.0, 1.0, -1.0, -0.0, 0.5)) for _ in range(count)]


def _odd(rng, count, _):
    few = rng.sample((math.nan, math.nan, math.inf, -math.inf, 0.0, 1.0, -2.0, 7.0, 0.3), rng.choice((2, 3, 9)))
    return [rng.choice(few + [rng.gauss(0, 5)]) for _ in range(count)]


def _extreme(rng, count, _):
    few = rng.sample(_EXTREMES[rng.randrange(len(_EXTREMES))], 3)
    return [rng.choice(few) for _ in range(count)]


# Values are similar within a series, because the sum of very different values depends on the order of addition. Subnormal numbers are excluded,
# because Go's own logarithms are wrong for them on x86.
_EXTREMES = ((1.7e308, 1.1e308, 1.0e308, 0.0), (1e300, 3e300, -2e300, 0.0), (1e16, 3e16, 1e16 + 2, -7e15),
             (1e-300, 3e-300, -2e-300, 0.0), (3e-308, -1e-307, 5e-307))


def _unix(rng, count, _):
    """Returns times in seconds: leap days, ends of years, and times before 1970."""
    value = rng.choice((0, 951_782_400, 1_709_164_800 - 30, 1_735_689_599, -86_401, 4_102_444_800, 1_693_526_399))
    return [float(value + i * rng.choice((1, 86_400, 3_601))) for i in range(count)]


def _buckets(rng, count, _):
    """Returns one list of cumulative counts per bound. Each list is a counter with flat regions, a reset, and occasional disorder."""
    weights = [rng.choice((0, 1, 3, 10)) for _ in BOUNDS]
    disorder = rng.random() < 0.1
    totals = [0.0] * len(BOUNDS)
    columns = [[] for _ in BOUNDS]
    for _ in range(count):
        if rng.random() < 0.02:
            totals = [0.0] * len(BOUNDS)
        below = 0
        for i, weight in enumerate(weights):
            below += rng.randint(0, weight)
            totals[i] += below
            columns[i].append(totals[i] - (1 if disorder and totals[i] and rng.random() < 0.1 else 0))
    return columns


def _ones(rng, count, _):
    return [1.0] * count


_VALUES = {"info": _ones, "gauge": _gauge, "lone": _gauge, "awkward": _gauge, "counter": _counter, "unit": _unit, "odd": _odd,
           "extreme": _extreme, "time": _unix, "buckets": _buckets}
