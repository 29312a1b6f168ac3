#!/usr/bin/env python3
"""run.py [--cases N] [--seed S] [--only F,F…]: compares Pitwall's engine with Prometheus on random PromQL over random data.

A difference is shrunk and printed as a script for `rules golden`. Each case has its own seed. --only-case repeats a case; use the same --only and
--skip, and an engine that supports the same features. The exit code is 1 if any result differs, or if too many of a feature's cases have no result.
"""
import argparse
import collections
import math
import os
import random
import re
import subprocess
import sys
import time

from case import NOT_YET, Case, ask_both, excuse, judge
from data import make_dataset
from engines import Oracle, Pitwall
from grow import EXPERIMENTAL, FEATURES, Grower
from shrink import Shrinker, script

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
PER_DATASET = 25
REASON = re.compile(r"error: (.*) is not supported yet")
GOOD = ("agree", "both_fail", "ill_conditioned", "tied", "range")
SHOWN = 2  # maximum number shown per kind of difference
SHARE = 0.7  # minimum fraction of a function's cases whose result is neither an error nor empty


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None, help="default: a new seed, which is printed")
    parser.add_argument("--only", default="", help="features to test: functions, operators, and modifiers; see --list")
    parser.add_argument("--skip", default="", help="features to leave out")
    parser.add_argument("--only-case", default="", help="repeat the case SEED:BATCH:NUMBER, as printed for a difference")
    parser.add_argument("--list", action="store_true", help="list the features")
    parser.add_argument("--require-all", action="store_true",
                        help="fail if a feature is unsupported, except Prometheus' features behind flags")
    parser.add_argument("--brief", action="store_true", help="print one line per difference without shrinking it")
    parser.add_argument("--failures", type=int, default=20, help="maximum number of kinds of differences")
    parser.add_argument("--verbose", action="store_true", help="print every case")
    parser.add_argument("--promql-eval", default=os.path.join(REPO, "build", "release", "bin", "promql_eval"))
    parser.add_argument("--stored", action="store_true",
                        help="query the evaluator on stored samples (services/query), not the streaming engine")
    parser.add_argument("--oracle", default="", help="path of the oracle (default: built by tests/oracle/build.sh)")
    return parser.parse_args()


def main():
    options = parse_arguments()
    if options.list:
        print("\n".join(FEATURES))
        return 0
    oracle_path = options.oracle or subprocess.run(
        [os.path.join(REPO, "tests", "oracle", "build.sh")], stdout=subprocess.PIPE, check=True,
        universal_newlines=True).stdout.strip()
    pitwall, oracle = Pitwall(options.promql_eval, options.stored), Oracle(oracle_path)
    try:
        return Run(options, pitwall, oracle).run()
    finally:
        pitwall.close()
        oracle.close()


