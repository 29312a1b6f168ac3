"""Samples and requests for both servers: random queries from the generator in tests/differential, and requests for lists and errors. The seed
determines everything."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "differential"))
from data import STALE, make_dataset  # noqa: E402
from engines import value_text  # noqa: E402
from grow import EXPERIMENTAL, FEATURES, Grower  # noqa: E402

START = 1_700_000_000_000  # start of the samples in ms; make_dataset uses the same
LONGEST = 45 * 60_000  # Prometheus' head accepts samples at most one hour older than its newest
# Prometheus functions that are behind feature flags and missing from Pitwall, and functions that may choose series freely.
LEFT_OUT = EXPERIMENTAL | {"limitk", "limit_ratio"}
ORDERED = ("sort(", "sort_desc(", "sort_by_label(", "sort_by_label_desc(", "topk (", "bottomk (")


class DataSet:
    """A data set from the generator with series that belong to two training jobs."""

    def __init__(self, seed):
        for attempt in range(10_000):
            self.made = make_dataset(random.Random("%s:%d" % (seed, attempt)))
            if self.made.start == START and self.made.length <= LONGEST and len(self.made.series) < 200:
                break
        else:
            raise ValueError("no data set for the seed %s" % seed)
        self.series = []
        for labels, samples in self.made.series:
            job = "train-" + labels.get("job", "a")
            self.series.append((dict(labels, pitwall_job=job), [(t, value_text(v)) for t, v in samples if v is not None]))
        self.series.sort(key=lambda one: sorted(one[0].items()))


def seconds(millis):
    return "%d.%03d" % divmod(millis, 1000) if millis % 1000 else str(millis // 1000)


def queries(rng, dataset, count):
    """Yields (path, form, ordered) for each feature in turn."""
    made = dataset.made
    focus = [name for name in FEATURES if name not in LEFT_OUT]
    usable = set(FEATURES) - LEFT_OUT
    for i in range(count):
        expression = Grower(rng, made, usable).expression(focus[i % len(focus)]).text()
        if rng.random() < 0.1:
            expression = _elsewhere(rng, made)
        first = made.start + int(made.length * rng.uniform(0.2, 0.9)) // made.interval * made.interval
        if rng.random() < 0.4:
            first += rng.randrange(made.interval)
        form = [["query", expression]]
        if rng.random() < 0.3:
            form.append(["lookback_delta", seconds(rng.choice((made.interval, made.interval * 2, 60_000)))])
        if rng.random() < 0.5:
            form.append(["time", seconds(first)])
            yield "/api/v1/query", form, expression.startswith(ORDERED)
            continue
        step = rng.choice((made.interval, made.interval, made.interval * 5 // 2, 60_000, 1_234))
        form += [["start", seconds(first)], ["end", seconds(first + rng.choice((1, 2, 4, 6)) * step)],
                 ["step", seconds(step)]]
        yield "/api/v1/query_range", form, False


def _elsewhere(rng, made):
    """Returns an expression that reads at another time, because the rule generator does not cover such reads."""
    at = rng.choice(("@ start()", "@ end()", "@ %s" % seconds(made.start + rng.randrange(made.length)), "offset -1m",
                     "offset 1m", "@ end() offset 30s", "@ start() offset -45s"))
    metric = rng.choice(("gi", "gf", "ci", "cf", 'mi{mode="idle"}', "odd", 'gi{pitwall_job="train-a"}'))
    return rng.choice((
        "%(m)s %(at)s", "sum by (job) (%(m)s %(at)s)", "%(m)s - %(m)s %(at)s", "rate(%(m)s[3m] %(at)s)",
        "avg_over_time(%(m)s[2m:20s] %(at)s)", "max_over_time((%(m)s %(at)s)[1m:15s])",
        "timestamp(%(m)s %(at)s)", "sum_over_time(%(m)s[2m] %(at)s) / count_over_time(%(m)s[2m])",
        "avg by (pitwall_job) (deriv(%(m)s[4m] %(at)s))",
        "max_over_time(avg_over_time(%(m)s[1m] %(at)s)[3m:30s] %(at)s)")) % {"m": metric, "at": at}


def matrices(dataset):
    made = dataset.made
    middle = seconds(made.start + made.length // 2)
    for expression in ("gi[2m]", "ci[1m:20s]", "(gi * 2)[1m:20s] offset 30s", 'mi{mode="idle"}[90s] @ end()'):
        yield "/api/v1/query", [["query", expression], ["time", middle]], False


def lists(dataset):
    made = dataset.made
    span = [["start", seconds(made.start)], ["end", seconds(made.end)]]
    yield "/api/v1/labels", span, False
    yield "/api/v1/labels", span + [["match[]", "gi"], ["match[]", "one"]], False
    yield "/api/v1/labels", span + [["match[]", "gi"], ["limit", "2"]], False
    yield "/api/v1/series", span + [["match[]", "gi"], ["match[]", '{__name__=~"h.*",le="0.1"}']], False
    yield "/api/v1/series", span + [["match[]", 'ci{pitwall_job="train-a"}']], False
    for name in ("__name__", "job", "pitwall_job", "mode", "missing", "U__l_2e_a_20_b"):
        yield "/api/v1/label/%s/values" % name, span, False
    yield "/api/v1/label/instance/values", span + [["match[]", 'mi{pitwall_job="train-a"}']], False
    yield "/api/v1/label/job/values", span + [["limit", "1"]], False


def mistakes(dataset):
    """Returns invalid and unusual requests."""
    at = seconds(dataset.made.start + dataset.made.length // 2)
    good = [["start", at], ["end", at], ["step", "15"]]
    for form in ([["query", "1+1"], ["time", "noon"]], [["query", "1+1"], ["limit", "x"]], [["query", "1+1"], ["limit", "-1"]],
                 [["query", "sum("], ["time", at]], [["query", "gi{"], ["time", at]], [["time", at]],
                 [["query", "1+1"], ["timeout", "x"], ["time", at]], [["query", "gi"], ["lookback_delta", "x"], ["time", at]],
                 [["query", '"text"'], ["time", at]], [["query", "1+1"], ["time", at]],
                 [["query", "gi"], ["time", at], ["limit", "1"]], [["query", "gi + on () gi"], ["time", at]],
                 [["query", "rate({__name__=~\"gi|gf\"}[5m])"], ["time", at]], [["query", "time()"], ["time", "1700000000.123"]],
                 [["query", "vector(1e21) or vector(1e-7)"], ["time", at]], [["query", "vector(1e-7)"], ["time", at]],
                 [["query", "vector(-0)"], ["time", at]], [["query", "vector(2e-5)"], ["time", at]], [["query", "vector(NaN)"], ["time", at]],
                 [["query", "vector(123456789012345678901234)"], ["time", at]],
                 [["query", "vector(123456789012345678901)"], ["time", at]], [["query", "1"], ["time", "2023-11-14T22:13:20.5Z"]]):
        yield "/api/v1/query", form, False
    for form in ([["query", "1"], ["start", "5"], ["end", "4"], ["step", "1"]], [["query", "1"]] + good[:2] + [["step", "0"]],
                 [["query", "1"]] + good[:2] + [["step", "x"]], [["query", "1"]] + good[1:],
                 [["query", "1"], ["start", "0"], ["end", "11001"], ["step", "1"]], [["query", '"x"']] + good,
                 [["query", "gi[5m]"]] + good, [["query", "sort(gi)"]] + good, [["query", "quantile(2, gi)"]] + good,
                 [["query", "1"]] + good, [["query", "vector(time())"], ["start", "1700000000.5"], ["end", "1700000002"],
                                           ["step", "0.5"]]):
        yield "/api/v1/query_range", form, False
    yield "/api/v1/series", [], False
    yield "/api/v1/series", [["match[]", "{}"]], False
    yield "/api/v1/series", [["match[]", "rate("]], False
    yield "/api/v1/labels", [["start", "x"]], False


def requests(seed, count):
    """Returns [(data set, [(path, form, ordered)…])…]."""
    out = []
    for i, name in enumerate(("a", "b")):
        dataset = DataSet("%s:%s" % (seed, name))
        rng = random.Random("%s:%s:queries" % (seed, name))
        asked = list(queries(rng, dataset, count // 2)) + list(matrices(dataset)) + list(lists(dataset))
        if i == 0:
            asked += list(mistakes(dataset))
        out.append((name, dataset, asked))
    return out
