"""Decoder for the telemetry in a log, based only on its bytes and the layouts in services/adapters/embedded_log/format/batch.h and
proto/pitwall/telemetry/v1. It does not share code with the binary, so that tests can verify the binary's numbers.
"""
import collections
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "trainings"))
import thin  # noqa: E402

Span = collections.namedtuple("Span", "source boot node rank kind name start end step mode")
Sample = collections.namedtuple("Sample", "source boot sequence time step mode value")


def missing_bits():
    """Returns the bit pattern of a missing value, as defined in services/model/value.h."""
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "services", "model", "value.h")) as text:
        for line in text:
            if "kMissingBits" in line and "0x" in line:
                return int(line.split("0x", 1)[1].rstrip(";\n").replace("'", "").rstrip("uUlL;"), 16)
    raise AssertionError("services/model/value.h does not define the missing value")


def _signed(bits):
    return bits - (1 << 64) if bits >> 63 else bits


def _fixed(data, at):
    return struct.unpack_from("<q", data, at)[0]


def _deltas(data):
    out, at, value = [], 0, 0
    while at < len(data):
        coded, at = thin.varint(data, at)
        value += thin.unzigzag(coded)
        out.append(value)
    return out


def _schema(message):
    number, series = 0, []
    for field, _, _, begin, end in thin.fields(message):
        if field == 1:
            number = struct.unpack_from("<Q", message, begin)[0]
        elif field == 3:
            labels, kind = {}, "gauge"
            one = message[begin:end]
            for f, _, _, b, e in thin.fields(one):
                if f == 1:
                    labels["__name__"] = one[b:e].decode()
                elif f == 2:
                    pair = {}
                    text = one[b:e]
                    for g, _, _, c, d in thin.fields(text):
                        pair[g] = text[c:d].decode()
                    labels[pair.get(1, "")] = pair.get(2, "")
                elif f == 3 and one[b] == 2:
                    kind = "counter"
            series.append((tuple(sorted(labels.items())), kind))
    return number, series


def _frame(message):
    schema, times, steps, mode, values = 0, [], [], "", ()
    for field, _, _, begin, end in thin.fields(message):
        if field == 1:
            schema = struct.unpack_from("<Q", message, begin)[0]
        elif field == 2:
            times = _deltas(message[begin:end])
        elif field == 3:
            steps = _deltas(message[begin:end])
        elif field == 4:
            mode = message[begin:end].decode()
        elif field == 5:
            values = struct.unpack("<%dQ" % ((end - begin) // 8), message[begin:end])
    return schema, times, steps, mode, values


class Job:
    def __init__(self):
        self.series = collections.defaultdict(list)  # labels -> samples
        self.kinds = {}
        self.spans = []


def _batch(message):
    out = {"frames": [], "schemas": [], "spans": [], "rank": None, "node": "", "sequence": 0, "job": "", "source": "", "boot": ""}
    for field, _, _, begin, end in thin.fields(message):
        if field in (1, 2, 3):
            out[{1: "job", 2: "source", 3: "boot"}[field]] = message[begin:end].decode()
        elif field == 4:
            out["sequence"] = thin.varint(message, begin)[0]
        elif field == 5:
            info = message[begin:end]
            for f, _, _, b, e in thin.fields(info):
                if f == 2:
                    out["node"] = info[b:e].decode()
                elif f == 3:
                    out["rank"] = thin.varint(info, b)[0]
        elif field == 7:
            out["schemas"].append(_schema(message[begin:end]))
        elif field == 8:
            out["frames"].append(_frame(message[begin:end]))
        elif field == 9:
            span = {"kind": 0, "name": "", "start": 0, "length": 0, "step": None, "mode": ""}
            one = message[begin:end]
            for f, _, _, b, e in thin.fields(one):
                if f == 1:
                    span["kind"] = thin.varint(one, b)[0]
                elif f == 2:
                    span["name"] = one[b:e].decode()
                elif f == 3:
                    span["start"] = _fixed(one, b)
                elif f == 4:
                    span["length"] = _signed(thin.varint(one, b)[0])
                elif f == 5:
                    span["step"] = thin.varint(one, b)[0]
                elif f == 6:
                    span["mode"] = one[b:e].decode()
            out["spans"].append(span)
    return out


def read(log_dir):
    """Returns {job: Job} for all telemetry records. A duplicate batch counts once, and samples are ordered by (time, source, boot, sequence)."""
    missing = missing_bits()
    topic = os.path.join(log_dir, "topics", "pitwall.telemetry")
    jobs, seen = collections.defaultdict(Job), set()
    for partition in sorted(os.listdir(topic)):
        folder = os.path.join(topic, partition)
        if not os.path.isdir(folder):
            continue
        schemas, batches = {}, []
        for name in sorted(n for n in os.listdir(folder) if n.endswith(".seg")):
            with open(os.path.join(folder, name), "rb") as segment:
                content = segment.read()
            for _, base, first, payload in thin.batches(content):
                for record in thin.records(base, first, payload):
                    value = record[4]
                    whole = list(thin.fields(value))
                    if whole and whole[0][0] == thin.BATCH:
                        batches.append(_batch(value[whole[0][3]:whole[0][4]]))
        for batch in batches:  # a frame may precede its schema
            schemas.update(dict(batch["schemas"]))
        for batch in batches:
            key = tuple(batch[k] for k in ("job", "source", "boot", "sequence"))
            if key in seen:
                continue
            seen.add(key)
            job = jobs[batch["job"]]
            for number, times, steps, mode, values in batch["frames"]:
                width = len(schemas[number])
                for row, time in enumerate(times):
                    step = steps[row] - 1 if steps and steps[row] > 0 else None
                    for column, (labels, kind) in enumerate(schemas[number]):
                        bits = values[row * width + column]
                        if bits == missing:
                            continue
                        job.kinds[labels] = kind
                        value = struct.unpack("<d", struct.pack("<Q", bits))[0]
                        job.series[labels].append(Sample(key[1], key[2], key[3], time, step, mode, value))
            for s in batch["spans"]:
                job.spans.append(Span(key[1], key[2], batch["node"], batch["rank"], {1: "step", 2: "phase", 3: "operator"}[s["kind"]],
                                      s["name"], s["start"], s["start"] + s["length"], s["step"], s["mode"]))
    for job in jobs.values():
        for labels, samples in job.series.items():
            samples.sort(key=lambda s: (s.time, s.source, s.boot, s.sequence))
            kept = []
            for sample in samples:  # the first of two samples with equal times counts
                if not kept or kept[-1].time != sample.time:
                    kept.append(sample)
            job.series[labels] = kept
    return jobs
