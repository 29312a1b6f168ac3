"""Tests for collections: their steps, tensors, and reductions. PyTorch is not required."""
import unittest

import support  # noqa: F401
from pitwall import Collection
from pitwall.stats._collections import ANY, DEFAULTS, GRADIENT, INPUT, LOSS, OUTPUT, PARAMETER, REDUCTIONS, Schedule


def saved(schedule, upto, stride=1):
    steps, last = [], None
    for step in range(0, upto, stride):
        if schedule.due(last, step):
            steps.append(step)
        last = step
    return steps


class ScheduleTest(unittest.TestCase):
    def test_schedule_contains_every_nth_step_from_start_to_end(self):
        self.assertEqual(saved(Schedule(100, end=201), 500), [0, 100, 200])  # example from SageMaker Debugger
        self.assertEqual(saved(Schedule(100, start=30), 300), [30, 130, 230])
        self.assertEqual(saved(Schedule(100, start=30, end=130), 300), [30])
        self.assertEqual(saved(Schedule(1), 4), [0, 1, 2, 3])

    def test_explicit_steps_are_saved_in_addition_to_interval(self):
        self.assertEqual(saved(Schedule(100, steps=[7, 3, 100]), 150), [0, 3, 7, 100])
        self.assertEqual(saved(Schedule(0, steps=[7, 3]), 150), [3, 7])
        self.assertEqual(saved(Schedule(0, end=5, steps=[7]), 150), [7])

    def test_step_between_checks_is_saved_at_next_check(self):
        self.assertEqual(saved(Schedule(10), 40, stride=4), [0, 12, 20, 32])
        self.assertEqual(saved(Schedule(10, end=11), 40, stride=4), [0, 12])
        self.assertEqual(saved(Schedule(0, steps=[5]), 40, stride=4), [8])

    def test_only_current_step_is_checked_after_resume_or_rollback(self):
        schedule = Schedule(100)
        self.assertFalse(schedule.due(None, 150))
        self.assertTrue(schedule.due(None, 200))
        self.assertFalse(schedule.due(450, 150))
        self.assertTrue(schedule.due(450, 100))


class CollectionTest(unittest.TestCase):
    def test_modes_have_their_own_schedules(self):
        everywhere = Collection("weights", every=10)
        self.assertTrue(everywhere.schedule("eval").due(None, 10))
        only = Collection("weights", every=10, modes=["train"])
        self.assertIsNone(only.schedule("eval"))
        self.assertTrue(only.schedule("train").due(None, 10))
        own = Collection("weights", every=10, modes={"eval": {"every": 3}})
        self.assertTrue(own.schedule("eval").due(None, 3))
        self.assertFalse(own.schedule("train").due(None, 3))
        others = Collection("weights", every=10, modes={"global": {"every": 7}, "train": {"start": 5}})
        self.assertTrue(others.schedule("predict").due(None, 7))
        self.assertTrue(others.schedule("train").due(None, 15))

    def test_built_in_patterns_match_their_tensors(self):
        weights, biases = Collection("weights"), Collection("biases")
        for name in ("fc.weight", "pos_embedding", "norm.weight"):
            self.assertTrue(weights.matches(PARAMETER, name))
            self.assertFalse(biases.matches(PARAMETER, name))
        self.assertTrue(biases.matches(PARAMETER, "attn.in_proj_bias"))
        self.assertFalse(weights.matches(PARAMETER, "attn.in_proj_bias"))
        self.assertFalse(weights.matches(GRADIENT, "gradient/fc.weight"))
        self.assertTrue(Collection("gradients").matches(GRADIENT, "gradient/fc.weight"))
        self.assertTrue(Collection("relu_output").matches(OUTPUT, "features.1.relu_output_0"))
        self.assertTrue(Collection("relu_output").matches(OUTPUT, "act.relu6_output_1"))
        self.assertFalse(Collection("relu_output").matches(INPUT, "features.1.relu_input_0"))
        self.assertTrue(Collection("losses").matches(LOSS, "mseloss_output_0"))

    def test_custom_collection_covers_all_tensor_kinds_by_default(self):
        own = Collection("mine", include=[r"fc\d\.weight$", ".*relu_input"])
        self.assertEqual(own.kinds, ANY)
        self.assertTrue(own.matches(GRADIENT, "gradient/fc1.weight"))
        self.assertTrue(own.matches(INPUT, "a.relu_input_3"))
        self.assertFalse(own.matches(PARAMETER, "fc1.bias"))

    def test_invalid_arguments_raise_errors_that_name_them(self):
        for make, text in (
                (lambda: Collection("mine"), "pass include"),
                (lambda: Collection("mine", include="("), r"include must contain regular expressions .got '\('"),
                (lambda: Collection("mine", include=[3]), "include must contain regular expressions .got 3"),
                (lambda: Collection("weights", reductions=["mena"]), "unknown reduction mena"),
                (lambda: Collection("weights", every=-1), r"every must be a whole number of at least 0 \(got -1\)"),
                (lambda: Collection("weights", steps=[1.5]), "steps must be a whole number"),
                (lambda: Collection("weights", modes={"eval": {"end": "x"}}), "end must be"),
                (lambda: Collection("weights", bounds=[float("nan")]), "finite")):
            with self.assertRaisesRegex(ValueError, text):
                make()

    def test_defaults_include_reductions_used_by_rules(self):
        found = {c.name: c.reductions for c in Collection.defaults(100)}
        self.assertEqual(set(found), set(DEFAULTS))
        self.assertLessEqual({"abs_mean", "p5", "p95", "nonfinite_ratio"}, found["gradients"])
        self.assertLessEqual({"update_abs_mean", "previous_abs_mean", "update_l2", "previous_l2", "change_max",
                              "variance", "zero_ratio"}, found["weights"])
        self.assertIn("unit_activity", found["relu_output"])
        self.assertIn("variance", found["relu_input"])
        self.assertIn("unit_inside", found["tanh_input"])
        self.assertEqual(Collection("weights", reductions="all").reductions, frozenset(REDUCTIONS))
