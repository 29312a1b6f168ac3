"""Tests for pitwall.history with a scripted server. Parquet files are read back if pyarrow is installed."""
import contextlib
import http.server
import io
import json
import math
import os
import shutil
import tempfile
import threading
import unittest
import urllib.parse

import support  # noqa: F401  (paths)
from pitwall import history
from pitwall.history import History, HistoryError

try:
    import pyarrow.parquet as parquet
except ImportError:
    parquet = None

START = 1767225600 * 10**9
MOST = 40  # maximum number of samples per response


def samples():
    """Returns {labels: [(time, step, value)]} with two series: a loss with steps, and a gauge without steps."""
    loss = [(START + i * 60 * 10**9, i if i % 3 else -1, None if i == 5 else i / 4) for i in range(100)]
    power = [(START + i * 90 * 10**9, None, 600.0 + i) for i in range(60)]
    return {(("__name__", "train_loss"), ("note", 'a "q", b')): loss, (("__name__", "hw_power_watts"), ("gpu", "0")): power}


class Server:
    """Server with one job for GET /job, /jobs, /series, and /samples. It rejects requests for too many samples."""

    def __init__(self, token=""):
        outer = self
        self.asked = []
        self.token = token

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                url = urllib.parse.urlparse(self.path)
                query = urllib.parse.parse_qs(url.query)
                outer.asked.append((url.path, query))
                if outer.token and self.headers.get("Authorization") != "Bearer " + outer.token:
                    return self.answer(401, "no token\n")
                code, body = outer.answer(url.path, query)
                self.answer(code, json.dumps(body))

            def answer(self, code, text):
                self.send_response(code)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def answer(self, path, query):
        route = path.replace("/api/pitwall/v1", "")
        if route == "/jobs":
            page = int(query.get("page", ["0"])[0])
            return 200, {"jobs": [{"id": "j%d" % page}], "next": str(page + 1) if page < 2 else None, "total": 3}
        if query.get("job") != ["j"]:
            return 404, {"error": {"code": "not_found", "message": "job: not found (x); see /jobs"}}
        if route == "/job":
            times = [t for rows in samples().values() for t, _, _ in rows]
            return 200, {"id": "j", "first_ns": str(min(times)), "last_ns": str(max(times))}
        begin, end = int(query["from"][0]), int(query["to"][0])
        series = []
        for labels, rows in sorted(samples().items()):
            if not any(dict(labels)["__name__"] == m for m in query["match"]):
                continue
            rows = [r for r in rows if begin <= r[0] < end]
            if rows:
                series.append({"labels": dict(labels), "kind": "gauge", "times_ns": [str(r[0]) for r in rows],
                               "values": [r[2] for r in rows],
                               "steps": None if rows[0][1] is None else [None if r[1] < 0 else r[1] for r in rows]})
        if sum(len(s["values"]) for s in series) > MOST:
            return 422, {"error": {"code": "resource_exhausted", "message": "more than %d samples" % MOST}}
        return 200, {"series": series}


