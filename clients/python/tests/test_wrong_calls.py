"""Tests for invalid calls. An invalid call must not raise into training. It is reported once, as a warning `place: cause (value); advice`."""
import logging
import unittest

import support

import pitwall
from pitwall import _guard
from pitwall._client import client

NOTHING = object()
# (call, pattern of its warning)
CALLS = (
    (lambda: pitwall.log(loss="abc"), r"log: 'loss' is not a number \('abc'\); log a value that float\(\) accepts"),
    (lambda: pitwall.log(3), r"log: values must be a dict of names and numbers \(3\); "),
    (lambda: pitwall.log(x=1, step="one"), r"log: the step must be a whole number \('one'\); "),
    (lambda: pitwall.log(x=1, labels=3), r"log: labels must be a dict \(got 3\); "),
    (lambda: pitwall.log({NOTHING: NOTHING}), r"log: an object is not a number \(an object\); "),
    (lambda: pitwall.step("one").__enter__(), r"step: the step must be a whole number \('one'\); "),
    (lambda: pitwall.step(-5).__enter__(), r"step: the number is negative \(-5\); "),
    (lambda: list(pitwall.steps([1], start="one")), r"steps: the step must be a whole number \('one'\); "),
    (lambda: pitwall.phase(None).__enter__(), r"phase: name must be a non-empty string \(got None\); "),
    (lambda: pitwall.phase("").__enter__(), r"phase: name must be a non-empty string \(got ''\); "),
    (lambda: pitwall.mode(7), r"mode: name must be a non-empty string \(got 7\); "),
    (lambda: pitwall.checkpoint("x").__enter__(), r"checkpoint: the step must be a whole number \('x'\); "),
    (lambda: pitwall.profile(0), r"profile: the number of steps is out of range \(0\); use 1 to 100"),
    (lambda: pitwall.profile("abc"), r"profile: steps must be a number or a list of numbers \('abc'\); "),
    (lambda: pitwall.profile(NOTHING), r"profile: steps must be a number or a list of numbers \(an object\); "),
    (lambda: pitwall.profile([3], start=4), r"profile: start must not be combined with a list of steps \(4\); omit it"),
    (lambda: pitwall.profile(2, start="x"), r"profile: start must be a step number \('x'\); "),
    (lambda: pitwall.profile(tools="detailed"), r"profile: unknown tool \('detailed'\); use torch, python"),
    (lambda: pitwall.profile(tools=("python", "loader")), r"profile: unknown tool \('loader'\); use torch, python"),
    (lambda: pitwall.profile(tools=3), r"profile: unknown tool \(3\); "),
    (lambda: pitwall.profile(trace_dir=3), r"profile: trace_dir must be a path \(3\); "),
    (lambda: pitwall.log_classification([0, 1], [1]), r"log_classification: predictions must have the shape of the labels \(2,\) \(got \(1,\)\); see help"),
    (lambda: pitwall.log_classification(None), r"log_classification: .*; see help\(pitwall.log_classification\)"),
    (lambda: pitwall.log_images([1, 2]), r"log_images: images must have at least two axes \(got shape \(2,\)\); see help"),
    (lambda: pitwall.log_tokens(None), r"log_tokens: .*; see help"),
    (lambda: pitwall.log_experts([]), r"log_experts: tokens must have 1 to 1024 counts \(got 0\); see help"),
    (lambda: pitwall.watch_collectives(3), r"watch_collectives: "),
    (lambda: pitwall.finish("unknown"), r"finish: unknown reason \('unknown'\); "),
    (lambda: pitwall.finish(timeout="soon"), r"finish: timeout must be a number of seconds from 0 to 86400 \(got 'soon'\); "),
)
INITS = (({"rank": "zero"}, r"init: rank must be a whole number of at least 0 \(got 'zero'\); "), ({"world_size": -1}, r"init: world_size .* \(got -1\); "),
         ({"labels": ["a"]}, r"init: labels must be a dict \(got a list\); "), ({"queue": "long"}, r"init: queue .* \(got 'long'\); "),
         ({"step_lag": 1.5j}, r"init: step_lag .* \(got a complex\); "), ({"socket": 7}, r"init: socket must be a path \(got 7\); "))


class WrongCallTest(support.ClientTest):
    def warnings(self, call):
        with self.assertLogs("pitwall", logging.WARNING) as log:
            logging.getLogger("pitwall").warning("end")
            call()
        return [record.getMessage() for record in log.records if record.getMessage() != "end"]

    def test_invalid_call_is_reported_once_and_never_raises(self):
        self.start(self.collector())
        for number, (call, expected) in enumerate(CALLS):
            if "watch_collectives" in expected:
                try:
                    import torch.distributed  # noqa: F401
                except ImportError:
                    continue
            with self.subTest(expected):
                _guard._logged.clear()
                if client.recorder is None:
                    self.start()
                logged = self.warnings(call)
                self.assertEqual(len(logged), 1, logged)
                self.assertRegex(logged[0], r"^pitwall\." + expected)
                if client.recorder is None:
                    self.start()
                self.assertEqual(self.warnings(call), [], "once")

    def test_only_invalid_arguments_of_init_are_ignored(self):
        for wrong, expected in INITS:
            with self.subTest(expected):
                _guard._logged.clear()
                logged = self.warnings(lambda: self.start(**wrong))
                self.assertEqual(len(logged), 1, logged)
                self.assertRegex(logged[0], r"^pitwall\." + expected)
                self.assertIsNotNone(self.recorder(), "the client must run despite the invalid argument")

    def test_valid_part_of_invalid_call_is_used(self):
        collector = self.collector()
        self.start(collector)
        for _ in pitwall.steps([1, 2], start="one"):
            pitwall.log(loss=0.5, name="abc", step="x")
        collector.wait_for(lambda c: len(c.values()) == 2 and len([s for s in c.spans() if s["name"] == "step"]) == 2)
        self.assertEqual([(v["metric"], v["step_plus_one"]) for v in collector.values()], [("train_loss", 1), ("train_loss", 2)])

    def test_valid_calls_do_not_log(self):
        collector = self.collector()

        def right():
            self.start(collector, rank=1, labels={"a": 1})
            for _ in pitwall.steps([1, 2], start=4):
                with pitwall.phase("forward"), pitwall.mode("eval"), pitwall.step(3), pitwall.checkpoint(2):
                    pitwall.log({"a b": 1}, loss=True, step=3, labels={"x": 1})
                    pitwall.log_classification([0, 1], [1, 1])
            pitwall.profile([9], tools="python")
            pitwall.finish("failed", 2)
        _guard._logged.clear()
        self.assertEqual(self.warnings(right), [])


if __name__ == "__main__":
    unittest.main()
