"""Shared helpers for the callback tests. A test is skipped if its framework is not installed; tests/stages/parts/torch.sh installs all three."""
import importlib
import os
import unittest

import support

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")


def framework(name):
    """Returns the module or None, and a decorator that skips tests if the module is not installed."""
    try:
        module, note = importlib.import_module(name), ""
    except ImportError as missing:
        module, note = None, "%s is not installed (%s); tests/stages/parts/torch.sh installs it" % (name, missing)
    return module, unittest.skipIf(module is None, note)


class CallbackTest(support.ClientTest):
    def setUp(self):
        super().setUp()
        self.fake = self.collector()
        self.start(self.fake)

    def loop_is_open(self):
        return self.recorder().loops.open

    def wait_until_loop_closed(self):
        """Waits until the collector receives the closed state. A framework that raises does not call a callback, so the client must detect the
        end."""
        self.fake.wait_for(lambda c: self.loop_is_open() is False and [u["loop_open"] for u in c.messages("update")][-1:] == [False])

    def sent(self):
        """Ends the client and returns the values as (metric, labels, value, step, mode)."""
        import pitwall
        pitwall.finish(timeout=5)
        self.fake.wait_for(lambda c: c.messages("goodbye"))
        return [(v["metric"], {p["name"]: p["value"] for p in v["labels"]}, v["value"], v["step_plus_one"] - 1,
                 v["mode"]) for v in self.fake.values()]

    def of(self, values, metric, mode="train", /, **labels):
        """Returns [(step, value)] of one series."""
        return [(step, value) for name, pairs, value, step, of_mode in values
                if name == metric and pairs == labels and of_mode == mode]

    def spans_of(self, name, mode="train"):
        """Returns the step numbers of the spans with this name; -1 stands for a span outside any step."""
        return [s["step_plus_one"] - 1 for s in self.fake.spans() if s["name"] == name and s["mode"] == mode]
