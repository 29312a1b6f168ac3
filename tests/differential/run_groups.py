#!/usr/bin/env python3
"""run_groups.py [--groups N] [--seed S] [--replay FILE]: compares Pitwall's engine with Prometheus' own rules.Group, tick by tick, on random rule
groups over random flapping data, with reloads and restores.

A difference is shrunk and written to a file that --replay can rerun. Each case has its own seed, and --only-case repeats a case. The exit code is 1
if anything differs, or if too few events occurred in the groups.
"""
import argparse
import json
import os
import queue
import random
import subprocess
import sys
import threading
import time

from group_case import oracle_request, parse_case, pitwall_request
from group_compare import Counts, difference
from group_grow import Grower
from group_shrink import GroupShrinker

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
TIMEOUT = 60  # seconds for one response
AHEAD = 8  # maximum number of cases that wait for a response
# Minimum number of groups, out of 100, in which each event must occur at least once.
SHARES = {"pending": 60, "fired": 70, "resolved": 50, "kept": 30, "limited": 6, "failed": 14, "recorded": 70, "marked": 70,
          "reloaded": 30, "restored": 20, "ended by a reload": 5, "refired": 30}

# Adaptations of the oracle to Pitwall's documented behavior (docs/promql.md), each with the message that reports how often it occurred.
BY_DESIGN = {"kept_over_limit": "alerts kept at %d ticks of a rule over its limit",
             "kept_at_reload": "%d alerts of unchanged rules kept at a reload",
             "conflicts": "no failure at %d samples that another rule had recorded otherwise"}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None, help="seed (default: a new seed, which is printed)")
    parser.add_argument("--only-case", default="", help="repeat the case SEED:NUMBER, as printed for a difference")
    parser.add_argument("--replay", default="", help="file written by this program")
    parser.add_argument("--failures", type=int, default=5, help="maximum number of differences")
    parser.add_argument("--brief", action="store_true", help="print one line per difference without shrinking it")
    parser.add_argument("--out", default=os.path.join(REPO, "build", "groups"), help="directory for failed cases")
    parser.add_argument("--group-eval", default=os.path.join(REPO, "build", "release", "bin", "group_eval"))
    parser.add_argument("--oracle", default="", help="path of the oracle (default: built by tests/oracle/build.sh)")
    return parser.parse_args()


class Child:
    """An engine that responds to each request with one line of JSON, in order. If the engine dies or hangs, the current request fails and a new
    engine handles the next ones."""

    def __init__(self, command):
        self._command = command
        self._pending = []
        self._start()

    def _start(self):
        self._child = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1 << 20)
        self._lines = queue.Queue()
        threading.Thread(target=self._read, args=(self._child.stdout, self._lines), daemon=True).start()

    @staticmethod
    def _read(stream, lines):
        for line in stream:
            lines.put(line)
        lines.put(b"")

    def ask(self, request):
        self._pending.append(request)
        self._send(request)

    def _send(self, request):
        try:
            self._child.stdin.write(request.encode("utf-8"))
            self._child.stdin.flush()
        except OSError:
            pass  # answer() reports it

    def answer(self):
        try:
            line = self._lines.get(timeout=TIMEOUT)
        except queue.Empty:
            line = None
        del self._pending[0]
        if line and line.endswith(b"\n"):
            return json.loads(line)
        self.close()
        self._start()
        for request in self._pending:
            self._send(request)
        return {"error": "it died" if line is not None else "no answer for %d s" % TIMEOUT}

    def close(self):
        self._child.kill()
        self._child.wait()


class Engines:
    def __init__(self, options):
        oracle = options.oracle or subprocess.run(
            [os.path.join(REPO, "tests", "oracle", "build.sh")], stdout=subprocess.PIPE, check=True,
            universal_newlines=True).stdout.strip()
        self.ours, self.theirs = Child([options.group_eval]), Child([oracle])

    def ask(self, case):
        self.ours.ask(pitwall_request(case))
        self.theirs.ask(oracle_request(case))

    def answers(self):
        return self.ours.answer(), self.theirs.answer()

    def difference(self, case):
        self.ask(case)
        return difference(case, *self.answers(), Counts())

    def close(self):
        self.ours.close()
        self.theirs.close()


