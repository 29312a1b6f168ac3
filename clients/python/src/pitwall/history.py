"""Client for the job history kept by Pitwall's insights role. Intended for notebooks and scripts, not for training jobs.

    from pitwall.history import History
    history = History("http://127.0.0.1:9870")
    for series in history.series("resnet", 'train_loss{rank="0"}'):
        print(series.labels, series.times_ns[0], series.values[0])
    history.to_parquet("resnet", ["train_loss", "hw_gpu_utilization_ratio"], "resnet.parquet")

Requires only the standard library, and pyarrow for Parquet. For the command line, see python3 -m pitwall.history --help.
"""
import argparse
import csv
import json
import math
import sys
import urllib.error
import urllib.parse
import urllib.request
from array import array
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

__all__ = ["History", "HistoryError", "Series"]

DEFAULT_URL = "http://127.0.0.1:9870"
PREFIX = "/api/pitwall/v1"
NO_STEP = -1
STRETCH_NS = 3600 * 10**9
LEAST_STRETCH_NS = 10**9
TIMEOUT_S = 120
Selectors = Union[str, Sequence[str]]
Parameters = List[Tuple[str, str]]


class HistoryError(Exception):
    """Raised if a request to the history fails. `status` is the HTTP status, or 0 if the server did not respond."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Series:
    """Samples of one series in columns: times_ns (array of int64, Unix nanoseconds), values (array of double), and steps (array of int64, -1 for a
    sample without a step; None if no sample has a step). All columns have the same length."""

    __slots__ = ("labels", "kind", "times_ns", "values", "steps")

    def __init__(self, labels: Dict[str, str], kind: str) -> None:
        self.labels = labels
        self.kind = kind
        self.times_ns = array("q")
        self.values = array("d")
        self.steps: Optional["array[int]"] = None

    @property
    def metric(self) -> str:
        return self.labels.get("__name__", "")

    def __len__(self) -> int:
        return len(self.times_ns)

    def __repr__(self) -> str:
        inner = ",".join('%s="%s"' % pair for pair in sorted(self.labels.items()) if pair[0] != "__name__")
        return "<%s{%s}, %d samples>" % (self.metric, inner, len(self))

    def _extend(self, part: Dict[str, Any]) -> None:
        times, values, steps = part["times_ns"], part["values"], part.get("steps")
        if len(times) != len(values) or (steps is not None and len(steps) != len(times)):
            raise HistoryError("/samples: malformed response: columns must have equal lengths")
        if steps is not None and self.steps is None:
            self.steps = array("q", [NO_STEP]) * len(self.times_ns)
        if self.steps is not None:
            self.steps.extend([NO_STEP] * len(times) if steps is None else [NO_STEP if s is None else s for s in steps])
        self.times_ns.extend(int(t) for t in times)
        self.values.extend(math.nan if v is None else v for v in values)


class History:
    """Client for a running Pitwall server with the insights role.

    url: address of the server.
    token: required unless the server is on the loopback interface.
    token_file: file that contains the token.
    timeout: seconds per request.

    Requests raise HistoryError. An instance may be shared between threads.
    """

    def __init__(self, url: str = DEFAULT_URL, token: str = "", token_file: str = "", timeout: float = TIMEOUT_S) -> None:
        if token_file:
            with open(token_file) as file:
                token = file.read().strip()
        self._url = url.rstrip("/")
        self._token = token
        self._timeout = timeout

    def get(self, path: str, parameters: Iterable[Tuple[str, str]] = ()) -> Dict[str, Any]:
        """Returns the response from a route listed in docs/api.md. The path includes the prefix. Raises HistoryError."""
        query = urllib.parse.urlencode(list(parameters))
        request = urllib.request.Request(self._url + path + ("?" + query if query else ""), headers={"Accept": "application/json"})
        if self._token:
            # The token is not sent to the target of a redirect.
            request.add_unredirected_header("Authorization", "Bearer " + self._token)
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as reply:
                body = json.loads(reply.read().decode("utf-8"))
        except urllib.error.HTTPError as error:
            raise HistoryError(_error_text(error), error.code) from None
        except (OSError, ValueError) as error:
            raise HistoryError("%s: no response (%s); check that Pitwall runs there with the insights role" % (self._url, error)) from None
        if not isinstance(body, dict):
            raise HistoryError("%s%s: malformed response: not a JSON object" % (self._url, path))
        return body

    def jobs(self, **filters: str) -> Iterator[Dict[str, Any]]:
        """Yields jobs as returned by GET /jobs. filters: name, owner, state, sort, order."""
        yield from self._pages("/jobs", "jobs", list(filters.items()))

    def job(self, job: str) -> Dict[str, Any]:
        return self.get(PREFIX + "/job", [("job", job)])

    def list_series(self, job: str, match: Selectors = ()) -> Iterator[Dict[str, Any]]:
        """Yields the series of a job, each with labels, kind, first_ns, last_ns, and has_steps."""
        yield from self._pages("/series", "series", [("job", job)] + [("match", m) for m in _selectors(match)])

    def series(self, job: str, match: Selectors, start_ns: Optional[int] = None, end_ns: Optional[int] = None,
               steps: Optional[Tuple[int, int]] = None, mode: str = "train") -> List[Series]:
        """Returns raw samples with start_ns <= time < end_ns (Unix nanoseconds), sorted by labels. The default range is the whole job.

        steps: limits the samples to a step range (first, last + 1) of the given mode.
        """
        found: Dict[Tuple[Tuple[str, str], ...], Series] = {}
        for answer in self._stretches(job, _selectors(match), start_ns, end_ns, steps, mode):
            for part in answer:
                key = tuple(sorted(part["labels"].items()))
                if key not in found:
                    found[key] = Series(part["labels"], part.get("kind", "gauge"))
                found[key]._extend(part)
        return [found[key] for key in sorted(found)]

    def query(self, promql: str, time: Optional[float] = None) -> Dict[str, Any]:
        """Returns the data from a Prometheus query (/api/v1/query). time: Unix seconds."""
        answer = self.get("/api/v1/query", [("query", promql)] + ([] if time is None else [("time", repr(time))]))
        return dict(answer.get("data", {}))

    def query_range(self, promql: str, start: float, end: float, step: float) -> Dict[str, Any]:
        answer = self.get("/api/v1/query_range", [("query", promql), ("start", repr(start)), ("end", repr(end)),
                                                  ("step", repr(step))])
        return dict(answer.get("data", {}))

    def to_csv(self, job: str, match: Selectors, path: str, start_ns: Optional[int] = None, end_ns: Optional[int] = None,
               steps: Optional[Tuple[int, int]] = None, mode: str = "train") -> int:
        """Writes one row per sample, like `pitwall export --format csv`. Returns the number of rows."""
        count = 0
        with open(path, "w", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["metric", "labels", "time_ns", "step", "value"])
            for answer in self._stretches(job, _selectors(match), start_ns, end_ns, steps, mode):
                for part in answer:
                    metric, labels = _names(part["labels"])
                    for t, value, step in _rows(part):
                        out.writerow([metric, labels, t, "" if step is None else step, "NaN" if value is None else repr(value)])
                        count += 1
        return count

    def to_parquet(self, job: str, match: Selectors, path: str, start_ns: Optional[int] = None, end_ns: Optional[int] = None,
                   steps: Optional[Tuple[int, int]] = None, mode: str = "train") -> int:
        """Writes one row per sample with the columns metric, labels (both dictionary-encoded), time (UTC, ns), step, and value. Returns the number of
        rows. Each time range is a separate row group to limit memory usage. Requires pyarrow."""
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise HistoryError("to_parquet: pyarrow is not installed; run `pip install pyarrow`, or use to_csv") from None
        names = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
        schema = pyarrow.schema([("metric", names), ("labels", names), ("time", pyarrow.timestamp("ns", tz="UTC")),
                                 ("step", pyarrow.int64()), ("value", pyarrow.float64())])
        count = 0
        with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as out:
            for answer in self._stretches(job, _selectors(match), start_ns, end_ns, steps, mode):
                columns: List[List[Any]] = [[], [], [], [], []]
                for part in answer:
                    metric, labels = _names(part["labels"])
                    for t, value, step in _rows(part):
                        for column, cell in zip(columns, (metric, labels, t, step, math.nan if value is None else value)):
                            column.append(cell)
                if columns[0]:
                    count += len(columns[0])
                    out.write_table(pyarrow.table([pyarrow.array(c, type=f.type) for c, f in zip(columns, schema)], schema=schema))
        return count

    def _pages(self, route: str, name: str, parameters: Parameters) -> Iterator[Dict[str, Any]]:
        page = ""
        while True:
            answer = self.get(PREFIX + route, parameters + [("limit", "1000")] + ([("page", page)] if page else []))
            yield from answer.get(name, [])
            if not answer.get("next") or answer["next"] == page:
                return
            page = answer["next"]

    def _stretches(self, job: str, match: List[str], start_ns: Optional[int], end_ns: Optional[int],
                   steps: Optional[Tuple[int, int]], mode: str) -> Iterator[List[Dict[str, Any]]]:
        """Yields the responses from /samples for consecutive time ranges. A range that is too large for one response is halved."""
        if not match:
            raise ValueError("match must not be empty; use a selector like 'train_loss'")
        if start_ns is None or end_ns is None:
            life = self.job(job)
            start_ns = int(life.get("first_ns") or 0) if start_ns is None else start_ns
            end_ns = int(life.get("last_ns") or 0) + 1 if end_ns is None else end_ns
        common = [("job", job)] + [("match", m) for m in match]
        if steps is not None:
            common += [("mode", mode), ("from_step", str(steps[0])), ("to_step", str(steps[1]))]
        at, stretch = start_ns, STRETCH_NS
        while at < end_ns:
            until = min(end_ns, at + stretch)
            try:
                answer = self.get(PREFIX + "/samples", common + [("from", str(at)), ("to", str(until))])
            except HistoryError as error:
                if error.status != 422 or until - at <= LEAST_STRETCH_NS:
                    raise
                stretch = max(LEAST_STRETCH_NS, (until - at) // 2)
                continue
            yield answer.get("series", [])
            at = until


def _selectors(match: Selectors) -> List[str]:
    return [match] if isinstance(match, str) else list(match)


def _rows(part: Dict[str, Any]) -> Iterator[Tuple[int, Optional[float], Optional[int]]]:
    times, values = part["times_ns"], part["values"]
    steps = part.get("steps") or [None] * len(times)
    if not len(times) == len(values) == len(steps):
        raise HistoryError("/samples: malformed response: columns must have equal lengths")
    for t, value, step in zip(times, values, steps):
        yield int(t), value, None if step is None or step < 0 else step


def _names(labels: Dict[str, str]) -> Tuple[str, str]:
    """Returns the metric name and the other labels, both in PromQL syntax."""
    def quoted(text: str) -> str:
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    inner = ",".join('%s="%s"' % (name, quoted(value)) for name, value in sorted(labels.items()) if name != "__name__")
    return labels.get("__name__", ""), "{%s}" % inner


def _error_text(error: urllib.error.HTTPError) -> str:
    body = error.read(65536).decode("utf-8", "replace")
    try:
        error_body = json.loads(body)["error"]
        text = error_body if isinstance(error_body, str) else error_body["message"]
    except (ValueError, KeyError, TypeError):
        text = body.strip()[:300]
    if error.code in (401, 403):
        text += "; use a token with the required role"
    return "HTTP %d: %s" % (error.code, text)


def _main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m pitwall.history", description="Export raw samples of a job from the history.")
    parser.add_argument("format", choices=("csv", "parquet"))
    parser.add_argument("job", help="job ID, name, or prefix of the ID")
    parser.add_argument("--match", action="append", required=True, metavar="SELECTOR", help="series to export; may be repeated")
    parser.add_argument("--output", required=True, metavar="FILE")
    parser.add_argument("--from-ns", type=int, metavar="NS", help="first time in Unix nanoseconds (default: start of the job)")
    parser.add_argument("--to-ns", type=int, metavar="NS", help="end time in Unix nanoseconds, exclusive (default: end of the job)")
    parser.add_argument("--steps", metavar="A-B", help="only steps A to B, inclusive")
    parser.add_argument("--mode", default="train", help="mode of the steps (default: train)")
    parser.add_argument("--url", default=DEFAULT_URL)
    parser.add_argument("--token-file", default="", metavar="FILE")
    options = parser.parse_args(arguments)
    steps = None
    if options.steps:
        first, _, last = options.steps.partition("-")
        if not (first.isdigit() and (last or first).isdigit()):
            parser.error("--steps must be a number or a range like 8 or 100-120 (got %r)" % options.steps)
        steps = (int(first), int(last or first) + 1)
    try:
        history = History(options.url, token_file=options.token_file)
        write = history.to_csv if options.format == "csv" else history.to_parquet
        count = write(options.job, options.match, options.output, options.from_ns, options.to_ns, steps, options.mode)
    except (HistoryError, OSError) as error:
        print("pitwall.history: %s" % error, file=sys.stderr)
        return 1
    print(json.dumps({"samples": count, "file": options.output}))
    return 0


if __name__ == "__main__":
    sys.exit(_main())
