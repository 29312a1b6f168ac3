#!/usr/bin/env python3
"""Tests for log thinning: the selection of records to keep, and unchanged replays of a real log.

thin_test.py PITWALL
"""
import ctypes
import os
import struct
import subprocess
import sys
import tempfile
import unittest

import recordings
import thin

sys.path.insert(0, os.path.join(recordings.HERE, "..", "e2e"))
from harness import Pitwall, train, wait_for  # noqa: E402

BINARY = None


def field(number, content):
    return thin.as_varint(number << 3 | 2) + thin.as_varint(len(content)) + content


def batch_of(frames, spans):
    """Returns an encoded TelemetryRecord as in the log."""
    parts = [field(1, b"job"), thin.as_varint(4 << 3) + b"\x07", thin.as_varint(6 << 3 | 1) + struct.pack("<q", 5)]
    return field(1, b"".join(parts + [field(8, frame) for frame in frames] + [field(9, span) for span in spans]))


def compressed(segment):
    """Returns the same batches compressed with zstd, as the log writes them."""
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_compress.restype = ctypes.c_size_t
    out = segment[:segment.find(b"PWB1")]
    at = len(out)
    while at < len(segment):
        words = list(thin.HEADER.unpack_from(segment, at + 8))
        payload = segment[at + 64:at + 64 + words[6]]
        room = ctypes.create_string_buffer(len(payload) + 1000)
        size = zstd.ZSTD_compress(room, len(room), payload, len(payload), 1)
        stored = room.raw[:size]
        at += 64 + len(payload)
        words[6], words[8], words[9] = len(stored), thin.crc32c(stored), 1
        packed = thin.HEADER.pack(*words)
        out += b"PWB1" + struct.pack("<I", thin.crc32c(packed)) + packed + stored
    return out


class Thin(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pitwall-thin-")
        self.addCleanup(folder.cleanup)
        self.source, self.target = os.path.join(folder.name, "source"), os.path.join(folder.name, "target")
        os.makedirs(os.path.join(self.source, "0"))

    def write(self, segment, name="0/00.seg"):
        with open(os.path.join(self.source, name), "wb") as out:
            out.write(segment)

    def read(self):
        with open(os.path.join(self.target, "0", "00.seg"), "rb") as data:
            return [record for _, base, first, payload in thin.batches(data.read()) for record in thin.records(base, first, payload)]

    def segment(self, records, flush_every=1):
        writer = thin.Writer(b"0123456789abcdef")
        for number, record in enumerate(records):
            writer.add(number, *record)
            if number % flush_every == flush_every - 1:
                writer.flush()
        writer.flush()
        return b"".join(writer.out)

    def test_checksum_is_crc32c(self):
        self.assertEqual(thin.crc32c(b"123456789"), 0xe3069283)

    def test_varints_round_trip(self):
        for value in (0, 1, 127, 128, 300, 1 << 35, (1 << 64) - 1):
            self.assertEqual(thin.varint(thin.as_varint(value), 0), (value, len(thin.as_varint(value))))
        for value in (0, -1, 1, -(1 << 40), 1 << 40):
            self.assertEqual(thin.unzigzag(thin.zigzag(value)), value)

    def test_only_spans_are_dropped(self):
        records = [(10 + 3 * n, 1000 - 5 * n if n == 2 else 1000 + n, 0, b"key", batch_of([b"frame" * n], [b"span" * 40] * n), None) for n in range(6)]
        records.append((40, 2000, 2, b"", field(2, field(1, b"tick")), b"headers"))
        records.append((41, 2001, 1, b"gone", b"", None))
        for segment in (self.segment(records), compressed(self.segment(records, 3))):
            self.write(segment)
            thin.thin(self.source, self.target)
            wanted = [(*record[:4], batch_of([b"frame" * n], []), None) for n, record in enumerate(records[:6])] + records[6:]
            self.assertEqual(self.read(), wanted)

    def test_records_outside_time_range_are_dropped(self):
        self.write(self.segment([(n, 100 + n, 0, b"k", batch_of([b"f"], []), None) for n in range(10)], 4))
        thin.thin(self.source, self.target, 102, 106)
        self.assertEqual([offset for offset, *_ in self.read()], [0, 1, 2, 3, 4])
        self.assertEqual([time for _, time, *_ in self.read()], [102, 103, 104, 105, 106])
        self.assertEqual(thin.times(self.source), (100e-9, 109e-9))

    def test_second_thinning_changes_nothing(self):
        self.write(self.segment([(n, 100 + n, 0, b"k", batch_of([b"f" * 5000], [b"s"]), None) for n in range(200)]))
        thin.thin(self.source, self.target)
        again = self.target + "-again"
        thin.thin(self.target, again)
        for folder in (self.target, again):
            with open(os.path.join(folder, "0", "00.seg"), "rb") as data:
                self.assertEqual(data.read().count(b"PWB1"), 4)  # number of batches, each of up to 256 KiB
        self.assertEqual(os.path.getsize(os.path.join(again, "0", "00.seg")), os.path.getsize(os.path.join(self.target, "0", "00.seg")))

    def test_damaged_end_is_dropped(self):
        segment = self.segment([(n, 100 + n, 0, b"k", batch_of([b"f"], []), None) for n in range(3)])
        self.write(segment[:-3])
        thin.thin(self.source, self.target)
        self.assertEqual([offset for offset, *_ in self.read()], [0, 1])
        self.write(segment[:-9] + b"\0" * 9)
        thin.thin(self.source, self.target)
        self.assertEqual([offset for offset, *_ in self.read()], [0, 1])


class RealLog(unittest.TestCase):
    def test_replay_of_thinned_log_is_identical(self):
        with tempfile.TemporaryDirectory(prefix="pitwall-thin-") as folder:
            data, socket = os.path.join(folder, "data"), os.path.join(folder, "c.sock")
            pitwall = Pitwall(BINARY, os.path.join(folder, "log"), "--data-dir", data, "--socket", socket, "--rules", "pack:default")
            try:
                self.assertEqual(train(socket, 120, 100).wait(60), 0)
                # Rules are evaluated some time after the samples arrive, so a log that ends with the last sample may not contain an issue.
                wait_for("the issue about the loss", lambda: "LossNotFinite" in self.issues(pitwall))
                pitwall.stop()
            finally:
                pitwall.kill()
            small = os.path.join(folder, "small")
            archive = os.path.join(folder, "small.tar.xz")
            recordings.pack(data, archive)
            recordings.unpack(archive, small)
            before, after = (self.backtest(of) for of in (data, small))
            self.assertIn("io.pitwall.issue.found", before)
            self.assertEqual(before, after)
            self.assertLess(self.size(small), self.size(data) * 4)  # the thinned log is uncompressed

    def backtest(self, folder):
        done = subprocess.run([BINARY, "backtest", "--input", folder, "--rules", "pack:default"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def issues(self, pitwall):
        return subprocess.run([BINARY, "issues", "list", "--all", "--target", pitwall.grpc], capture_output=True, text=True, timeout=60).stdout

    def size(self, folder):
        return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(os.path.join(folder, recordings.TELEMETRY)) for name in names)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
