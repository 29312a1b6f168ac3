#!/usr/bin/env python3
"""Tests the loss rules over whole training runs: no rule fires on healthy, noisy curves, and only the intended rule fires on each faulty curve.
Curves are a mean plus Gaussian noise (relative). The seed is printed and may be passed as an argument.

loss_curves_test.py BINARY [SEED]
"""
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import REPO, write  # noqa: E402

BINARY = None
SEED = 20260101
PACK = os.path.join(REPO, "rules", "packs", "debugger-tensor.yaml")
TRAIN = 'train_loss{rank="0",mode="train"}'
EVAL = 'train_loss{rank="0",mode="eval"}'
STEP_RULES = ("LossNotDecreasing", "LossIncreasing", "PoorWeightInitialization")
TIME_RULES = ("Overfit", "Overtraining")


def falling(first, last, tau):
    return lambda step: last + (first - last) * math.exp(-step / tau)


def notation(values):
    return " ".join("_" if value is None else "%.6g" % value for value in values)


class LossCurves(unittest.TestCase):
    def fired(self, clock, series, rules, times):
        """Returns {rule: first time at which it fires}. If no rule should fire, a failed test lists every rule that fired."""
        lines = ["rule_files: ['%s']" % PACK, "evaluation_interval: 1s", "tests:", "- name: curve", clock, "  input_series:"]
        lines += ["  - {series: '%s', values: '%s'}" % (name, notation(values)) for name, values in series.items()]
        lines.append("  alert_rule_test:")
        unit = "" if "step" in clock else "s"
        lines += ["  - {eval_time: %d%s, alertname: %s}" % (t, unit, rule) for t in times for rule in rules]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "curve_test.yaml")
            write(path, "\n".join(lines) + "\n")
            run = subprocess.run([BINARY, "rules", "test", path], capture_output=True, text=True, check=False)
        self.assertRegex(run.stdout, r"(?m)^\d+ passed, \d+ failed$", run.stderr)
        found = {}
        for rule, at in re.findall(r"alert (\w+) at (?:step )?(\S+):", run.stdout):
            found.setdefault(rule, at)
        return found

    def on_steps(self, mean, noise, steps=4000, every=1, correlation=0.0, ranks=1):
        series = {}
        for rank in range(ranks):
            deviation, values = 0.0, []
            for step in range(steps):
                deviation = correlation * deviation + math.sqrt(1 - correlation**2) * self.random.gauss(0, noise)
                values.append(mean(step) * (1 + deviation) if step % every == 0 else None)
            series[TRAIN.replace('"0"', '"%d"' % rank)] = values
        return self.fired("  clock: step", series, STEP_RULES, range(0, steps, 50))

    def on_time(self, train, validation, noise, validation_noise, steps=2000, every=100, batches=1, interval="1s"):
        """Runs one step per interval, and an evaluation of a few batches every `every` steps."""
        trained, evaluated = [], []
        for step in range(steps):
            trained.append(train(step) * (1 + self.random.gauss(0, noise)))
            evaluated.append(None)
            for _ in range(batches if (step + 1) % every == 0 else 0):
                trained.append(None)
                evaluated.append(validation(step) * (1 + self.random.gauss(0, validation_noise)))
        seconds = len(trained) if interval == "1s" else len(trained) * int(interval[:-2]) // 1000
        return self.fired("  interval: " + interval, {TRAIN: trained, EVAL: evaluated}, TIME_RULES,
                          range(0, seconds + 1, 20 if interval == "1s" else 1))

    def setUp(self):
        self.random = random.Random("%d %s" % (SEED, self.id()))

    def test_healthy_training_fires_no_rule(self):
        for name, arguments in {
                "converges early": dict(mean=falling(2.3, 0.1, 60), noise=0.15),
                "slow": dict(mean=falling(10.8, 2.5, 1500), noise=0.05),
                "fine-tuning": dict(mean=falling(1.5, 1.2, 2000), noise=0.15),
                "warm-up of 500 steps": dict(mean=lambda step: falling(2.3, 0.3, 400)(max(0, step - 500)), noise=0.1),
                "half of it noise": dict(mean=falling(2.3, 0.01, 150), noise=0.5),
                "smoothed noise": dict(mean=falling(2.3, 0.3, 300), noise=0.15, correlation=0.95),
                "logged each 100 steps": dict(mean=falling(2.3, 0.3, 3000), noise=0.1, steps=20000, every=100),
                "a spike of 50 steps": dict(mean=lambda step: falling(2.3, 0.3, 300)(step) * (3 if 2000 <= step < 2050 else 1),
                                            noise=0.1),
        }.items():
            with self.subTest(name, seed=SEED):
                self.assertEqual(self.on_steps(**arguments), {})

    def test_flat_loss_fires_only_its_rule(self):
        for name, arguments in {
                "from the beginning": dict(mean=lambda step: 2.303, noise=0.1, steps=2000),
                "after a first fall": dict(mean=falling(2.45, 2.303, 30), noise=0.05, steps=2500),
                "on four ranks": dict(mean=lambda step: 2.303, noise=0.05, steps=2000, ranks=4),
                "logged each 100 steps": dict(mean=lambda step: 2.303, noise=0.05, steps=20000, every=100),
        }.items():
            with self.subTest(name, seed=SEED):
                self.assertEqual(list(self.on_steps(**arguments)), ["LossNotDecreasing"])

    def test_rising_loss_fires_only_its_rule(self):
        fall = falling(2.3, 0.5, 300)
        found = self.on_steps(lambda step: fall(step) if step < 2000 else fall(2000) * (1 + (step - 2000) / 2000), 0.1)
        self.assertEqual(list(found), ["LossIncreasing"])
        self.assertGreater(int(found["LossIncreasing"]), 2000)

    def test_healthy_validation_fires_no_rule(self):
        for interval in ("1s", "5ms"):  # evaluations every hundred seconds, or two per second
            for name, arguments in {
                    "no gap": dict(train=falling(2.5, 0.3, 400), validation=falling(2.5, 0.3, 400), noise=0.15, validation_noise=0.02),
                    "a gap of 20%": dict(train=falling(2.5, 0.3, 400), validation=falling(2.5, 0.36, 400), noise=0.15,
                                          validation_noise=0.03),
                    "half of it noise": dict(train=falling(2.5, 0.01, 200), validation=falling(2.5, 0.011, 200), noise=0.5,
                                             validation_noise=0.2),
                    "a plateau": dict(train=falling(2.5, 0.3, 250), validation=falling(2.5, 0.33, 250), noise=0.15,
                                      validation_noise=0.03, every=50, batches=4),
            }.items():
                with self.subTest(name, interval=interval, seed=SEED):
                    self.assertEqual(self.on_time(interval=interval, **arguments), {})

    def test_overfitting_fires_only_its_rule(self):
        for interval in ("1s", "5ms"):
            with self.subTest(interval=interval, seed=SEED):
                found = self.on_time(falling(2.5, 0.01, 200), lambda step: falling(2.5, 0.8, 150)(step) + step * 0.0005, 0.2, 0.03,
                                     interval=interval)
                self.assertEqual(list(found), ["Overfit"])

    def test_overtraining_fires_only_its_rule(self):
        for interval in ("1s", "10ms"):
            with self.subTest(interval=interval, seed=SEED):
                found = self.on_time(falling(2.5, 0.3, 80), falling(2.5, 0.31, 80), 0.1, 0.01, steps=3000, interval=interval)
                self.assertEqual(list(found), ["Overtraining"])


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        SEED = int(sys.argv.pop(1))
    print("seed", SEED, file=sys.stderr)
    unittest.main()
