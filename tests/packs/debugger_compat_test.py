#!/usr/bin/env python3
"""debugger_compat_test.py PITWALL [RULES…]: changes each parameter of the tensor, loss, and XGBoost rules in pack:debugger-compat from its default,
one at a time.

A case consists of a job with the defaults (or the values that the case needs), the same job with one parameter overridden, and the second at which
the rule must first fire in each job (None: never). The seconds are derived by hand from the few numbers in the case; a step takes a second. All cases
run in a single backtest. A changed text parameter is a different regular expression, and a changed length in samples is a different window, so
variants of the rules evaluate such jobs. Each parameter of these rules must have a case. Ends with "N passed, N failed".
"""
import json
import os
import subprocess
import sys
import tempfile

BASE = 1767225600  # 2026-01-01
PREFIX = {"t": "debugger-compat-tensor/tensors/", "x": "debugger-compat-tensor/trees/", "l": "debugger-compat-loss/train loss/", "r": "debugger-compat-loss/rounds/",
          "s": "debugger-compat-loss/stalled/", "p": "debugger-compat/slices/"}


def tensor(metric, values, name="a", collection="weights", **more):
    return ("train_tensor_" + metric, dict(more, tensor=name, collection=collection), values, "train")


def loss(values, mode="train"):
    return ("train_loss", {}, values, mode)


def two(metric, first, second, **labels):
    """Returns two tensors or collections. The default matches the first one, and only the other regular expression matches the second one."""
    return [tensor(metric, first[1], **dict(labels, **first[0])), tensor(metric, second[1], **dict(labels, **second[0]))]


def units(metric, name, at, below_1, below_5):
    return [tensor(metric, {at: n}, name, "c", le=le) for le, n in (("0.01", below_1), ("0.05", below_5), ("+Inf", 100))]


def activations(rule, metric, name, other):
    return [
        # 60 of 100 units are below 5%, and no unit is below 1%.
        (rule, {}, "threshold_inactivity", 5, units(metric, name, 3, 0, 60), None, 3),
        (rule, {}, "threshold_layer", 70, units(metric, name, 3, 60, 60) + units(metric, name + "_1", 6, 80, 80), 3, 6),
        (rule, {}, "tensor_regex", ".*" + other + ".*", units(metric, name, 3, 60, 60) + units(metric, other, 6, 60, 60), 3, 6),
    ]


def names_and_collections(rule, metric, bad, good, base=None):
    """Returns series in which tensor a in collection weights is bad at second 3, and tensor b in biases at second 6."""
    series = [tensor(metric, {0: good, 3: bad}, "a", "weights"), tensor(metric, {0: good, 6: bad}, "b", "biases")]
    return [(rule, base or {}, "tensor_regex", "b|c", series, 3, 6), (rule, base or {}, "collection_names", "bias.*", series, 3, 6)]


def constant(value, until, since=0):
    return {step: value for step in range(since, until + 1)}


def changed_weights(update, previous, **where):
    return [tensor("update_abs_mean", update, **where), tensor("previous_abs_mean", previous, **where)]


def runs(mean, std=1.0, **where):
    """Returns series in which the other run has a mean of 1 and a standard deviation of 1."""
    at = dict.fromkeys(mean, 1)
    series = [tensor("mean", mean, **where), tensor("std", dict.fromkeys(mean, std), **where)]
    return series + [("baseline_" + m, dict(l, run="x"), at, mode) for m, l, _, mode in series]


def labels_of(cls, count, wrong):
    return [("train_label_samples_total", {"class": cls}, count, "train"), ("train_label_mispredictions_total", {"class": cls}, wrong, "train")]


def images(count, mean, name="a"):
    return [("train_input_images", {"tensor": name}, count, "train"), ("train_input_channel_mean", {"tensor": name, "channel": "0"}, mean, "train")]


def tokens(token, share, name="a"):
    return [("train_input_token_ratio", {"tensor": name, "token": token}, share, "train")]


