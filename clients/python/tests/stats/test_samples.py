"""Tests that labels, predictions, and inputs produce the same values whether they are lists, numpy arrays, or PyTorch tensors."""
import math
import random
import unittest

import support
import pitwall
from pitwall.stats import _samples

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None

KINDS = [("lists", lambda value: value)]
if numpy is not None:
    KINDS.append(("numpy", numpy.array))
if torch is not None:
    KINDS.append(("torch", torch.tensor))


class SamplesTest(support.ClientTest):
    def setUp(self):
        super().setUp()
        self.fake = self.collector()

    def sent(self, calls):
        """Returns {(metric, label values…): value} for the values that calls() logs in one step."""
        self.start(self.fake)
        before = len(self.fake.messages("goodbye"))
        with pitwall.step():
            calls()
        pitwall.finish(timeout=5)
        self.fake.wait_for(lambda c: len(c.messages("goodbye")) > before)
        found = {}
        for v in [v for u in [m for n, m, _ in self.fake.connections[-1] if n == "update"] for v in u["values"]]:
            self.assertEqual(v["step_plus_one"], 1)
            found[(v["metric"],) + tuple(p["value"] for p in v["labels"])] = v["value"]
        return found

    def test_labels_and_predictions_are_counted_by_class(self):
        for name, kind in KINDS:
            with self.subTest(name):
                found = self.sent(lambda: (
                    pitwall.log_classification(kind([0, 1, 2, 1, -100]), kind([0, 2, 2, 1, 0])),
                    pitwall.log_classification(kind([0, 0]), kind([1, 0]))))
                self.assertEqual({k[1]: v for k, v in found.items() if k[0] == "train_label_samples_total"},
                                 {"0": 3, "1": 2, "2": 1})
                self.assertEqual({k[1]: v for k, v in found.items() if k[0] == "train_label_mispredictions_total"},
                                 {"0": 1, "1": 1, "2": 0})
                # The values of the second call are expected, because only the last value of a series counts.
                self.assertEqual(found["train_confusion_samples", "0", "1"], 1)
                self.assertEqual(found["train_confusion_samples", "0", "0"], 1)
                self.assertEqual(found["train_confusion_samples", "1", "0"], 0)

    def test_scores_determine_predictions_and_class_count(self):
        for name, kind in KINDS:
            with self.subTest(name):
                found = self.sent(lambda: pitwall.log_classification(
                    kind([0, 1]), kind([[0.1, 0.7, 0.2, 0.0], [0.0, 0.9, 0.1, 0.0]])))
                matrix = {k[1:]: v for k, v in found.items() if k[0] == "train_confusion_samples"}
                self.assertEqual(len(matrix), 16)
                self.assertEqual({pair for pair, count in matrix.items() if count}, {("0", "1"), ("1", "1")})

    def test_labels_without_predictions_are_counted(self):
        found = self.sent(lambda: pitwall.log_classification([3, 3, 5]))
        self.assertEqual(found, {("train_label_samples_total", "3"): 2, ("train_label_samples_total", "5"): 1})

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_large_batches_of_small_integers_do_not_overflow(self):
        labels = [number % 21 for number in range(6300)]
        right = {(label, label): 300 for label in range(21)}  # 20 * 21 + 20 exceeds a byte
        self.assertEqual(_samples._count_pairs(numpy.array(labels, "uint8"), numpy.array(labels, "int64")), right)
        self.assertEqual(_samples._count_pairs(numpy.array(labels, "uint8"), numpy.array(labels, "uint8")), right)
        if torch is not None:
            tensor = torch.tensor(labels, dtype=torch.uint8)
            self.assertEqual(_samples._count_pairs(tensor, tensor), right)

    def test_large_batches_have_exact_counts(self):
        seed = random.randrange(1 << 30)
        print("seed %d" % seed)
        draw = random.Random(seed)
        labels = [draw.randint(-1, 6) for _ in range(6000)]
        predictions = [draw.randint(0, 6) for _ in labels]
        right = _samples._count_pairs(_samples._array(labels), _samples._array(predictions))
        self.assertEqual(sum(right.values()), sum(1 for label in labels if label >= 0))
        for name, kind in KINDS[1:]:
            with self.subTest(name):
                self.assertEqual(_samples._count_pairs(kind(labels), kind(predictions)), right)
                self.assertEqual(_samples._count(kind(labels)), _samples._count(_samples._array(labels)))

    def test_classes_are_bounded(self):
        found = self.sent(lambda: pitwall.log_classification(list(range(2000)), [0] * 2000))
        self.assertEqual(sum(1 for k in found if k[0] == "train_label_samples_total"), _samples.MAX_CLASSES)
        self.assertFalse([k for k in found if k[0] == "train_confusion_samples"])

    def test_image_channel_means_are_logged(self):
        batch = [[[[1.0, 3.0]], [[10.0, 30.0]]], [[[5.0, 7.0]], [[50.0, 70.0]]], [[[0.0, 2.0]], [[0.0, 20.0]]]]
        for name, kind in KINDS:
            with self.subTest(name):
                found = self.sent(lambda: pitwall.log_images(kind(batch)))
                self.assertEqual(found["train_input_images", "input"], 3)
                self.assertEqual(found["train_input_channel_mean", "0", "input"], 3)
                self.assertEqual(found["train_input_channel_mean", "1", "input"], 30)
        found = self.sent(lambda: pitwall.log_images([[[1, 2]], [[3, 4]]], channel_axis=-1, name="x"))
        self.assertEqual(found["train_input_channel_mean", "1", "x"], 3)

    def test_token_shares_are_logged(self):
        for name, kind in KINDS:
            with self.subTest(name):
                found = self.sent(lambda: pitwall.log_tokens(kind([[5, 0, 0, 0], [1, 2, 0, 7]]), watch=[0, 7, 9]))
                self.assertEqual(found, {
                    ("train_input_tokens", "input"): 8, ("train_input_token_ratio", "input", "0"): 0.5,
                    ("train_input_token_ratio", "input", "7"): 0.125, ("train_input_token_ratio", "input", "9"): 0})

    def test_expert_tokens_and_entropy_are_logged(self):
        for name, kind in KINDS:
            with self.subTest(name):
                found = self.sent(lambda: pitwall.log_experts(kind([6, 2, 0, 0]), layer=3, probabilities=kind(
                    [[[0.7, 0.1, 0.1, 0.1], [0.3, 0.5, 0.1, 0.1]], [[0.6, 0.2, 0.2, 0.0], [0.4, 0.2, 0.2, 0.2]]])))
                self.assertEqual({k[1:]: v for k, v in found.items() if k[0] == "train_expert_tokens"},
                                 {("0", "3"): 6, ("1", "3"): 2, ("2", "3"): 0, ("3", "3"): 0})
                # The means 0.5, 0.25, 0.15, and 0.1 have an entropy of 1.20797. This is divided by ln 4.
                self.assertAlmostEqual(found["train_router_entropy_ratio", "3"], 0.87137, delta=1e-5)

    def test_entropy_ranges_from_single_expert_to_even_choice(self):
        for probabilities, entropy in (([0.25] * 4, 1), ([1.0, 0, 0, 0], 0), ([0.5, 0.5, 0, 0], 0.5)):
            found = self.sent(lambda: pitwall.log_experts([1, 1, 1, 1], probabilities=probabilities))
            self.assertAlmostEqual(found["train_router_entropy_ratio", "0"], entropy, delta=1e-12)
        self.assertEqual(self.sent(lambda: pitwall.log_experts([8], probabilities=[1.0])),
                         {("train_expert_tokens", "0", "0"): 8})

    def test_entropy_of_nan_probabilities_is_nan(self):
        for probabilities in ([math.nan, 0.5], [math.inf, 0.5], [0.0, 0.0]):
            found = self.sent(lambda: pitwall.log_experts([1, 1], probabilities=probabilities))
            self.assertTrue(math.isnan(found["train_router_entropy_ratio", "0"]))

    def test_invalid_expert_data_is_not_sent(self):
        self.assertEqual(self.sent(lambda: (
            pitwall.log_experts([]), pitwall.log_experts([1] * (_samples.MAX_EXPERTS + 1)), pitwall.log_experts("two"),
            pitwall.log_experts([1, 1], probabilities=[0.2, 0.3, 0.5]), pitwall.log_experts(None))), {})

    def test_invalid_input_is_ignored(self):
        self.assertEqual(self.sent(lambda: (
            pitwall.log_classification([0, 1], [0, 1, 2]), pitwall.log_classification("x"), pitwall.log_images([1]),
            pitwall.log_images(None), pitwall.log_tokens([[1], [2, 3]]), pitwall.log_tokens([], watch=[0]))),
            {("train_input_tokens", "input"): 0})

    def test_calls_without_client_do_nothing(self):
        pitwall.log_classification([0], [0])
        pitwall.log_images([[[1.0]]])
        pitwall.log_tokens([1])
