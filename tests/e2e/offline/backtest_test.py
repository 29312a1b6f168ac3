#!/usr/bin/env python3
"""Tests `pitwall backtest --format openmetrics` against independent implementations: the Prometheus Python client library, a Prometheus TSDB, and the
verdicts of `promtool test rules`.

backtest_test.py BINARY
"""
import datetime
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import REPO, fetch, wait_for, write  # noqa: E402

BINARY = None
HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pitwall", "venv", "bin", "python")
BASE = 1767225600
SEED = 20260101

# No sample is at the left edge of a window, because Prometheus 2 and 3 treat that edge differently.
RULES = """
groups:
- name: g
  interval: 30s
  rules:
  - record: node:load:avg
    expr: avg by (node) (load)
  - alert: High
    expr: load > 8
    for: 1m
  - alert: NodeHigh
    expr: node:load:avg > 6
    labels: {severity: critical}
  - alert: Busy
    expr: avg_over_time(load[100s]) > 6
    for: 30s
  - alert: Slow
    expr: rate(work_total[130s]) < 0.4
    for: 1m
  - alert: Gone
    expr: absent(heartbeat)
"""


# Expressions that are not allowed in live rules. No sample coincides with a fixed time used in them or with the edge of a range.
OTHER_TIMES = [
    "load offset -5m > 8",
    "avg_over_time(load[95s] offset -100s) > 6",
    "load > load offset -2m + 3",
    "load > 1.2 * avg_over_time(load[595s] @ %d)" % (BASE + 1807),
    "load @ %d offset 1m > 4 and load > 4" % (BASE + 1807),
    "predict_linear(load[205s] offset -1m, 60) > 9",
    "timestamp(load offset -5m) - time() < 300",
    "max_over_time((load offset -1m)[310s:1m]) > 9",
    "rate(work_total[130s]) > on (node) 0.5 * max_over_time(rate(work_total[130s])[610s:30s] @ %d)" % (BASE + 1807),
    "load >= on (node, gpu) load @ start() + 3",
    "load <= on (node, gpu) last_over_time(load[65s] @ end()) - 3",
    "absent(load offset -90m)",
]


def backtest(*arguments):
    return subprocess.run([BINARY, "backtest", "--format", "openmetrics", *arguments],
                          capture_output=True, text=True, timeout=60)


