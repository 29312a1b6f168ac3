#!/usr/bin/env python3
"""Tests deploy/record_scrapes.py over real HTTP: exporters in the documented text format alongside targets that are slow, send invalid data, or die.
Then runs the recording through `pitwall backtest`. Faulty targets must not cause data loss for a healthy target. Each faulty target is skipped,
counted, and reported.

record_scrapes_test.py BINARY
"""
import gzip
import http.server
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zlib

from dcgm import DcgmExporter, NOT_SUPPORTED
from node_exporter import NodeExporter

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORD = os.path.join(REPO, "deploy", "record_scrapes.py")
BINARY = None
GOOD = "# TYPE a_total counter\na_total{x=\"1\"} 5\nb 2\n"


class Exporters(http.server.ThreadingHTTPServer):
    """A server on which each path is a target: a function of (handler, seconds since the start)."""
    daemon_threads = True

    def __init__(self, test, targets, address="127.0.0.1"):
        super().__init__((address, 0), Handler)
        test.addCleanup(self.end)
        self.targets, self.began = targets, time.monotonic()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, name):
        return "http://%s:%d/%s" % (*self.server_address, name)

    def end(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        pass  # the test's clients disconnect on purpose


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.targets[self.path[1:]](self, time.monotonic() - self.server.began)

    def answer(self, body, length=None, **headers):
        body = body.encode() if isinstance(body, str) else body
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        self.wfile.write(body)


def text_of(text):
    return lambda handler, _: handler.answer(text)


def slow(handler, _):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b"a 1\n")
        handler.wfile.flush()
        time.sleep(0.2)


def endless(handler, _):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(1 << 30):
        handler.wfile.write(MEGABYTE)


def bombed():
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(pack.compress(MEGABYTE) for _ in range(64)) + pack.flush()


MEGABYTE = b'a{x="1"} 1\n' * (1 << 20 >> 3)
BOMB = bombed()


def changing(handler, _):
    handler.server.turn = not getattr(handler.server, "turn", False)
    handler.answer("# TYPE a %s\na 1\n" % ("gauge" if handler.server.turn else "counter"))


# name: (behavior, expected report)
ODD = {
    "slow": (slow, r"incomplete after 1.5 s"),
    "endless": (endless, r"longer than 16 MiB|incomplete after"),
    "bomb": (lambda handler, _: handler.answer(BOMB, Content_Encoding="gzip"), r"longer than 16 MiB|incomplete after"),
    "cut": (lambda handler, _: handler.answer(GOOD, length=5000), r"truncated"),
    "no-end": (text_of(GOOD.rstrip("\n")), r"truncated \(the last line has no line end\)"),
    "html": (text_of("<html><body>Log in</body></html>\n"), r"line 1: malformed \(<html>"),
    "value": (text_of(GOOD + "c many\n"), r"line 4: the value is not a number \(many\)"),
    "labels": (text_of("a{x=1} 3\n"), r"line 1: malformed"),
    "twice": (text_of('a{x="1",x="2"} 3\n'), r"duplicate label"),
    "bytes": (text_of(b"\xff\xfe\n"), r"not UTF-8"),
    "gzip": (lambda handler, _: handler.answer(gzip.compress(GOOD.encode())[:20], Content_Encoding="gzip"), r"truncated"),
    "not-gzip": (lambda handler, _: handler.answer(GOOD, Content_Encoding="gzip"), r"not gzip"),
    "brotli": (lambda handler, _: handler.answer(GOOD, Content_Encoding="br"), r"unsupported content encoding \(br\)"),
    "missing": (lambda handler, _: handler.send_error(404), r"HTTP status \(404"),
    "many": (text_of("".join('a{x="%d"} 1\n' % number for number in range(50_001))), r"more than 50000 series"),
}
KEPT = {  # samples that are dropped from an accepted response
    "duplicates": (text_of(GOOD + "b 3\n"), r"1 duplicate samples", "duplicate"),
    "long": (text_of(GOOD + 'c{x="%s"} 1\n' % ("y" * 10_000)), r"1 samples with a label beyond", "long_label"),
    "changing": (changing, r"1 families of another type", "changed_type"),
    "nan": (text_of(GOOD + "c NaN\nd +Inf\n"), None, None),
}