def confusion(at, **cells):
    return [("train_confusion_samples", {"label": cell[0], "prediction": cell[1]}, {at: n}, "train") for cell, n in cells.items()]


def importance(values, kind="weight", at=2):
    return [("train_feature_importance_ratio", {"type": kind, "feature": "f%d" % i}, {at: v}, "train") for i, v in enumerate(values)]


NONFINITE = [tensor("nan_ratio", {0: 0, 3: 0, 6: 0.1}), tensor("nonfinite_ratio", {0: 0, 3: 0.1, 6: 0.1})]
TWO_NONFINITE = [tensor(m, v, n, c) for m in ("nan_ratio", "nonfinite_ratio") for v, n, c in (({0: 0, 3: 1}, "a", "weights"), ({0: 0, 6: 1}, "b", "biases"))]
GRADIENTS = two("abs_mean", ({"name": "a", "collection": "gradients"}, {0: 1, 3: 0}), ({"name": "b", "collection": "momenta"}, {0: 1, 6: 0}))
STEP = ("train_step", {}, constant(1, 60), "train")
# Training losses are logged at 0 … 9, 20 … 29, and 40 … 49, and evaluation losses at 10 … 12, 30 … 32, and 50 … 52. Evaluation losses are 30% higher
# in the first two rounds, and 70% higher in the third.
ROUNDS = [loss({s: 1 for b in (0, 20, 40) for s in range(b, b + 10)}), loss({b + s: v for b, v in ((10, 1.3), (30, 1.3), (50, 1.7)) for s in range(3)}, "eval"),
          ("train_step", {}, {s: s for s in range(60)}, "train")]
UTIL = ("hw_gpu_utilization_ratio", {"node": "n", "gpu": "0"}, {**constant(0.9, 1000), **constant(0.1, 1600, 1001)}, None)
MEMORY = [("hw_gpu_memory_usage_bytes", {"node": "n", "gpu": "0"}, {**constant(10, 1100), **constant(50, 1300, 1101)}, None),
          ("hw_gpu_memory_limit_bytes", {"node": "n", "gpu": "0"}, constant(100, 1300), None)]

