"""Tests that compare every reduction with numpy, on random and special tensors."""
import random
import unittest
import warnings

import support  # noqa: F401
from torch_support import numpy, requires_torch, torch

if torch is not None:
    from pitwall.stats import _reductions
    from pitwall.stats._collections import CHANGES, HISTOGRAM_BOUNDS, REDUCTIONS
    from pitwall.stats._statistics import History


def expected(array, wanted, axis=1, limits=None):
    """Computes the same reductions with numpy, in double precision."""
    x = array.astype("float64")
    flat = x.reshape(-1)
    a = abs(flat)
    sample = flat[::-(-flat.size // _reductions.SAMPLE)]
    found = {
        "min": flat.min(), "max": flat.max(), "mean": flat.mean(), "variance": flat.var(), "std": flat.std(),
        "l1": a.sum(), "l2": numpy.sqrt((flat ** 2).sum()), "abs_min": a.min(), "abs_max": a.max(),
        "abs_mean": a.mean(), "abs_variance": a.var(), "abs_std": a.std(), "abs_l1": a.sum(),
        "abs_l2": numpy.sqrt((flat ** 2).sum()), "zero_ratio": (flat == 0).mean(), "nan_ratio": numpy.isnan(flat).mean(),
        "nonfinite_ratio": (~numpy.isfinite(flat)).mean(), "p5": numpy.quantile(sample, 0.05),
        "p95": numpy.quantile(sample, 0.95),
    }
    found["histogram"] = [(flat <= bound).sum() for bound in HISTOGRAM_BOUNDS] + [flat.size]
    units = numpy.moveaxis(x, axis if x.ndim > 1 else 0, 0) if x.ndim else x.reshape(1)
    units = units.reshape(units.shape[0], -1)
    active = (units != 0).mean(1)
    found["unit_activity"] = [(active <= share).sum() for share in _reductions.SHARES] + [len(active)]
    if limits:
        inside = ((units >= limits[0]) & (units <= limits[1])).mean(1)
        found["unit_inside"] = [(inside <= share).sum() for share in _reductions.SHARES] + [len(inside)]
    return {name: found[name] for name in wanted if name in found}


@requires_torch
class ReductionsTest(unittest.TestCase):
    def check(self, tensor, tolerance=1e-5, axis=1, limits=(-1.0, 1.0), wanted=None):
        wanted = frozenset(wanted or set(REDUCTIONS) - CHANGES)
        found = {name: number for name, _, number in _reductions.reduce(
            _reductions.usable(tensor), wanted, HISTOGRAM_BOUNDS, limits, axis)}
        array = tensor.detach().float().numpy() if tensor.dtype != torch.float64 else tensor.detach().numpy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            right = expected(array, wanted, axis, limits)
        self.assertEqual(set(found), set(right))
        for name, number in right.items():
            numpy.testing.assert_allclose(found[name].numpy(), number, rtol=tolerance, atol=tolerance,
                                          err_msg="%s of %s" % (name, tuple(tensor.shape)))

    def test_reductions_of_random_tensors_match_numpy(self):
        seed = random.randrange(1 << 30)
        print("seed %d" % seed)
        torch.manual_seed(seed)
        draw = random.Random(seed)
        for _ in range(60):
            shape = [draw.randint(1, 9) for _ in range(draw.randint(1, 4))]
            scale = 10.0 ** draw.randint(-3, 2)
            tensor = torch.randn(shape) * scale
            tensor[torch.rand(shape) < draw.random()] = 0
            self.check(tensor, tolerance=1e-4)
            self.check(tensor.double(), tolerance=1e-12)
            self.check(tensor.relu(), tolerance=1e-4)

    def test_all_types_and_layouts_match_numpy(self):
        base = torch.randn(6, 5, 4)
        self.check(base.bfloat16(), 1e-4)
        self.check(base.half(), 1e-4)
        self.check((base * 10).int())
        self.check((base * 10).to(torch.uint8).bool())
        self.check(base.transpose(0, 2))         # a noncontiguous tensor
        self.check(base[::2, 1:, :])
        self.check(base[0, 0, 0])                # a scalar
        self.check(torch.zeros(3, 2))
        self.check(base.requires_grad_())
        self.check(torch.randn(4, 3, 2), axis=-1)

    def test_nan_and_infinities_match_numpy(self):
        odd = torch.randn(8, 4)
        odd[1, 2], odd[3, 1], odd[4, 0] = float("inf"), float("-inf"), float("nan")
        self.check(odd, wanted=["nan_ratio", "nonfinite_ratio", "zero_ratio", "min", "max", "mean", "l2", "abs_max",
                                "variance", "histogram", "unit_activity", "unit_inside"])
        odd[4, 0] = 1
        self.check(odd, wanted=["nan_ratio", "nonfinite_ratio", "min", "max", "l1", "abs_max"])
        # The values are finite, but their sum is not. Nevertheless, no value may count as infinite.
        self.check(torch.full((10,), 3e38), wanted=["nan_ratio", "nonfinite_ratio", "max"])

    def test_large_tensor_is_sampled_only_for_percentiles(self):
        large = torch.randn(300, 401)
        self.check(large, 1e-4)
        self.assertGreater(large.numel(), 10 * _reductions.SAMPLE)

    def test_shares_at_bounds_are_counted_exactly(self):
        # Shares of 1 in 100 and 1 in 1000 are at the bounds 1% and 0.1%, not above them.
        for rows, bound in ((100, 0.01), (1000, 0.001), (20, 0.05), (10, 0.1)):
            output = torch.zeros(rows, 3)
            output[0] = 1
            (_, les, counts), = _reductions.reduce(output, frozenset(["unit_activity"]))
            counts = dict(zip(les, counts.tolist()))
            self.assertEqual(counts["%g" % bound], 3, bound)
            self.assertEqual(counts["0"], 0)
            self.assertEqual(counts["+Inf"], 3)

    def test_dead_units_of_convolution_are_counted(self):
        output = torch.rand(4, 6, 5, 5) + 0.1
        output[:, :4] = 0
        (_, les, counts), = _reductions.reduce(output, frozenset(["unit_activity"]))
        self.assertEqual(dict(zip(les, counts.tolist()))["0.01"], 4)

    def test_changes_match_numpy(self):
        before, now = torch.randn(50, 7), torch.randn(50, 7)
        found = {n: float(v) for n, _, v in _reductions.change(now, before, CHANGES)}
        a, b = now.numpy().astype("float64"), before.numpy().astype("float64")
        right = {"update_abs_mean": abs(a - b).mean(), "update_l2": numpy.sqrt(((a - b) ** 2).sum()),
                 "previous_abs_mean": abs(b).mean(), "previous_l2": numpy.sqrt((b ** 2).sum()),
                 "change_max": (abs(a - b) / (1e-8 + 1e-5 * abs(b))).max()}
        self.assertEqual(set(found), CHANGES)
        for name, number in right.items():
            self.assertAlmostEqual(found[name] / number, 1, 4, name)

    def test_change_max_agrees_with_allclose(self):
        inf, nan = float("inf"), float("nan")
        for a, b in (([0.0, 1], [0.0, 1]), ([1.0, 2], [1.0, 2 + 1.5e-5]), ([1.0, 2], [1.0, 2.1]), ([0.0], [0.9e-8]),
                     ([0.0], [1.2e-8]), ([inf, -inf], [inf, -inf]), ([inf], [1.0]), ([1.0], [inf]), ([inf], [-inf]),
                     ([nan], [nan]), ([nan], [1.0]), ([1.0], [nan])):
            a, b = torch.tensor(a, dtype=torch.float64), torch.tensor(b, dtype=torch.float64)
            (_, _, most), = _reductions.change(a, b, frozenset(["change_max"]))
            self.assertEqual(bool(most <= 1), bool(numpy.allclose(a.numpy(), b.numpy())), (a, b, most))

    def test_unusable_tensors_raise_errors_with_their_kind(self):
        for tensor, text in ((torch.randn(3, dtype=torch.complex64), "complex"), (torch.empty(0, 4), "empty"),
                             (torch.eye(3).to_sparse(), "layout sparse_coo"), ([1, 2], "a list"),
                             (torch.empty(2, device="meta"), "meta")):
            with self.assertRaisesRegex(_reductions.Unusable, text):
                _reductions.usable(tensor)

    def test_history_is_bounded_and_tracks_shapes(self):
        history = History(1000)
        a = torch.randn(10, 10)
        self.assertIsNone(history.exchange(("c", "a"), a))
        self.assertIsNone(history.exchange(("c", "b"), torch.randn(200)))  # the second tensor does not fit
        first = a.clone()
        a.add_(1)
        self.assertTrue(torch.equal(history.exchange(("c", "a"), a), first))
        self.assertIsNone(history.exchange(("c", "a"), torch.randn(5)))  # another shape
        self.assertIsNone(history.exchange(("c", "b"), torch.randn(200)))  # the tensor fits now
        self.assertIsNotNone(history.exchange(("c", "b"), torch.randn(200)))
        half = torch.randn(4).bfloat16()
        history.exchange(("c", "h"), half)
        self.assertEqual(history.exchange(("c", "h"), half).dtype, torch.bfloat16)
