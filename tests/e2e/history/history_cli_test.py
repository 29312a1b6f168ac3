#!/usr/bin/env python3
"""Tests the commands that use the history's HTTP API (jobs, query, and export) against a scripted server.

history_cli_test.py BINARY

The exports are decoded by readers that share no code with the writer: one reads protobuf fields by number, and another uses the definitions of the
PyPI package `perfetto` if it is installed.
"""
import collections
import csv
import http.server
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

BINARY = None
START = 1767225600 * 10**9
JOB = {"id": "a1b2", "name": "bert", "owner": "uid:7", "state": "ended", "first_ns": str(START), "last_ns": str(START + 3600 * 10**9),
       "started_ns": str(START), "ended_ns": str(START + 3600 * 10**9), "end_detail": "completed", "attempt_count": 1, "ranks": 4,
       "nodes": 1, "open_issues": 0, "found_issues": 2, "worst_severity": None, "samples": 123456, "bytes": 1048576,
       "raw_from_ns": None, "archived": False, "link": "/jobs/a1b2"}


def spans(seed):
    dice = random.Random(seed)
    out = []
    for rank in range(4):
        at = START
        for step in range(200):
            begin = at
            for phase in ("forward", "backward", "optimizer"):
                end = at + dice.randrange(1, 10**8)
                out.append(("phase", phase, rank, at, end, step))
                for _ in range(2):
                    a = dice.randrange(at, end)
                    out.append(("operator", "aten::op%d" % dice.randrange(9), rank, a, dice.randrange(a, end + 1), step))
                at = end
            out.append(("step", "", rank, begin, at, step))
    return sorted(out, key=lambda s: (s[3], s[2], s[0], s[1]))


