"""Results of healthy.py: the two halves, the counts, and their bounds."""
import glob
import json
import math
import os

import recordings
from healthy import issues_of

HALVES = ("choose", "report")


def half(seed):
    """Returns the half that a seed belongs to, as fixed before the first run (docs/decisions/0037-measure-false-alarms-in-healthy-runs.md)."""
    return HALVES[(seed + 1) % 2]


def bound(events):
    """Returns the upper bound of a one-sided 95% confidence interval for the mean of a Poisson count, given that `events` were counted."""
    low, high = 0.0, 10.0 + 3 * events
    for _ in range(60):
        middle = (low + high) / 2
        chance = sum(math.exp(-middle + n * math.log(middle) - math.lgamma(n + 1)) for n in range(events + 1))
        low, high = (middle, high) if chance > 0.05 else (low, middle)
    return high


def load(folder):
    """Returns the results, ordered by kind and seed."""
    found = []
    for path in glob.glob(os.path.join(folder, "*.json")):
        with open(path) as text:
            result = json.load(text)
        if not result["errors"]:
            found.append(dict(result, path=path[:-5], half=half(result["seed"])))
    return sorted(found, key=lambda result: (result["kind"], result["seed"]))


def counts(issues, of):
    """Returns {alert: number of issues} for issues of this class."""
    seen = {}
    for issue in issues:
        if issue["of"] == of:
            seen[issue["alert"]] = seen.get(issue["alert"], 0) + 1
    return dict(sorted(seen.items()))


def replayed(pitwall, path, which, until=1e12):
    return issues_of(recordings.replay(pitwall, path, which, until))