class Run:
    def __init__(self, options, pitwall, oracle):
        self.options = options
        self.pitwall = pitwall
        self.oracle = oracle
        self.seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
        self.skip = set(options.skip.split(",")) - {""}
        self.focus = [name for name in (options.only.split(",") if options.only else FEATURES) if name not in self.skip]
        unknown = [name for name in self.focus + sorted(self.skip) if name not in FEATURES]
        if unknown:
            sys.exit("run.py: unknown: %s; see --list" % ", ".join(unknown))
        self.usable = set(FEATURES)
        self.verdicts = collections.Counter()
        self.unsupported = collections.Counter()
        self.required = 0  # cases of non-experimental features among them
        self.seen = collections.Counter()  # cases by feature, for features that the engine supports
        self.full = collections.Counter()
        self.failures = 0
        self.kinds = collections.Counter()  # differences by the names in the shrunk expression

    def run(self):
        options = self.options
        began = time.monotonic()
        batches, numbers = range((options.cases + PER_DATASET - 1) // PER_DATASET), None
        if options.only_case:
            self.seed, batch, number = (int(part) for part in options.only_case.split(":"))
            batches, numbers = [batch], [number]
        print("seed %d" % self.seed, flush=True)
        self.usable = self._supported() - self.skip
        for batch in batches:
            count = min(PER_DATASET, options.cases - batch * PER_DATASET) if numbers is None else PER_DATASET
            self._batch(batch, count, numbers)
            if len(self.kinds) >= options.failures:
                print("stopped after %d differences" % self.failures)
                break
        return self._report(time.monotonic() - began)

    def _supported(self):
        """Returns the features that other expressions may contain. Runs one expression per feature to determine them."""
        usable = set()
        rng = random.Random(0)
        dataset = make_dataset(rng)
        bare = Grower(rng, dataset, set())
        self.pitwall.load(dataset)
        for name, feature in FEATURES.items():
            try:
                node = feature.build(bare, 0, 0)
            except IndexError:  # the feature consists of other features
                usable.add(name)
                continue
            self.pitwall.ask(Case(dataset, node, (dataset.end, 1), 60_000, 300_000, 60_000).query())
            answer, = self.pitwall.answers(1)
            if answer.kind != "unsupported" and NOT_YET not in answer.message:
                usable.add(name)
        return usable

    def _cases(self, batch, count):
        rng = random.Random("%d:%d" % (self.seed, batch))
        dataset = make_dataset(rng)
        for i in range(count):
            case_rng = random.Random("%d:%d:%d" % (self.seed, batch, i))
            name = self.focus[(batch * PER_DATASET + i) % len(self.focus)]
            node = Grower(case_rng, dataset, self.usable).expression(name)
            yield _timed(case_rng, dataset, node, name)

    def _batch(self, batch, count, numbers):
        cases = list(self._cases(batch, count))
        if numbers is not None:
            cases = [cases[i] for i in numbers]
        for engine in (self.pitwall, self.oracle):
            engine.load(cases[0].dataset)
            for case in cases:
                engine.ask(case.query())
        ours, theirs = self.pitwall.answers(len(cases)), self.oracle.answers(len(cases))
        for i, (case, mine, wanted) in enumerate(zip(cases, ours, theirs)):
            self._count(case, mine, wanted, "%d:%d:%d" % (self.seed, batch, numbers[i] if numbers else i))

    def _count(self, case, ours, theirs, name):
        verdict = judge(case, ours, theirs)
        if verdict.kind == "differ":
            self.oracle.load(case.dataset)
            verdict.kind = excuse(case, ours, theirs, self.oracle, name) or "differ"
        self.verdicts[verdict.kind] += 1
        if self.options.verbose:
            print("%-12s %s %s  # %s" % (verdict.kind, "full " if verdict.full else "empty", case.node.text(),
                                       theirs.message or verdict.detail))
        if verdict.kind == "unsupported":
            self.required += case.feature not in EXPERIMENTAL
            for reason in dict.fromkeys(REASON.findall(verdict.detail)) or [verdict.detail]:
                self.unsupported[reason] += 1
            return
        used = case.node.all_names() | {case.feature}
        self.seen.update(used)
        if verdict.full:
            self.full.update(used)
        if verdict.kind == "differ":
            self.failures += 1
            self._show(case, ours, theirs, verdict, name)

    def _show(self, case, ours, theirs, verdict, name):
        if self.options.brief:
            self.kinds[(case.feature,)] += 1
            print("DIFFERENCE %s (%s) %s: %s" % (name, case.feature, case.node.text(), verdict.detail), flush=True)
            return

        def same(other, mine, wanted, again):
            return again.kind == "differ" and (mine.kind, wanted.kind) == (ours.kind, theirs.kind) and not \
                excuse(other, mine, wanted, self.oracle, name)
        small = Shrinker(self.pitwall, self.oracle, same).shrink(case)
        mine, wanted = ask_both(small, self.pitwall, self.oracle)
        again = judge(small, mine, wanted)
        if again.kind == "differ":
            case, ours, theirs, verdict = small, mine, wanted, again
        kind = ("order",) if "another order" in verdict.detail else tuple(sorted(case.node.all_names() or {"a selector"}))
        self.kinds[kind] += 1
        if self.kinds[kind] <= SHOWN:
            print("\nDIFFERENCE %s (%s)\n%s\n" % (name, case.feature, script(case, ours, theirs, verdict)), flush=True)

    def _report(self, seconds):
        options = self.options
        names = [n for n in FEATURES if self.seen[n] and (n in self.focus or not options.only)]
        shares = sorted((100 * self.full[n] // self.seen[n], n) for n in names)
        print("fraction of cases with a result: " + ", ".join("%s %d%% of %d" % (n, s, self.seen[n]) for s, n in shares))
        thin, hopeless = [], []
        for name in names:
            short = SHARE * self.seen[name] - self.full[name]
            if short > 0:
                thin.append("%s %d of %d" % (name, self.full[name], self.seen[name]))
            if short > 3 * math.sqrt(self.seen[name]) * 0.46:  # three times the standard deviation
                hopeless.append(name)
        if self.required:
            print("unsupported and not experimental in Prometheus: %d cases" % self.required)
        for reason, count in self.unsupported.most_common():
            print("unsupported: %4d  %s" % (count, reason))
        if thin:
            print("fewer than %d%% of the cases have a result: %s" % (100 * SHARE, ", ".join(thin)))
        print("cases %d in %.0f s: %s" % (sum(self.verdicts.values()), seconds,
                                         ", ".join("%d %s" % (n, kind) for kind, n in self.verdicts.most_common())))
        for names, count in self.kinds.most_common():
            print("differences: %4d  %s" % (count, ", ".join(names)))
        bad = self.failures + len(hopeless)
        if options.require_all:
            bad += self.required
        print("counts: %d %d" % (sum(self.verdicts[kind] for kind in GOOD), bad))
        chosen = "".join(" --%s %s" % pair for pair in (("only", options.only), ("skip", options.skip)) if pair[1])
        print("repeat: %s --seed %d --cases %d%s" % (os.path.relpath(__file__, REPO), self.seed, options.cases, chosen))
        return 1 if bad else 0


def _timed(rng, dataset, node, feature):
    """Returns ticks in the time range of the data, mostly on the sample grid."""
    interval = dataset.interval
    step = rng.choice((interval, interval, interval * 2, interval * 5 // 2, max(1000, interval * 7 // 10), 60_000))
    count = rng.choice((1, 1, 2, 3, 5, 8, 8, 30))
    first = dataset.start + int(dataset.length * rng.uniform(0.2 if count > 8 else 0.3, 0.9)) // interval * interval
    if not rng.random() < 0.6:
        first += rng.randrange(interval)
    lookback = rng.choice((300_000, 300_000, 300_000, interval * 2, interval, interval * 3 + 1))
    return Case(dataset, node, (first, count), step, lookback, rng.choice((60_000, 60_000, interval)), feature)


if __name__ == "__main__":
    sys.exit(main())
