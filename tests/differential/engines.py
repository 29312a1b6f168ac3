"""The two engines as child processes: Prometheus (the oracle) and Pitwall (promql_eval)."""
import collections
import json
import queue
import subprocess
import threading

from data import STALE

TIMEOUT = 60  # seconds for one result, including all earlier queries


class Answer:
    """kind: ok, error, unsupported, limit, internal, or died. ticks: [(t, [(labels, value)…])…], with labels as sorted pairs."""

    def __init__(self, kind, message="", type_="", ticks=()):
        self.kind = kind
        self.message = message
        self.type = type_
        self.ticks = ticks


class Query:
    """A query on a data set. Times are in milliseconds."""

    def __init__(self, expr, start, end, step, lookback, subquery_interval):
        self.expr = expr
        self.start = start
        self.end = end
        self.step = step
        self.lookback = lookback
        self.subquery_interval = subquery_interval


def value_text(value):
    return STALE if value is STALE else float(value).hex()


class _Engine:
    """A child process that responds in query order. A separate thread reads, so that a full pipe blocks neither side. If the child exits or hangs,
    the current query gets "died" as its result, and a new child runs the following queries."""

    def __init__(self, command):
        self._command = command
        self._dataset = None
        self._pending = collections.deque()
        self._start()

    def _start(self):
        self._child = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1 << 20)
        self._answers = queue.Queue()
        self._loaded = False  # True if this child has received the data set
        threading.Thread(target=self._read, args=(self._child.stdout, self._answers), daemon=True).start()

    def _read(self, stream, answers):
        while True:
            answer = self._read_answer(stream)
            answers.put(answer)
            if answer is None:
                return

    def load(self, dataset):
        """Sets the data for the following queries."""
        assert not self._pending
        self._dataset = dataset
        self._loaded = False

    def ask(self, query):
        self._pending.append(query)
        self._send(query)

    def _send(self, query):
        text = ("" if self._loaded else self._load_text(self._dataset)) + self._query_text(query)
        self._loaded = True
        try:
            self._child.stdin.write(text.encode("utf-8"))
        except OSError:
            pass  # answers() reports it

    def answers(self, count):
        got = []
        while len(got) < count:
            try:
                self._child.stdin.flush()
            except OSError:
                pass
            try:
                answer = self._answers.get(timeout=TIMEOUT)
            except queue.Empty:
                answer = Answer("died", "no answer for %d s" % TIMEOUT)
            if answer is None:
                answer = Answer("died", "exit code %d" % self._child.wait())
            self._pending.popleft()
            got.append(answer)
            if answer.kind == "died":
                self.close()
                self._start()
                for query in self._pending:
                    self._send(query)
        return got

    def close(self):
        self._child.kill()
        self._child.wait()


class Oracle(_Engine):
    def __init__(self, path, delayed_name_removal=False):
        self._series = None
        self._delayed = delayed_name_removal
        super().__init__([path])

    def _load_text(self, dataset):
        """Returns an empty string, because the data is sent with the next query."""
        self._series = [{"labels": labels, "samples": [[t, value_text(v)] for t, v in samples]}
                        for labels, samples in dataset.series]
        return ""

    def _query_text(self, query):
        request = {"expr": query.expr, "start_ms": query.start, "end_ms": query.end, "step_ms": query.step,
                   "lookback_ms": query.lookback, "subquery_interval_ms": query.subquery_interval,
                   "delayed_name_removal": self._delayed}
        if self._series is not None:
            request["series"], self._series = self._series, None
        return json.dumps(request) + "\n"

    def _read_answer(self, stream):
        line = stream.readline()
        if not line:
            return None
        reply = json.loads(line)
        if "error" in reply:
            return Answer("error", reply["error"])
        ticks = [(tick["t"], [(tuple(sorted(e["labels"].items())), float.fromhex(e["value"])) for e in tick["elements"]])
                 for tick in reply.get("ticks", ())]
        return Answer("ok", reply.get("text", ""), reply["type"], ticks)


class Pitwall(_Engine):
    def __init__(self, path, stored=False):
        super().__init__([path] + (["--stored"] if stored else []))

    def _load_text(self, dataset):
        lines = ["series\t%d\n" % len(dataset.series)]
        for labels, samples in dataset.series:
            fields = [_field("%s=%s" % pair) for pair in labels.items()] + ["|"]
            fields += ["%d:%s" % (t, value_text(v)) for t, v in samples]
            lines.append("\t".join(fields) + "\n")
        return "".join(lines)

    def _query_text(self, query):
        return "query\t0\t%d\t%d\t%d\t%d\t%d\t%s\n" % (query.start, query.end, query.step, query.lookback,
                                                          query.subquery_interval, _field(query.expr))

    def _read_answer(self, stream):
        fields = _line(stream)
        if fields is None:
            return None
        if fields[0] == "error":
            return Answer(fields[2], fields[3])
        ticks = []
        for _ in range(int(fields[3])):
            tick = _line(stream)
            if tick is None:
                return None
            lines = [_line(stream) for _ in range(int(tick[2]))]
            if None in lines:
                return None
            ticks.append((int(tick[1]), [(tuple(sorted(tuple(label.split("=", 1)) for label in labels)),
                                          float.fromhex(value)) for value, *labels in lines]))
        return Answer("ok", fields[4], fields[2], ticks)


def _field(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def _unescaped(field):
    if "\\" not in field:
        return field
    out, at = [], 0
    while at < len(field):
        if field[at] == "\\":
            at += 1
            out.append({"t": "\t", "n": "\n"}.get(field[at], field[at]))
        else:
            out.append(field[at])
        at += 1
    return "".join(out)


def _line(stream):
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    return [_unescaped(f) for f in line[:-1].decode("utf-8").split("\t")]