class HistoryTest(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.history = History(self.server.url + "/")
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "out")

    def test_large_time_ranges_are_split(self):
        found = self.history.series("j", ["train_loss", "hw_power_watts"])
        self.assertEqual([s.metric for s in found], ["hw_power_watts", "train_loss"])
        refused = [q for p, q in self.server.asked if p.endswith("/samples")]
        self.assertGreater(len(refused), 4)
        for one, (labels, rows) in zip(found, sorted(samples().items())):
            self.assertEqual(one.labels, dict(labels))
            self.assertEqual(list(one.times_ns), [r[0] for r in rows])
            self.assertEqual([None if math.isnan(v) else v for v in one.values], [r[2] for r in rows])
            self.assertEqual(one.steps and list(one.steps), [r[1] for r in rows] if rows[0][1] is not None else None)

    def test_range_and_steps_are_passed_to_the_server(self):
        self.history.series("j", "train_loss", START, START + 10**9, steps=(10, 21))
        path, query = self.server.asked[-1]
        self.assertEqual((query["from"], query["to"]), ([str(START)], [str(START + 10**9)]))
        self.assertEqual((query["mode"], query["from_step"], query["to_step"]), (["train"], ["10"], ["21"]))
        self.assertEqual([p for p, _ in self.server.asked], ["/api/pitwall/v1/samples"])

    def test_all_pages_of_jobs_are_read(self):
        self.assertEqual([j["id"] for j in self.history.jobs(state="ended")], ["j0", "j1", "j2"])
        self.assertEqual(self.server.asked[0][1]["state"], ["ended"])

    def test_errors_include_server_message(self):
        with self.assertRaisesRegex(HistoryError, r"HTTP 404: job: not found \(x\); see /jobs"):
            self.history.job("x")
        with self.assertRaises(ValueError):
            self.history.series("j", [])
        self.server.token = "secret"
        with self.assertRaisesRegex(HistoryError, "401: no token; use a token"):
            self.history.job("j")
        self.assertEqual(History(self.server.url, token="secret").job("j")["id"], "j")
        with self.assertRaisesRegex(HistoryError, "no response .*; check that Pitwall runs there with the insights role"):
            History("http://127.0.0.1:1").job("j")

    def test_time_range_that_cannot_be_split_raises_error(self):
        with self.assertRaisesRegex(HistoryError, "422: more than"):
            many = START, START + 10**9
            self.server.answer = lambda *_: (422, {"error": {"message": "more than 1 series"}})
            self.history.series("j", "x", *many)
        self.assertEqual(len(self.server.asked), 1)

    def test_csv_file_has_one_row_per_sample(self):
        self.assertEqual(self.history.to_csv("j", "train_loss", self.path), 100)
        with open(self.path) as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[0], "metric,labels,time_ns,step,value")
        self.assertEqual(lines[2], 'train_loss,"{note=""a \\""q\\"", b""}",%d,1,0.25' % (START + 60 * 10**9))
        self.assertTrue(lines[1].endswith(",,0.0"))
        self.assertTrue(lines[6].endswith(",5,NaN"))

    @unittest.skipUnless(parquet, "pyarrow is not installed")
    def test_parquet_file_has_all_samples(self):
        self.assertEqual(self.history.to_parquet("j", ["train_loss", "hw_power_watts"], self.path), 160)
        table = parquet.read_table(self.path)
        self.assertEqual(table.num_rows, 160)
        columns = {name: table.column(name).to_pylist() for name in ("metric", "labels", "step", "value")}
        columns["time"] = table.column("time").cast("int64").to_pylist()
        for labels, rows in samples().items():
            metric = dict(labels)["__name__"]
            found = sorted((t, s, None if math.isnan(v) else v) for m, t, s, v in
                           zip(*(columns[c] for c in ("metric", "time", "step", "value"))) if m == metric)
            self.assertEqual(found, [(t, None if s is None or s < 0 else s, v) for t, s, v in rows])
        self.assertEqual(table.schema.field("time").type.tz, "UTC")

    @unittest.skipIf(parquet, "pyarrow is installed")
    def test_parquet_without_pyarrow_raises_error_with_advice(self):
        with self.assertRaisesRegex(HistoryError, "run `pip install pyarrow`, or use to_csv"):
            self.history.to_parquet("j", "train_loss", self.path)
        self.assertFalse(os.path.exists(self.path))

    def test_command_writes_csv_and_reports_errors(self):
        output, wrong = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output):
            self.assertEqual(history._main(["csv", "j", "--match", "train_loss", "--output", self.path, "--url", self.server.url]), 0)
        self.assertEqual(json.loads(output.getvalue()), {"samples": 100, "file": self.path})
        with contextlib.redirect_stderr(wrong):
            self.assertEqual(history._main(["csv", "x", "--match", "a", "--output", self.path, "--url", self.server.url]), 1)
        self.assertIn("job: not found", wrong.getvalue())


if __name__ == "__main__":
    unittest.main()
