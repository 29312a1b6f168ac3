#!/usr/bin/env python3
"""compare.py --eval PROGRAM [--recorded FOLDER]: sends the requests recorded in FOLDER (default: recorded, next to this file) to Pitwall's query API
(promapi_eval), and compares the responses with the responses from a real Prometheus.

NAME.series contains the samples, and NAME.jsonl one request per line with its response: {method, path, form, code, body}, plus ordered if the order
of an instant vector matters. The exit code is 1 if a response differs, even if only in its last digits, and decision 0046 does not explain the
difference.
"""
import argparse
import collections
import glob
import json
import math
import os
import re
import subprocess
import sys
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
RELATIVE = 1e-9

# Differences that decision 0046 explains: a pattern in the query or in Prometheus' response, and the reason.
REASONS = (
    ("answer", r"PromQL info: input to histogram_quantile needed to be fixed", "monotonicity is fixed without a word"),
    ("answer", r"PromQL warning: bucket label", "malformed bounds are left out without a word"),
    ("query", r"timestamp\(.* @ .* offset ", "Prometheus forgets the offset beside @ in timestamp()"),
    ("query", r"quantile\w*( (by|without) \([^)]*\))? ?\((min_of|max_of|time|scalar|minute|hour|year|month|day_)",
     "only a constant φ is looked at"),
    ("query", r"(rate|increase)\(\(?[^()]*\)?\[[^\]]*:", "whether a subquery has two steps with results is not looked at"),
)
# Explained differences for responses that differ in their last digits.
DIGITS = (
    (r"\b(a?(sin|cos|tan)h?|exp|ln|log2|log10|atan2)\b|\^", "glibc rounds other than Go's own mathematics"),
    (r"\bstd(dev|var)\b", "the deviation over elements is not updated element by element"),
    (r"\bpredict_linear\b", "the line is computed from the first sample, not from the tick"),
)


class Differs(Exception):
    """Raised if two responses differ. The message contains the location and the difference."""


class Comparison:
    """A response from Pitwall and the recorded response."""

    def __init__(self, row):
        self.row = row
        self.exact = True

    def run(self, code, body):
        wanted = self.row["body"]
        if code != self.row["code"]:
            raise Differs("code %d, expected %d: %s" % (code, self.row["code"], json.dumps(body)[:300]))
        for key in ("status", "errorType"):
            self._same(key, body.get(key), wanted.get(key))
        error = wanted.get("error", "")
        # Pitwall has its own messages for parse and execution errors.
        if not ('parameter "query"' in error or "parse error" in error or wanted.get("errorType") == "execution"):
            self._same("error", body.get("error"), wanted.get("error"))
        for key in ("warnings", "infos"):
            self._same(key, sorted(body.get(key, [])), sorted(wanted.get(key, [])))
        if "data" in wanted:
            self._data(body["data"], wanted["data"])

    def _same(self, what, ours, wanted):
        if ours != wanted:
            raise Differs("%s %r, expected %r" % (what, ours, wanted))

    def _data(self, ours, wanted):
        if not isinstance(wanted, dict) or "resultType" not in wanted:
            if self.row["path"].endswith("/series"):  # the order does not matter
                ours, wanted = (sorted(list_, key=lambda one: sorted(one.items())) for list_ in (ours, wanted))
            self._same("data", ours, wanted)
            return
        self._same("type", ours["resultType"], wanted["resultType"])
        mine, theirs = ours["result"], wanted["result"]
        if wanted["resultType"] == "string":
            self._same("text", mine, theirs)
            return
        if wanted["resultType"] == "scalar":
            self._point(mine, theirs)
            return
        if wanted["resultType"] == "vector" and not self.row.get("ordered"):
            mine, theirs = (sorted(list_, key=lambda one: sorted(one["metric"].items())) for list_ in (mine, theirs))
        self._same("elements", [one["metric"] for one in mine], [one["metric"] for one in theirs])
        for one, other in zip(mine, theirs):
            points, expected = ([x["value"]] if "value" in x else x["values"] for x in (one, other))
            self._same("times of %s" % other["metric"], [t for t, _ in points], [t for t, _ in expected])
            for point, other_point in zip(points, expected):
                self._point(point, other_point)

    def _point(self, ours, wanted):
        if ours == wanted:
            return
        a, b = float(ours[1]), float(wanted[1])
        if ours[0] != wanted[0] or not math.isclose(a, b, rel_tol=RELATIVE):
            raise Differs("point %s, expected %s" % (ours, wanted))
        self.exact = False


def reason_of(row):
    text = json.dumps(row["body"], ensure_ascii=False)
    query = dict(map(tuple, row["form"])).get("query", "")
    for where, part, reason in REASONS:
        if re.search(part, text if where == "answer" else query):
            return reason
    return None


def reason_of_digits(row):
    query = dict(map(tuple, row["form"])).get("query", "")
    return next((reason for part, reason in DIGITS if re.search(part, query)), None)


def line_of(row):
    form = urllib.parse.urlencode([tuple(pair) for pair in row["form"]])
    if row["method"] == "GET":
        return "GET\t%s?%s\t\n" % (urllib.parse.quote(row["path"]), form)
    return "POST\t%s\t%s\n" % (urllib.parse.quote(row["path"]), form)


def answers(program, name, rows):
    with open(name + ".series", encoding="utf-8") as series:
        lines = series.readlines()
    text = "series\t%d\n" % len(lines) + "".join(lines) + "".join(line_of(row) for row in rows)
    done = subprocess.run([program], input=text.encode(), stdout=subprocess.PIPE, check=True)
    got = done.stdout.decode().split("\n")[:-1]
    if len(got) != len(rows):
        raise ValueError("%d responses to %d requests" % (len(got), len(rows)))
    for line in got:
        code, _, body = line.partition("\t")
        yield int(code), json.loads(body)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", required=True)
    parser.add_argument("--recorded", default=os.path.join(HERE, "recorded"))
    parser.add_argument("--verbose", action="store_true", help="also show differences in the last digits")
    options = parser.parse_args()
    counts, explained, digits, failed = collections.Counter(), collections.Counter(), collections.Counter(), 0
    for path in sorted(glob.glob(os.path.join(options.recorded, "*.jsonl"))):
        with open(path, encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        for row, (code, body) in zip(rows, answers(options.eval, path[:-len(".jsonl")], rows)):
            counts["asked"] += 1
            counts["empty"] += row["body"].get("data", {}) in ([], {}) or (
                isinstance(row["body"].get("data"), dict) and row["body"]["data"].get("result") == [])
            comparison = Comparison(row)
            try:
                comparison.run(code, body)
            except Differs as differs:
                reason = reason_of(row)
                if reason:
                    explained[reason] += 1
                    continue
                failed += 1
                print("DIFFERENCE %s %s\n    %s" % (row["path"], json.dumps(row["form"], ensure_ascii=False), differs))
                continue
            counts["same" if comparison.exact else "digits"] += 1
            if not comparison.exact:
                reason = reason_of_digits(row)
                digits[reason] += 1
                failed += reason is None
                if options.verbose or reason is None:
                    print("last digits: %s" % json.dumps(row["form"], ensure_ascii=False))
    print("%d requests (%d with an empty response): %d with the same JSON, %d with different last digits, %d explained, %d differ" % (
        counts["asked"], counts["empty"], counts["same"], counts["digits"], sum(explained.values()), failed))
    for what, reasons in (("explained", explained), ("last digits", digits)):
        for reason, count in reasons.items():
            print("%s: %4d  %s" % (what, count, reason))
    return 0 if counts["asked"] and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