# Cases: (rule, overrides in both jobs, parameter, its value in the second job, series, first seconds).
CASES = [
    ("tExplodingTensor", {}, "only_nan", 1, NONFINITE, 3, 6),
    ("tExplodingTensor", {}, "tensor_regex", "b", TWO_NONFINITE, 3, 6),
    ("tExplodingTensor", {}, "collection_names", "biases", TWO_NONFINITE, 3, 6),
    ("tVanishingGradient", {}, "threshold", 1e-9, [tensor("abs_mean", {3: 5e-8, 6: 5e-10}, collection="gradients")], 3, 6),
    ("tVanishingGradient", {}, "collection_names", "momenta", GRADIENTS, 3, 6),
    ("tVanishingGradient", {"collection_names": ".*"}, "tensor_regex", "b", GRADIENTS, 3, 6),
    *activations("tDeadRelu", "unit_activity_bucket", "x.relu_output_0", "gelu"),
    *activations("tSaturatedActivation", "unit_inside_bucket", "x.tanh_input_0", "hardtanh"),
    ("tSaturatedActivation", {}, "collection_names", "d", units("unit_inside_bucket", "x.tanh_input_0", 3, 60, 60), 3, None),
    ("tPoorWeightInitialization", {}, "activation_inputs_regex", ".*tanh.*",
     [STEP] + [tensor("variance", {at: v}, name) for name, at, v in (("a.relu_input_0", 2, 20), ("b.relu_input_0", 2, 1), ("a.tanh", 4, 20), ("b.tanh", 4, 1))], 2, 4),
    ("tPoorWeightInitialization", {}, "threshold", 30, [STEP, tensor("variance", {2: 20, 4: 40}, "a.relu_input_0"), tensor("variance", {2: 1, 4: 1}, "b.relu_input_0")], 2, 4),
    ("tPoorWeightInitialization", {}, "distribution_range", 1e-4,
     [STEP, tensor("p95", {2: 5e-4, 4: 5e-5}, collection="gradients"), tensor("p5", {2: 0, 4: 0}, collection="gradients")], 2, 4),
    ("tPoorWeightInitialization", {}, "patience", 3, [STEP, loss(constant(1, 20))], 5, 3),
    ("tPoorWeightInitialization", {}, "steps", 3, [STEP, tensor("variance", {5: 20}, "a.relu_input_0"), tensor("variance", {5: 1}, "b.relu_input_0")], 5, None),
    ("tWeightUpdateRatio", {}, "large_threshold", 100, changed_weights({3: 50, 6: 500}, {3: 1, 6: 1}), 3, 6),
    ("tWeightUpdateRatio", {}, "small_threshold", 1e-6, changed_weights({3: 1e-7}, {3: 1}), None, 3),
    ("tWeightUpdateRatio", {}, "epsilon", 1, changed_weights({3: 1}, {3: 0}), 3, None),
    ("tWeightUpdateRatio", {}, "tensor_regex", "b", changed_weights({3: 50}, {3: 1}) + changed_weights({6: 50}, {6: 1}, name="b"), 3, 6),
    ("tWeightUpdateRatio", {}, "collection_names", "c", changed_weights({3: 50}, {3: 1}) + changed_weights({6: 50}, {6: 1}, collection="c"), 3, 6),
    ("tAllZero", {}, "threshold", 50, [tensor("zero_ratio", {3: 0.6, 6: 1})], 6, 3),
    *names_and_collections("tAllZero", "zero_ratio", 1, 0),
    ("tTensorVariance", {}, "max_threshold", 5, [tensor("variance", {3: 5, 6: 6})], None, 6),
    ("tTensorVariance", {}, "min_threshold", 0.1, [tensor("variance", {3: 0.1, 6: 0.05})], None, 6),
    *names_and_collections("tTensorVariance", "variance", 9, 1, {"max_threshold": 5}),
    ("tUnchangedTensor", {}, "num_steps", 5, [tensor("change_max", constant(0, 9, 1))], 2, 4),
    *names_and_collections("tUnchangedTensor", "change_max", 0, 7, {"num_steps": 2}),
    ("tSimilarAcrossRuns", {}, "rtol", 0.1, runs({3: 1.05, 6: 1.2}), 3, 6),
    ("tSimilarAcrossRuns", {}, "atol", 0.1, runs({3: 1.05, 6: 1.2}), 3, 6),
    ("tSimilarAcrossRuns", {}, "tensor_regex", "b", runs({3: 2}) + runs({6: 2}, name="b"), 3, 6),
    ("tSimilarAcrossRuns", {}, "collection_names", "c", runs({3: 2}) + runs({6: 2}, collection="c"), 3, 6),
    # The ratio is 20 to 1, then 200 to 1.
    ("tClassImbalance", {}, "threshold_imbalance", 100, labels_of("a", {3: 2000, 6: 20000}, {3: 0, 6: 0}) + labels_of("b", {3: 100, 6: 100}, {3: 0, 6: 0}), 3, 6),
    ("tClassImbalance", {}, "threshold_misprediction", 0.9, labels_of("a", {3: 1000, 6: 1000}, {3: 800, 6: 950}), 3, 6),
    ("tClassImbalance", {}, "samples", 2000, labels_of("a", {3: 600, 6: 2000}, {3: 500, 6: 1900}), 3, 6),
    # (600 * 0.3) / 600 = 0.3; (600 * 0.3 + 600 * 0.9) / 1200 = 0.6.
    ("tCheckInputImages", {}, "threshold_mean", 0.5, images({3: 600, 6: 600}, {3: 0.3, 6: 0.9}), 3, 6),
    ("tCheckInputImages", {}, "threshold_samples", 1200, images({3: 600, 6: 600}, {3: 0.3, 6: 0.3}), 3, 6),
    ("tCheckInputImages", {}, "tensor_regex", "b", images({3: 600}, {3: 0.3}) + images({6: 600}, {6: 0.3}, "b"), 3, 6),
    ("tNLPSequenceRatio", {}, "token_values", "7|8", tokens("0", {3: 0.6}) + tokens("7", {6: 0.6}), 3, 6),
    ("tNLPSequenceRatio", {}, "token_thresholds_percent", 80, tokens("0", {3: 0.6, 6: 0.9}), 3, 6),
    ("tNLPSequenceRatio", {}, "tensor_regex", "b", tokens("0", {3: 0.6}) + tokens("0", {6: 0.6}, "b"), 3, 6),
    # Of the samples predicted as a, 85% have label a, 8% label b, and 7% label c.
    ("tConfusion", {}, "min_diag", 0.8, confusion(3, aa=85, ba=8, ca=7, bb=1, cc=1), 3, None),
    ("tConfusion", {"min_diag": 0.5}, "max_off_diag", 0.4, confusion(3, aa=70, ba=30, bb=1), 3, None),
    ("xFeatureImportanceOverweight", {}, "threshold", 0.96, importance([0.5, 0.3, 0.15, 0.03, 0.02]), 2, None),
    ("xFeatureImportanceOverweight", {}, "nfeatures", 2, importance([0.4, 0.3, 0.15, 0.1, 0.05]), 2, None),
    ("xFeatureImportanceOverweight", {}, "tensor_regex", "gain", importance([0.5, 0.3, 0.15, 0.03, 0.02]), 2, None),
    # log2(30) = 4.9, log2(100) = 6.6.
    ("xTreeDepth", {}, "depth", 6, [("train_tree_node_id_max", {"tree": "0"}, {3: 30, 6: 100}, "train")], 3, 6),
    ("lLossNotDecreasing", {}, "num_steps", 4, [loss(constant(1, 30))], 10, 4),
    # The loss decreases by a tenth at step 10 and is then flat: by default, the rule fires at step 20.
    ("lLossNotDecreasing", {}, "diff_percent", 20, [loss({**constant(1, 9), **constant(0.9, 30, 10)})], 20, 10),
    ("lLossNotDecreasing", {}, "mode", "eval", [loss(constant(1, 30))], 10, None),
    ("lLossNotDecreasing", {}, "rises_only", 1, [loss({**constant(1, 19), **constant(2, 30, 20)})], 10, 20),
    # The parameter changes the label, not the step: see below.
    ("lLossNotDecreasing", {}, "increase_threshold_percent", 10, [loss({**constant(1, 9), **constant(1.07, 30, 10)})], 10, 10),
    ("rOverfit", {}, "start_step", 40, ROUNDS, 10, 40),
    ("rOverfit", {}, "patience", 2, ROUNDS, 10, 30),
    ("rOverfit", {}, "ratio_threshold", 0.5, ROUNDS, 10, 50),
    ("rOvertraining", {}, "patience_train", 20, [loss(constant(1, 60)), loss(constant(1, 60), "eval")], 10, 20),
    ("rOvertraining", {}, "patience_validation", 20, [loss(constant(1, 60)), loss(constant(1, 60), "eval")], 10, 20),
    # The loss improves by 0.1 per second.
    ("rOvertraining", {}, "delta", 1000, [loss({s: 9 - 0.1 * s for s in range(61)}), loss(constant(1, 60), "eval")], None, 10),
    ("sStalledTrainingRule", {}, "threshold", 60, [("train_step", {}, {0: 1}, "train"), ("train_loss", {}, {0: 1, 2000: 1}, "train")], 1801, 61),
    # From 1475 s on, 95% of the newest 500 samples are low; from 1095 s on, 95% of the newest 100 are. The slices end at 1500 s and 1140 s.
    ("pLowGPUUtilization", {}, "window", 100, [UTIL], 1500, 1140),
    # After a 40-point jump, the increase that the rule computes is at most 8 points with a window of 10 samples, and at most 4 with 20.
    ("pGPUMemoryIncrease", {}, "window", {"window": 20, "window_and_one": 21}, MEMORY, 1140, None),
]