class Server:
    def __init__(self):
        outer = self
        self.asked = []
        self.spans = spans(3)
        self.token = ""

        class Handler(http.server.BaseHTTPRequestHandler):
            def serve(self):
                url = urllib.parse.urlparse(self.path)
                query = urllib.parse.parse_qs(url.query)
                outer.asked.append((self.command, url.path, query))
                if outer.token and self.headers.get("Authorization") != "Bearer " + outer.token:
                    return self.answer(401, "no token\n")
                answer = outer.answer(self.command, url.path.replace("/api/pitwall/v1", ""), query)
                return self.answer(*answer) if answer else self.answer(404, "not found\n")

            do_GET = do_POST = do_DELETE = serve

            def answer(self, code, body):
                data = (body if isinstance(body, str) else json.dumps(body)).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def answer(self, method, path, query):
        if path == "/jobs":
            first = int(query.get("page", ["0"])[0])
            limit = min(int(query["limit"][0]), 2)  # a page has at most two jobs, regardless of the requested limit
            jobs = [dict(JOB, id="job-%d" % i) for i in range(first, min(5, first + limit))]
            return 200, {"jobs": jobs, "next": str(first + limit) if first + limit < 5 else None, "total": 5}
        if path in ("/job", "/job/archive", "/samples", "/spans") and query.get("job") not in (["a1b2"], ["bert"]):
            return 404, {"error": {"code": "not_found", "message": "job: not found (%s); see /jobs" % query.get("job", [""])[0]}}
        if path == "/job" and method == "DELETE":
            return 200, {"deleted": "a1b2"}
        if path == "/job":
            return 200, dict(JOB, attempts=[{"attempt": 1, "began_ns": str(START), "ended_ns": str(START + 3600 * 10**9),
                                             "end_detail": "completed", "lost": []}], sources=[], found={"g/StragglerRank": 2},
                             summary={"parts": [{"part": "training_loop", "seconds": 3590.5, "share": 0.997}]})
        if path == "/job/archive":
            return 200, {"job": "a1b2", "folder": "/archive/" + query.get("name", ["a1b2"])[0]}
        if path == "/spans":
            return 200, self.span_page(query)
        if path == "/samples":
            begin, end = int(query["from"][0]), int(query["to"][0])
            times = [t for t in range(START, START + 3600 * 10**9, 10**10) if begin <= t < end]
            if len(times) > 100:
                return 422, {"error": {"code": "resource_exhausted", "message": "too many samples"}}
            return 200, {"series": [{"labels": {"__name__": "train_loss", "rank": "0"}, "kind": "gauge", "times_ns": [str(t) for t in times],
                                     "values": [(t - START) / 1e10 for t in times], "steps": [(t - START) // 10**10 for t in times]}]}
        if path == "/api/v1/query":
            if query["query"] == ["bad("]:
                return 400, {"status": "error", "errorType": "bad_data", "error": "1:5: parse error: unclosed left parenthesis"}
            return 200, {"status": "success", "data": {"resultType": "vector", "result": [
                {"metric": {"__name__": "up", "job": "a1b2"}, "value": [1767225600.5, "12345.5"]}]}}
        if path == "/api/v1/query_range":
            begin, end, step = (float(query[k][0]) for k in ("start", "end", "step"))
            points = [[begin + i * step, str(i % 50)] for i in range(int((end - begin) / step) + 1)]
            return 200, {"status": "success", "warnings": ["take care"], "data": {"resultType": "matrix", "result": [
                {"metric": {"__name__": "x", "rank": str(r)}, "values": points} for r in range(10)]}}
        return None

    def span_page(self, query):
        chosen = self.spans
        if "rank" in query:
            chosen = [s for s in chosen if str(s[2]) in query["rank"]]
        if "from_step" in query:
            chosen = [s for s in chosen if int(query["from_step"][0]) <= s[5] < int(query["to_step"][0])]
        if "from" in query:
            chosen = [s for s in chosen if s[4] > int(query["from"][0])]
        if "to" in query:
            chosen = [s for s in chosen if s[3] < int(query["to"][0])]
        first = int(query.get("page", ["0"])[0])
        page = chosen[first:first + 1000]
        return {"spans": {"kind": [s[0] for s in page], "name": [s[1] for s in page], "rank": [s[2] for s in page],
                          "start_ns": [str(s[3]) for s in page], "end_ns": [str(s[4]) for s in page], "step": [s[5] for s in page],
                          "mode": ["train"] * len(page), "node": ["n0"] * len(page), "source": ["rank-%d@n0" % s[2] for s in page]},
                "next": str(first + 1000) if first + 1000 < len(chosen) else None}


def fields(data):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            assert tag & 7 == 2, tag
            size = varint()
            yield tag >> 3, data[at:at + size]
            at += size


def first(data, number, other=None):
    return next((value for field, value in fields(data) if field == number), other)


def plain_events(data):
    """Decodes a trace by field numbers. Returns ({track: (name, parent)}, [(time, type, track, name)])."""
    names, tracks, events = {}, {}, []
    for _, packet in fields(data):
        interned, descriptor, event = first(packet, 12), first(packet, 60), first(packet, 11)
        for field, entry in fields(interned or b""):
            names[first(entry, 1)] = first(entry, 2).decode()
        if descriptor:
            title = first(descriptor, 2) or first(first(descriptor, 3, b""), 6)
            tracks[first(descriptor, 1)] = (title.decode(), first(descriptor, 5))
        if event:
            events.append((first(packet, 8), first(event, 9), first(event, 11), names.get(first(event, 10))))
    return tracks, events


def package_events(data):
    """Decodes a trace with the definitions of the perfetto package. Returns the same result as plain_events()."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
    trace = pb.Trace()
    trace.ParseFromString(data)
    names, tracks, events = {}, {}, []
    for packet in trace.packet:
        for entry in packet.interned_data.event_names:
            names[entry.iid] = entry.name
        if packet.HasField("track_descriptor"):
            d = packet.track_descriptor
            tracks[d.uuid] = (d.name or d.process.process_name, d.parent_uuid or None)
        if packet.HasField("track_event"):
            e = packet.track_event
            kind = {pb.TrackEvent.TYPE_SLICE_BEGIN: 1, pb.TrackEvent.TYPE_SLICE_END: 2}[e.type]
            events.append((packet.timestamp, kind, e.track_uuid, names.get(e.name_iid) if kind == 1 else None))
    return tracks, events


def slices(tracks, events):
    """Returns slices as Perfetto builds them: events are processed in time order, and an end event closes the innermost open slice of its
    track."""
    open_, out = collections.defaultdict(list), collections.Counter()
    for time, kind, track, name in sorted(events, key=lambda e: e[0]):
        if kind == 1:
            open_[track].append((time, name))
            continue
        begin, name = open_[track].pop()
        title, parent = tracks[track]
        out[tracks[parent][0], title, name, begin, time] += 1
    assert not any(open_.values())
    return out


def readers():
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2  # noqa: F401
    except Exception:
        return [plain_events]
    return [plain_events, package_events]


class HistoryCommandsTest(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.dir = tempfile.mkdtemp(prefix="pitwall-history-")
        self.addCleanup(shutil.rmtree, self.dir)

    def run_(self, *arguments, code=0, url=True):
        done = subprocess.run([BINARY, *arguments] + (["--url", self.server.url] if url else []), capture_output=True, text=True,
                              timeout=60, cwd=self.dir)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done.stderr if code else done.stdout

    def test_jobs_are_listed_page_by_page(self):
        lines = self.run_("jobs", "list").splitlines()
        self.assertEqual(lines[0].split(), "JOB STATE STARTED LASTED ATTEMPTS RANKS OPEN FOUND WORST SAMPLES BYTES".split())
        self.assertEqual([line.split()[0] for line in lines[1:]], ["job-%d" % i for i in range(5)])
        self.assertIn("123.5 k", lines[1])
        jobs = [json.loads(line) for line in self.run_("jobs", "list", "--json", "--state", "ended").splitlines()]
        self.assertEqual(jobs[4], dict(JOB, id="job-4"))
        self.assertEqual(self.server.asked[-1][2]["state"], ["ended"])
        self.assertEqual(len(self.run_("jobs", "list", "--limit", "3", "--json").splitlines()), 3)

    def test_job_is_shown_archived_and_deleted(self):
        page = self.run_("jobs", "show", "bert")
        for text in ("job      a1b2", "completed", "g/StragglerRank  2", "training_loop  59m50s500ms  99.7 %"):
            self.assertIn(text, page)
        self.assertEqual(json.loads(self.run_("jobs", "show", "bert", "--json"))["found"], {"g/StragglerRank": 2})
        self.assertIn("archived in /archive/cold", self.run_("jobs", "archive", "a1b2", "--name", "cold"))
        self.assertIn("a1b2 deleted", self.run_("jobs", "delete", "a1b2"))
        self.assertEqual([m for m, _, _ in self.server.asked[-2:]], ["POST", "DELETE"])
        self.assertEqual(json.loads(self.run_("jobs", "delete", "a1b2", "--json")), {"deleted": "a1b2"})
        self.assertIn("job: not found (x); see /jobs", self.run_("jobs", "show", "x", code=1))

    def test_data_dir_flag_reads_log_instead_of_history(self):
        log = os.path.join(self.dir, "data")
        subprocess.run([BINARY, "loadgen", "--data-dir", log, "--gpus", "1", "--cores", "0", "--duration", "5s"], check=True,
                       capture_output=True, timeout=60)
        done = subprocess.run([BINARY, "jobs", "list", "--data-dir", log], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(self.server.asked, [])
        self.assertIn("specify only one of them", self.run_("jobs", "list", "--data-dir", log, code=2))
        self.assertIn("--data-dir: unknown option", self.run_("jobs", "delete", "x", "--data-dir", log, code=2, url=False))

    def test_missing_token_is_reported_and_token_file_is_sent(self):
        self.server.token = "secret"
        self.assertIn("specify --token-file", self.run_("jobs", "show", "bert", code=1))
        path = os.path.join(self.dir, "token")
        with open(path, "w") as out:
            out.write("secret\n")
        self.run_("jobs", "show", "bert", "--token-file", path)

    def test_missing_server_or_history_error_suggests_fix(self):
        self.assertIn("is Pitwall running there with insights enabled?", self.run_("query", "up", "--url", "http://127.0.0.1:1", code=1, url=False))
        self.server.answer = lambda *_: None
        self.assertIn("does not serve history", self.run_("query", "up", code=1))
        self.server.answer = lambda *_: (200, "<html>")
        self.assertIn("malformed JSON", self.run_("query", "up", code=1))
        self.server.answer = lambda *_: (200, {"jobs": 5})
        self.assertRegex(self.run_("jobs", "list", code=1), "/jobs: unexpected response")
        self.server.answer = lambda *_: (200, {"job": []})
        self.assertRegex(self.run_("jobs", "list", code=1), "unexpected response")

    def test_query_results_are_tables(self):
        self.assertEqual(self.run_("query", "up"), '12345.5  up{job="a1b2"}\n')
        self.assertEqual(json.loads(self.run_("query", "up", "--json"))["resultType"], "vector")
        self.assertIn("1:5: parse error", self.run_("query", "bad(", code=2))
        lines = self.run_("query", "x", "--start", "2026-01-01T00:00:00Z", "--end", "2026-01-01T00:10:00Z", "--step", "10s").splitlines()
        self.assertEqual(lines[0].split(), "points least mean greatest last series".split())
        self.assertEqual(lines[1].split(), ["61", "0", "20.98", "49", "10", 'x{rank="0"}'])
        query = self.server.asked[-1][2]
        self.assertEqual((query["start"], query["end"], query["step"]), (["1767225600"], ["1767226200"], ["10"]) if
                         query["start"] == ["1767225600"] else (["1.7672256e+09"], ["1.7672262e+09"], ["10"]))
        points = self.run_("query", "x", "--start", "2026-01-01T00:00:00Z", "--end", "2026-01-01T00:00:30Z", "--step", "10s", "--points")
        self.assertIn("  2026-01-01 00:00:20  2\n", points)
        for flags, said in [(("--start", "soon"), "--start: must be a time like"), (("--step", "1ms"), "at most 11000 points"),
                            (("--start", "now", "--end", "-1h"), "must be earlier than"), (("--time", "now", "--plot"), "applies only to instant queries")]:
            self.assertIn(said, self.run_("query", "x", *flags, code=2))

    def test_plot_fits_in_terminal_width(self):
        plot = self.run_("query", "x", "--plot", "--start", "2026-01-01T00:00:00Z", "--end", "2026-01-01T01:00:00Z")
        lines = plot.splitlines()
        self.assertLessEqual(max(map(len, lines)), 84)
        self.assertEqual(sum(line.startswith("x{rank=") for line in lines), 8)
        self.assertEqual(sum(line.startswith("       49 |") for line in lines), 8)
        self.assertGreater(sum(0x2801 <= ord(c) <= 0x28ff for c in plot), 500)
        self.assertRegex(lines[-1], r"2026-01-01 00:00:00 +2026-01-01 01:00:00 UTC")

    def test_exported_trace_matches_history(self):
        output = os.path.join(self.dir, "out.pftrace")
        for flags, wanted in [((), lambda s: True), (("--ranks", "1-2"), lambda s: s[2] in (1, 2)),
                              (("--steps", "10-19"), lambda s: 10 <= s[5] <= 19)]:
            said = json.loads(self.run_("export", "bert", "--output", output, "--json", *flags))
            with open(output, "rb") as file:
                data = file.read()
            names = {"step": "steps", "phase": "phases", "operator": "operators"}
            expected = collections.Counter(("rank %d (n0)" % r, names[k], n or "step", a, b) for k, n, r, a, b, _ in
                                           filter(wanted, self.server.spans))
            self.assertEqual((said["spans"], said["bytes"], said["file"]), (sum(expected.values()), len(data), output))
            for reader in readers():
                self.assertEqual(slices(*reader(data)), expected, reader.__name__)

    def test_export_size_is_reported_before_writing(self):
        done = subprocess.run([BINARY, "export", "bert", "--dry-run", "--url", self.server.url], capture_output=True, text=True,
                              timeout=60, cwd=self.dir)
        self.assertRegex(done.stderr, r"^8000 spans of 4 ranks, \d.* [KM]iB\n$")
        self.assertEqual(os.listdir(self.dir), [])
        self.run_("export", "bert")
        self.assertEqual(os.listdir(self.dir), ["bert.pftrace"])
        self.assertIn("more than 100 spans; narrow", self.run_("export", "bert", "--max-spans", "100", code=1))
        self.assertIn("no spans in this range", self.run_("export", "bert", "--ranks", "77", code=1))

    def test_csv_export_contains_each_sample_once(self):
        rows = list(csv.reader(self.run_("export", "bert", "--format", "csv", "--match", "train_loss").splitlines()))
        self.assertEqual(rows[0], ["metric", "labels", "time_ns", "step", "value"])
        self.assertEqual(len(rows), 361)
        for i, row in enumerate(rows[1:]):
            self.assertEqual(row, ["train_loss", '{rank="0"}', str(START + i * 10**10), str(i), str(i)])
        path = os.path.join(self.dir, "out.csv")
        said = json.loads(self.run_("export", "bert", "--format", "csv", "--match", "train_loss", "--output", path, "--json"))
        self.assertEqual((said["samples"], said["bytes"]), (360, os.path.getsize(path)))

    def test_invalid_flag_errors_suggest_valid_values(self):
        for arguments, said in [(("--format", "parquet"), "python3 -m pitwall.history parquet"), (("--format", "xml"), "--format: must be perfetto or csv"),
                                (("--format", "csv"), "--match: value is missing"), (("--steps", "9-3"), "--steps: must be a number or a range like 8 or 100-120"),
                                (("--ranks", "a"), "--ranks: must be a number or a range like"), (("--from", "soon"), "--from: must be a time like")]:
            self.assertIn(said, self.run_("export", "bert", *arguments, code=2))


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main()