def events(*arguments):
    done = backtest(*arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def seconds(text):
    """Converts the time of an event to whole Unix seconds."""
    return int(datetime.datetime.fromisoformat(text[:19] + "+00:00").timestamp())


def found(all_events):
    return [(seconds(e["time"]), e["data"]["alert"], e["data"]["labels"])
            for e in all_events if e["type"] == "io.pitwall.issue.found"]


def series(name, labels):
    return name + ("{%s}" % ",".join('%s="%s"' % pair for pair in sorted(labels.items())) if labels else "")


class Data:
    """Random series with gaps and a sample every 15 s: {series: [value or None, …]}."""

    def __init__(self, samples):
        rng = random.Random(SEED)
        self.samples = samples
        self.series = {}
        for node in "ab":
            for gpu in "01":
                level, values = 5, []
                for _ in range(samples):
                    level = min(10, max(0, level + rng.choice([-2, -1, 0, 0, 1, 2])))
                    values.append(level if rng.random() > 0.05 else None)
                self.series[series("load", {"node": node, "gpu": gpu})] = values
            total, values = 0, []
            for i in range(samples):
                total += rng.choice([0, 1, 10]) if i % 40 < 20 else 12
                if rng.random() < 0.02:
                    total = 0
                values.append(total)
            self.series[series("work_total", {"node": node})] = values
        self.series["heartbeat"] = [1 if i <= 133 or i > 200 else None for i in range(samples)]  # 133 * 15 s is not a tick

    def openmetrics(self, base):
        lines = []
        for name, values in self.series.items():
            lines += ["%s %d %d" % (name, value, base + 15 * i) for i, value in enumerate(values) if value is not None]
        return "\n".join(lines) + "\n# EOF\n"


class OpenMetricsBacktest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="pitwall-backtest-")
        self.addCleanup(shutil.rmtree, self.dir)

    def file(self, name, text):
        return write(os.path.join(self.dir, name), text)

    def promtool(self, *arguments):
        tool = shutil.which("promtool")
        self.assertIsNotNone(tool, "promtool is not installed; run deploy/install-deps.sh tests")
        done = subprocess.run([tool, *arguments], capture_output=True, text=True, timeout=120, cwd=self.dir)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_events_match_promtool_verdicts(self):
        """Derives the firing alerts at each tick from our events, writes them as a promtool unit test, and runs the test."""
        data = Data(400)
        rules = self.file("rules.yaml", RULES)
        got = events("--rules", rules, "--input", self.file("run.om", data.openmetrics(0)), "--no-status")
        firing, changes = {}, {}
        for event in got:
            changes.setdefault(seconds(event["time"]), []).append(event)
        last = 15 * (data.samples - 1)
        test = ["rule_files: [rules.yaml]", "evaluation_interval: 30s", "tests:", "- interval: 15s", "  input_series:"]
        for name, values in data.series.items():
            test.append("  - {series: '%s', values: '%s'}" % (name, " ".join("_" if v is None else str(v) for v in values)))
        test.append("  alert_rule_test:")
        alerts = ["High", "NodeHigh", "Busy", "Slow", "Gone"]
        ticks = 0
        for tick in range(0, last + 1, 30):
            for event in changes.get(tick, []):
                key = (event["data"]["alert"], json.dumps(event["data"]["labels"], sort_keys=True))
                if event["type"] == "io.pitwall.issue.found":
                    firing[key] = event["data"]["labels"]
                elif event["type"] == "io.pitwall.issue.resolved":
                    del firing[key]
            for alert in alerts:
                ticks += 1
                test.append("  - eval_time: %ds\n    alertname: %s" % (tick, alert))
                labels = [{k: v for k, v in one.items() if k != "alertname"} for key, one in firing.items() if key[0] == alert]
                if labels:
                    test.append("    exp_alerts: " + json.dumps([{"exp_labels": one} for one in labels]))
        times = {alert: {e["time"] for e in got if e["data"]["alert"] == alert} for alert in alerts}
        for alert in alerts:  # each alert starts and ends, most of them repeatedly
            self.assertGreater(len(times[alert]), 1, alert)
        self.assertGreater(sum(map(len, times.values())), 100)
        path = self.file("test.yaml", "\n".join(test) + "\n")
        ours = subprocess.run([BINARY, "rules", "test", path], capture_output=True, text=True, timeout=60)
        self.assertEqual(ours.returncode, 0, ours.stdout + ours.stderr)
        self.promtool("test", "rules", path)
        # The test itself must be able to fail. If one of the firing alerts is missing, promtool reports an error.
        wrong = re.sub(r"\n    exp_alerts: .*", "", "\n".join(test), count=1) + "\n"
        with self.assertRaises(AssertionError):
            self.promtool("test", "rules", self.file("wrong.yaml", wrong))
        print("promtool checked %d alert states of %d events" % (ticks, len(got)), file=sys.stderr)

    def test_events_match_after_prometheus_tsdb_round_trip(self):
        """Stores our file in a real Prometheus database. A dump of the database must produce bit-identical events."""
        data = Data(400)
        rules = self.file("rules.yaml", RULES)
        original = self.file("run.om", data.openmetrics(BASE))
        self.promtool("tsdb", "create-blocks-from", "openmetrics", "run.om", "tsdb")
        os.makedirs(os.path.join(self.dir, "tsdb", "wal"))  # as in a directory that a Prometheus has used
        dump = self.promtool("tsdb", "dump", "tsdb")
        lines = []
        for line in dump.splitlines():
            labels, value, millis = re.fullmatch(r"(\{.*\}) (\S+) (\d+)", line).groups()
            name = re.search(r'__name__="([^"]*)"(, )?', labels)
            rest = labels.replace(name.group(0), "").replace(", ", ",")
            lines.append((name.group(1) + rest, value, int(millis)))
        count = sum(v is not None for values in data.series.values() for v in values)
        self.assertEqual(len(lines), count)
        dumped = self.file("dump.om", "".join("%s %s %.3f\n" % (n, v, t / 1000) for n, v, t in lines) + "# EOF\n")
        text = self.file("dump.txt", "".join("%s %s %d\n" % line for line in lines))
        common = ["--rules", rules, "--job", "run"]
        expected = backtest(*common, "--input", original).stdout
        self.assertGreater(expected.count("\n"), 100)
        self.assertEqual(backtest(*common, "--input", dumped).stdout, expected)
        # Prometheus's own text format with milliseconds is also supported, even split into two files, which are merged by time.
        self.assertEqual(backtest(*common, "--input", text).stdout, expected)
        half = len(lines) // 2
        parts = [self.file("part%d.txt" % i, "".join("%s %s %d\n" % line for line in part))
                 for i, part in enumerate([lines[half:], lines[:half]])]
        self.assertEqual(backtest(*common, "--input", *parts).stdout, expected)

    def prometheus(self, folder):
        """Starts a real Prometheus with these blocks and returns its address."""
        tool = shutil.which("prometheus")
        self.assertIsNotNone(tool, "prometheus is not installed; run deploy/install-deps.sh tests")
        config = self.file("prometheus.yml", "global: {}\n")
        log = os.path.join(self.dir, "prometheus.log")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % free.getsockname()[1]
        with open(log, "w") as out:
            server = subprocess.Popen([tool, "--config.file", config, "--storage.tsdb.path", folder, "--web.listen-address",
                                       address, "--storage.tsdb.retention.time", "100y"], stdout=out, stderr=out)
        self.addCleanup(lambda: (server.kill(), server.wait()))

        def ready():
            self.assertIsNone(server.poll(), "prometheus exited; see " + log)
            try:
                return fetch("http://%s/-/ready" % address)
            except OSError:
                return None
        wait_for("prometheus", ready)
        return "http://" + address

    def test_at_modifier_and_negative_offsets_match_prometheus(self):
        """Compares our issues for @ and negative offsets against a range query on a real Prometheus that has all samples."""
        data = Data(400)
        run = self.file("run.om", data.openmetrics(BASE))
        self.promtool("tsdb", "create-blocks-from", "openmetrics", "run.om", "tsdb")
        address = self.prometheus(os.path.join(self.dir, "tsdb"))
        rules = self.file("rules.yaml", "groups:\n- name: g\n  interval: 30s\n  rules:\n" + "".join(
            '  - alert: "%d"\n    expr: %s\n' % (i, expr) for i, expr in enumerate(OTHER_TIMES)))
        start, end = BASE + 600, BASE + 4800
        got = {}  # alert -> {(tick, labels): value or None}
        opened = {}
        for event in events("--rules", rules, "--input", run, "--no-status", "--start", str(start), "--end", str(end)):
            labels = {k: v for k, v in event["data"]["labels"].items() if k != "alertname"}
            key = (event["data"]["alert"], json.dumps(labels, sort_keys=True))
            if event["type"] == "io.pitwall.issue.found":
                opened[key] = seconds(event["time"])
                got.setdefault(key[0], {})[(opened[key], key[1])] = event["data"]["value"]
            elif event["type"] == "io.pitwall.issue.resolved":
                for tick in range(opened.pop(key) + 30, seconds(event["time"]), 30):
                    got[key[0]][(tick, key[1])] = None
        for (alert, labels), since in opened.items():
            for tick in range(since + 30, end + 1, 30):
                got[alert][(tick, labels)] = None
        for i, expr in enumerate(OTHER_TIMES):
            query = urllib.parse.urlencode({"query": expr, "start": start, "end": end, "step": 30})
            answer = json.loads(fetch("%s/api/v1/query_range?%s" % (address, query))[1])["data"]["result"]
            expected = {}
            for one in answer:
                labels = json.dumps({k: v for k, v in one["metric"].items() if k != "__name__"}, sort_keys=True)
                expected.update({(int(at), labels): float(value) for at, value in one["values"]})
            ours = got.get(str(i), {})
            if "[310s:1m]" in expr:  # a subquery has no data before the start
                expected, ours = ({k: v for k, v in one.items() if k[0] > start + 310} for one in (expected, ours))
            self.assertGreater(len(expected), 5, expr)
            self.assertEqual(sorted(ours), sorted(expected), expr)
            for place, value in ours.items():
                if value is not None:
                    self.assertAlmostEqual(float(value), expected[place], places=9, msg=expr)
        # The errors for rejected expressions include the position.
        for expr, said in [("max_over_time((load @ 5)[5m:1m]) > 3", "rules.yaml:5:31: error: @ reads at a fixed time"),
                           ("load @ end() > 3", "rules.yaml:5:11: error: @ or a negative offset with end() requires --end")]:
            rules = self.file("rules.yaml", "groups:\n- name: g\n  rules:\n  - alert: A\n    expr: %s\n" % expr)
            done = backtest("--rules", rules, "--input", run)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)

    def test_python_client_library_output_is_read(self):
        if not os.access(PYTHON, os.X_OK) or subprocess.run([PYTHON, "-c", "import prometheus_client"],
                                                            capture_output=True).returncode != 0:
            self.skipTest("prometheus_client is not installed; run deploy/install-deps.sh python")
        script = os.path.join(HERE, "write_openmetrics.py")
        text = subprocess.run([PYTHON, script], capture_output=True, check=True).stdout.decode()
        path = self.file("library.om", text)
        parsed = [json.loads(line) for line in subprocess.run([PYTHON, script, "--parsed", path], capture_output=True,
                                                              check=True, text=True).stdout.splitlines()]
        # One rule per name covers all of its series. The newest sample across all series is at +60.125 s.
        names = sorted({name for name, *_ in parsed})
        rules = self.file("all.yaml", "groups:\n- name: g\n  interval: 1s\n  rules:\n" + "".join(
            '  - {alert: "%s", expr: "%s"}\n' % (name, name) for name in names))
        last, first = {}, {}
        for name, labels, value, at in parsed:
            key = (name, json.dumps(labels, sort_keys=True))
            last[key] = value
            # This is the first tick at or after the first sample.
            first.setdefault(key, -int(-at // 1))
        got = {}
        for event in events("--rules", rules, "--input", path, "--no-status", "--job", "j"):
            labels = {k: v for k, v in event["data"]["labels"].items() if k != "alertname"}
            self.assertEqual(event["type"], "io.pitwall.issue.found")
            got[(event["data"]["alert"], json.dumps(labels, sort_keys=True))] = seconds(event["time"])
        self.assertEqual(got, first)
        # The newest value of each series is checked with one equality expression.
        lines = []
        for i, ((name, labels), value) in enumerate(sorted(last.items())):
            selector = "{%s}" % ",".join("%s=%s" % (k, json.dumps(v, ensure_ascii=False)) for k, v in
                                         sorted({"__name__": name, **json.loads(labels)}.items()))
            number = {"nan": "NaN", "inf": "Inf", "-inf": "-Inf"}.get(value, value)
            expr = "%s != %s" % (selector, selector) if number == "NaN" else "%s == %s" % (selector, number)
            lines.append("  - alert: \"%d\"\n    expr: %s\n" % (i, json.dumps(expr, ensure_ascii=False)))
        rules = self.file("values.yaml", "groups:\n- name: g\n  interval: 1s\n  rules:\n" + "".join(lines))
        got = {e["data"]["alert"] for e in events("--rules", rules, "--input", path, "--no-status", "--start", str(BASE + 61))}
        self.assertEqual(got, set())  # the last sample is before --start
        at_last = self.file("later.om", text.replace("# EOF\n", "last_sample 1 %d\n# EOF\n" % (BASE + 61)))
        got = [e["data"]["alert"] for e in
               events("--rules", rules, "--input", at_last, "--no-status", "--start", str(BASE + 61))]
        self.assertEqual(sorted(got, key=int), [str(i) for i in range(len(lines))])

    def test_jobs_range_and_flags_are_honored(self):
        rules = self.file("rules.yaml", "groups:\n- name: g\n  interval: 10s\n  rules:\n"
                          "  - {alert: High, expr: x > 5, for: 20s}\n")
        text = "".join('x{pitwall_job="j1",job="scrape"} 9 %d\nx 9 %d\n' % (BASE + i, BASE + i) for i in range(0, 61, 5))
        path = self.file("run.om", text + "# EOF\n")
        common = ["--rules", rules, "--input", path, "--no-status"]
        got = events(*common)
        self.assertEqual([(e["data"]["job"]["id"], e["data"]["labels"], seconds(e["time"]) - BASE) for e in got],
                         [("j1", {"alertname": "High", "job": "scrape"}, 20), ("run.om", {"alertname": "High"}, 20)])
        self.assertEqual({e["data"]["job"]["id"] for e in events(*common, "--job", "mine")}, {"j1", "mine"})
        self.assertEqual([e["type"].rsplit(".", 1)[1] for e in events(*common, "--end-job")],
                         ["found", "found", "resolved", "resolved"])
        start = ["--start", "2026-01-01T00:00:25Z", "--end", str(BASE + 55)]
        self.assertEqual([seconds(e["time"]) - BASE for e in events(*common, *start)], [50, 50])
        statuses = events("--rules", rules, "--input", path)
        self.assertTrue(any(e["type"] == "io.pitwall.rule.status" for e in statuses))
        order = [(e["time"], e["data"]["job"]["id"], e["data"]["rule"]) for e in statuses]
        self.assertEqual(order, sorted(order))
        plain = self.file("plain.yaml", "groups:\n- name: g\n  rules:\n  - {alert: High, expr: x > 5}\n")
        got = events("--rules", plain, "--input", path, "--no-status", "--evaluation-interval", "7s", "--start", str(BASE + 1))
        self.assertEqual({seconds(e["time"]) % 7 for e in got}, {0})

    def test_errors_include_their_cause(self):
        rules = self.file("rules.yaml", "groups:\n- name: g\n  rules:\n  - {alert: A, expr: x > 5}\n")
        good = self.file("good.om", "x 1 %d\n# EOF\n" % BASE)
        bad = self.file("bad.om", "x 1 %d\nx{a=\"1\" 2 %d\n# EOF\n" % (BASE, BASE))
        cut = self.file("cut.om", "x 1 %d\n" % BASE)
        empty = self.file("empty.om", "")
        for arguments, said in [
                (["--input", cut], "cut.om:1:5: the timestamp %d is in 1970" % BASE),
                (["--input", empty], "empty.om:1:1: the file does not end with # EOF"),
                (["--input", self.dir], "Is a directory"),
                (["--input", good, os.path.join(self.dir, "none.om")], "none.om: No such file"),
                ([], "--input FILE"),
                (["--input", good, "--start", "yesterday"], "--start: must be Unix seconds"),
                (["--input", good, "--start", "2", "--end", "1"], "--start: must not be later than --end"),
                (["--input", good, "--evaluation-interval", "0"], "--evaluation-interval"),
                (["--input", good, "--verify"], "--verify: requires --format log"),
                (["--input", good, "--input-format"], "--input-format: unknown option")]:
            done = backtest("--rules", rules, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(said, done.stderr)
        done = backtest("--rules", rules, "--input", bad)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("skipped 1 invalid line: %s:2:2: expected } after these labels" % bad, done.stderr)
        done = subprocess.run([BINARY, "backtest", "--format", "xml", "--input", good], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("must be log, openmetrics, csv, smdebug, chrome-trace, tensorflow, or tensorboard", done.stderr)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    os.chdir(REPO)
    unittest.main()