def main():
    pitwall, rules = os.path.abspath(sys.argv[1]), sys.argv[2:] or ["pack:debugger-compat"]
    failed = passed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        rows, overrides = [], ["jobs:"]
        for number, (rule, base, parameter, value, series, _, _) in enumerate(CASES):
            name = PREFIX[rule[0]] + rule[1:]
            for job, values in (("%d-default" % number, base), ("%d-changed" % number, dict(base, **(value if isinstance(value, dict) else {parameter: value})))):
                if values:
                    overrides.append("- {match: {job: %s}, rules: {%s: %s}}" % (job, json.dumps(name), json.dumps(values)))
                for metric, labels, points, mode in series:
                    for step, number_ in points.items():
                        row = {"t": BASE + step, "job": job, "name": metric, "value": number_, "step": step if mode else None, "mode": mode}
                        row.update(labels if mode is None else dict(labels, rank="0"))
                        rows.append(row)
        names = sorted({key for row in rows for key in row} - {"t", "job", "name", "value", "step", "mode"})
        for row in rows:
            for label in names:
                row.setdefault(label, None)
        with open(path("rows.jsonl"), "w", encoding="utf-8") as out:
            out.writelines(json.dumps(row) + "\n" for row in sorted(rows, key=lambda r: (r["job"], r["t"])))
        with open(path("overrides.yaml"), "w", encoding="utf-8") as out:
            out.write("\n".join(overrides) + "\n")
        with open(path("mapping.yaml"), "w", encoding="utf-8") as out:
            out.write("time: {column: t, unit: s}\nstep: {column: step}\nmode: {column: mode}\njob: {column: job}\nlabels: {%s}\n"
                      "metrics: {name: {column: name}, value: {column: value}}\n" % ", ".join("%s: {column: %s}" % (n, n) for n in names))
        done = subprocess.run([pitwall, "backtest", "--format", "csv", "--mapping", path("mapping.yaml"), "--rules", *rules, "--overrides", path("overrides.yaml"),
                               "--input", path("rows.jsonl"), "--no-status"], capture_output=True, text=True, check=False)
        if done.returncode != 0 or " is in Error: " in done.stderr:
            print("FAILED: %s" % done.stderr.strip())
            print("0 passed, 1 failed")
            return 1
        first, tests = {}, {}
        for line in done.stdout.splitlines():
            event = json.loads(line)
            if event["type"] != "io.pitwall.issue.found":
                continue
            clock = event["time"][11:19].split(":")
            seconds = int(clock[0]) * 3600 + int(clock[1]) * 60 + int(clock[2])
            key = (event["data"]["job"]["id"], event["data"]["rule"])
            first[key] = min(first.get(key, seconds), seconds)
            tests.setdefault(key, event["data"]["labels"].get("test"))
        for number, (rule, _, parameter, value, _, default, changed) in enumerate(CASES):
            name = PREFIX[rule[0]] + rule[1:]
            got = [first.get(("%d-%s" % (number, job), name)) for job in ("default", "changed")]
            good = got == [default, changed]
            if parameter == "increase_threshold_percent":
                good = good and [tests.get(("%d-%s" % (number, job), name)) for job in ("default", "changed")] == ["increasing", "flat"]
            passed, failed = passed + good, failed + (not good)
            if not good:
                print("FAILED: %s with %s = %r: first fired at %s, expected %s" % (name, parameter, value, got, [default, changed]))

        # Each alert parameter must have a case. Recording rules are not checked.
        listed = json.loads(subprocess.run([pitwall, "rules", "list", "--json", *rules], capture_output=True, text=True, check=True).stdout)
        have = {(PREFIX[c[0][0]] + c[0][1:], c[2]) for c in CASES}
        for one in listed:
            pack = one["rule"].split("/")[0]
            if pack not in ("debugger-compat-tensor", "debugger-compat-loss") or one["kind"] != "alert" or "/eval loss/" in one["rule"]:
                continue
            for parameter in one.get("parameters", {}):
                if (one["rule"], parameter) not in have:
                    failed += 1
                    print("FAILED: %s: parameter %s has no case" % (one["rule"], parameter))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