def main():
    options = parse_arguments()
    engines = Engines(options)
    try:
        if options.replay:
            with open(options.replay, encoding="utf-8") as file:
                mismatch = engines.difference(parse_case(file.read()))
            print("DIFFERENCE " + mismatch if mismatch else "no difference")
            return 1 if mismatch else 0
        return Run(options, engines).run()
    finally:
        engines.close()


class Run:
    def __init__(self, options, engines):
        self.options = options
        self.engines = engines
        self.seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
        self.totals = dict.fromkeys(Counts.NAMES, 0)
        self.groups = self.cases = self.failures = 0
        self.by_design = dict.fromkeys(BY_DESIGN, 0)
        self.bad_groups = 0

    def run(self):
        began = time.monotonic()
        numbers = None
        if self.options.only_case:
            self.seed, number = (int(part) for part in self.options.only_case.split(":"))
            numbers = [number]
        print("seed %d" % self.seed, flush=True)
        asked, number = [], 0
        while True:
            more = number < len(numbers) if numbers else self.groups < self.options.groups
            if more and self.failures < self.options.failures:
                name = "%d:%d" % (self.seed, numbers[number] if numbers else number)
                number += 1
                case = Grower(random.Random(name)).case()
                self.groups += _group_count(case)
                self.engines.ask(case)
                asked.append((name, case))
                if len(asked) < AHEAD:
                    continue
            if not asked:
                break
            self._judge(*asked.pop(0), *self.engines.answers(), asked)
        return self._report(time.monotonic() - began, numbers is None)

    def _judge(self, name, case, ours, theirs, asked):
        self.cases += 1
        counts = Counts()
        mismatch = difference(case, ours, theirs, counts)
        for what in BY_DESIGN:
            self.by_design[what] += theirs.get(what, 0)
        for kind, groups in counts.groups.items():
            self.totals[kind] += len(groups)
        if case.restores:
            self.totals["restored"] += _group_count(case)
        if not mismatch:
            return
        self.failures += 1
        self.bad_groups += _group_count(case)
        if self.options.brief:
            print("DIFFERENCE %s %s" % (name, mismatch), flush=True)
            return
        # Shrinking sends its own queries, so pending cases are resent afterwards.
        for _ in asked:
            self.engines.answers()
        small = GroupShrinker(self.engines).shrink(case)
        for _, waiting in asked:
            self.engines.ask(waiting)
        os.makedirs(self.options.out, exist_ok=True)
        path = os.path.join(self.options.out, name.replace(":", "_") + ".txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(small.text())
        print("\nDIFFERENCE %s %s\n%srepeat: %s --replay %s\n" % (
            name, mismatch, small.text() if len(small.text()) < 6000 else "", os.path.relpath(__file__, REPO),
            os.path.relpath(path, REPO)), flush=True)

    def _report(self, seconds, whole):
        print("groups %d in %d cases, %.0f s: %s" % (
            self.groups, self.cases, seconds, ", ".join("%d %s" % (n, kind) for kind, n in self.totals.items())))
        print("different from Prometheus by design: " + "; ".join(text % self.by_design[n] for n, text in BY_DESIGN.items()))
        thin = ["%s in %d of 100 groups, not %d" % (kind, 100 * self.totals[kind] // self.groups, share)
                for kind, share in SHARES.items() if 100 * self.totals[kind] < share * self.groups] if whole else []
        if thin:
            print("too few events of these kinds: " + "; ".join(thin))
        bad = self.bad_groups + len(thin)
        print("counts: %d %d" % (self.groups - self.bad_groups, bad))
        print("repeat: %s --seed %d --groups %d" % (os.path.relpath(__file__, REPO), self.seed, self.options.groups))
        return 1 if bad else 0


def _group_count(case):
    return len({(name, line) for version in case.versions for name, text in version.files if not name.startswith("zzz")
                for line in text.splitlines() if line.startswith("- name: ")})


if __name__ == "__main__":
    sys.exit(main())