class Recording(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.out = os.path.join(self.folder.name, "recorded.prom")

    def tearDown(self):
        self.folder.cleanup()

    def record(self, urls, *flags):
        self.done = subprocess.run([sys.executable, RECORD, "--job", "run", "--out", self.out, *flags, *urls],
                                   capture_output=True, text=True, timeout=120)
        self.assertNotIn("Traceback", self.done.stderr)
        counts = {}
        for line in self.done.stderr.splitlines():
            found = re.match(r"record_scrapes: http://[\d.:]+/(\S+): (scrapes .*)$", line)
            if found:
                counts[found[1]] = {pair.split(" ")[0]: int(pair.split(" ")[1]) for pair in found[2].split(", ")}
        return counts

    def messages(self, name):
        return "\n".join(line for line in self.done.stderr.splitlines() if "/%s: " % name in line)

    def backtest(self, *rules):
        done = subprocess.run([BINARY, "backtest", "--format", "openmetrics", "--no-status", "--rules", *rules, "--input", self.out],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line)["data"] for line in done.stdout.splitlines()]

    def test_invalid_target_does_not_affect_other_targets(self):
        targets = {name: odd[0] for name, odd in list(ODD.items()) + list(KEPT.items())}
        targets["good"] = text_of(GOOD)
        server = Exporters(self, targets)
        counts = self.record(map(server.url, targets), "--interval", "2", "--timeout", "1.5", "--duration", "7")
        self.assertEqual(set(counts), set(targets), self.done.stderr)
        self.assertEqual(self.done.returncode, 1)  # some targets never responded
        for name, (_, what) in ODD.items():
            self.assertEqual(counts[name]["failed"], counts[name]["scrapes"], name)
            self.assertGreater(counts[name]["scrapes"], 0, name)
            self.assertEqual(counts[name]["samples"], 0, name)
            self.assertRegex(self.messages(name), what)
            self.assertLessEqual(len(self.messages(name).splitlines()), 4, name)  # fewer lines than scrapes
        for name, (_, what, count) in KEPT.items():
            self.assertGreater(counts[name]["samples"], 0, name)
            if what:
                self.assertRegex(self.messages(name), what)
                self.assertGreater(counts[name][count], 0, name)
        self.assertEqual(counts["good"]["samples"], 2 * (counts["good"]["scrapes"] - counts["good"]["failed"]))
        self.assertEqual(counts["good"]["failed"], 0, self.messages("good"))
        # The whole recording is readable.
        rules = os.path.join(self.folder.name, "rules.yaml")
        with open(rules, "w", encoding="utf-8") as text:
            text.write('groups:\n- name: g\n  interval: 1s\n  rules:\n  - {alert: Down, expr: "up == 0", for: 2s}\n')
        self.backtest(rules)

    def test_dead_and_missing_targets_are_reported(self):
        server, dying = Exporters(self, {"good": text_of(GOOD)}), Exporters(self, {"good": text_of(GOOD)})
        process = subprocess.Popen([sys.executable, RECORD, "--job", "run", "--out", self.out, "--interval", "0.2", "--timeout", "2",
                                    server.url("good"), dying.url("good"), "http://127.0.0.1:1/metrics"], stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60

        def lines(port, up):
            with open(self.out, encoding="utf-8") as text:
                return len(re.findall(r'^up\{instance="127.0.0.1:%d",.*\} %d ' % (port, up), text.read(), re.M))
        while not os.path.exists(self.out) or lines(dying.server_port, 1) < 2:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        dying.shutdown()
        dying.server_close()
        while lines(dying.server_port, 0) < 2 or lines(server.server_port, 1) < 6:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        messages = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 1)  # one target never responded
        self.assertIn("is the exporter running there?", messages)
        self.assertEqual(lines(server.server_port, 0), 0)

    def test_lost_gpu_is_reported_from_http_scrapes(self):
        """Runs four fake exporters in the documented text format over a real transport. Only the GPU that has fallen off the bus is reported."""
        exporters = {"127.0.0.2": NodeExporter("127.0.0.2"), "127.0.0.3": NodeExporter("127.0.0.3"), "127.0.0.4": DcgmExporter("127.0.0.2"),
                     "127.0.0.5": DcgmExporter("127.0.0.3")}
        for gpu in range(4):
            exporters["127.0.0.4"].faults[gpu, "DCGM_FI_DEV_MEMORY_TEMP"] = NOT_SUPPORTED

        def serve(address):
            def text(handler, since):
                if address == "127.0.0.5" and since > 40:
                    exporters[address].faults[3, "DCGM_FI_DEV_XID_ERRORS"] = 79
                handler.answer(exporters[address].text(since))
            return Exporters(self, {"metrics": text}, address).url("metrics")
        self.record(map(serve, exporters), "--interval", "2", "--timeout", "10", "--duration", "55")
        self.assertEqual(self.done.returncode, 0)
        self.assertEqual(self.done.stderr.count("failed 0,"), 4, self.done.stderr)
        issues = self.backtest("pack:derive", "pack:gpu", "pack:fleet")
        self.assertEqual([(issue["alert"], issue["labels"]["node"], issue["labels"]["gpu"], issue["labels"]["code"]) for issue in issues],
                         [("XidRestartNode", "127.0.0.3", "3", "79")])


if __name__ == "__main__":
    BINARY = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
