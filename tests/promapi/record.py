#!/usr/bin/env python3
"""record.py --prometheus BINARY [--out FOLDER] [--seed S] [--queries N]: sends the requests in tests/promapi to a real Prometheus 3 with the same
samples, and records its responses.

Samples are sent using remote write, with one data set per server. FOLDER (default: recorded, next to this file) receives NAME.series and NAME.jsonl
for each data set: see compare.py.
"""
import argparse
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from questions import requests

HERE = os.path.dirname(os.path.abspath(__file__))
START_TIMEOUT = 60
STALE_BITS = 0x7FF0000000000002


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def value_bytes(text):
    if text == "stale":
        return struct.pack("<Q", STALE_BITS)
    return struct.pack("<d", float.fromhex(text))


def time_series(labels, samples):
    """Encodes a prometheus.TimeSeries."""
    out = b"".join(field(1, field(1, name.encode()) + field(2, value.encode())) for name, value in sorted(labels.items()))
    for time_ms, value in samples:
        out += field(2, b"\x09" + value_bytes(value) + b"\x10" + varint(time_ms))
    return field(1, out)


def snappy(data):
    """Encodes a snappy block of literals."""
    out = varint(len(data))
    for begin in range(0, len(data), 60_000):
        part = data[begin:begin + 60_000]
        out += b"\xf4" + struct.pack("<H", len(part) - 1) + part
    return out


class Prometheus:
    """A separate Prometheus server without scrape targets."""

    def __init__(self, binary):
        self.folder = tempfile.TemporaryDirectory()
        config = os.path.join(self.folder.name, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as out:
            out.write("global: {evaluation_interval: 1m}\n")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = "http://127.0.0.1:%d" % port
        self.log = open(os.path.join(self.folder.name, "log"), "wb")
        self.child = subprocess.Popen(
            [binary, "--config.file=" + config, "--storage.tsdb.path=" + os.path.join(self.folder.name, "data"),
             "--storage.tsdb.retention.time=100y", "--web.listen-address=127.0.0.1:%d" % port,
             "--web.enable-remote-write-receiver", "--enable-feature=promql-experimental-functions"],
            stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + START_TIMEOUT
        while True:
            try:
                with urllib.request.urlopen(self.url + "/-/ready", timeout=5):
                    return
            except OSError as error:
                if time.monotonic() > deadline or self.child.poll() is not None:
                    self.close()
                    sys.exit("record.py: Prometheus is not ready: %s" % error)
                time.sleep(0.1)

    def write(self, series):
        for labels, samples in series:  # one series at a time, in the server's label order
            request = urllib.request.Request(
                self.url + "/api/v1/write", snappy(time_series(labels, samples)), method="POST",
                headers={"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf",
                         "X-Prometheus-Remote-Write-Version": "0.1.0"})
            with urllib.request.urlopen(request, timeout=30):
                pass

    def ask(self, method, path, form):
        body = urllib.parse.urlencode([tuple(pair) for pair in form])
        url = self.url + path + ("?" + body if method == "GET" else "")
        request = urllib.request.Request(url, body.encode() if method == "POST" else None, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def close(self):
        self.child.terminate()
        self.child.wait()
        self.log.close()
        self.folder.cleanup()


def series_line(labels, samples):
    """Formats a series for tests/differential/line_protocol.h."""
    escaped = [("%s=%s" % pair).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
               for pair in sorted(labels.items())]
    return "\t".join(escaped + ["|"] + ["%d:%s" % sample for sample in samples])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prometheus", required=True)
    parser.add_argument("--out", default=os.path.join(HERE, "recorded"))
    parser.add_argument("--seed", default="1")
    parser.add_argument("--queries", type=int, default=500)
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    for name, dataset, asked in requests(options.seed, options.queries):
        server = Prometheus(options.prometheus)
        try:
            server.write(dataset.series)
            with open(os.path.join(options.out, name + ".series"), "w", encoding="utf-8") as out:
                out.writelines(series_line(*one) + "\n" for one in dataset.series)
            with open(os.path.join(options.out, name + ".jsonl"), "w", encoding="utf-8") as out:
                for i, (path, form, ordered) in enumerate(asked):
                    method = "POST" if i % 2 and "/label/" not in path else "GET"
                    code, body = server.ask(method, path, form)
                    row = {"method": method, "path": path, "form": form, "code": code, "body": body}
                    if ordered:
                        row["ordered"] = True
                    out.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
        finally:
            server.close()
        print("%s: %d series, %d requests" % (name, len(dataset.series), len(asked)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
