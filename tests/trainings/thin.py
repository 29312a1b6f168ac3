"""Rewrites the telemetry in a log so that its archive is small and its replay produces bit-identical events.

* Spans are omitted. Rules never read them, and series contain the same data.
* Batches are uncompressed and large. The log compresses each batch separately, and compressing the result again would not make it smaller.
* Records outside a time range may also be omitted.

services/adapters/embedded_log/format/batch.h defines the layout of a batch, and proto/pitwall/telemetry/v1 defines the layout of a record.
"""
import ctypes
import os
import shutil
import struct

HEADER = struct.Struct("<qQqqIIIIII")  # the header after the magic number and CRC
HEADER_BYTES = 64
FLUSH_BYTES = 256 << 10
BATCH = 1  # field number in TelemetryRecord
SPAN = 9   # field number in TelemetryBatch


def _table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
        table.append(value)
    return table


_CRC = _table()


def crc32c(data):
    crc, table = 0xffffffff, _CRC
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    return crc ^ 0xffffffff


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def as_varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


def zigzag(value):
    return value << 1 if value >= 0 else (-value << 1) - 1


def decompress(stored, size):
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    raw = ctypes.create_string_buffer(size)
    if zstd.ZSTD_decompress(raw, size, stored, len(stored)) != size:
        raise ValueError("a batch does not decompress to the %d bytes in its header" % size)
    return raw.raw


def batches(segment):
    """Yields (sequence, base offset, time of first record, payload) for each batch in a segment."""
    at = segment.find(b"PWB1")
    while 0 <= at < len(segment):
        if segment[at:at + 4] != b"PWB1" or crc32c(segment[at + 8:at + HEADER_BYTES]) != struct.unpack_from("<I", segment, at + 4)[0]:
            return  # the batch was truncated when the process ended
        base, sequence, first, _, _, _, stored, raw, check, flags = HEADER.unpack_from(segment, at + 8)
        payload = segment[at + HEADER_BYTES:at + HEADER_BYTES + stored]
        if len(payload) < stored or crc32c(payload) != check:
            return
        yield sequence, base, first, decompress(payload, raw) if flags & 1 else payload
        at += HEADER_BYTES + stored


def records(base, first, payload):
    """Yields (offset, append time, flags, key, value, encoded headers)."""
    at = 0
    while at < len(payload):
        delta, at = varint(payload, at)
        time, at = varint(payload, at)
        flags = payload[at]
        at += 1
        parts = []
        for _ in range(3 if flags & 2 else 2):
            size, at = varint(payload, at)
            parts.append(payload[at:at + size])
            at += size
        yield base + delta, first + unzigzag(time), flags, parts[0], parts[1], parts[2] if flags & 2 else None


def fields(message):
    """Yields (number, wire type, start of the field, start of its content, end)."""
    at = 0
    while at < len(message):
        begin = at
        tag, at = varint(message, at)
        kind = tag & 7
        if kind == 0:
            content = at
            _, at = varint(message, at)
        elif kind == 2:
            size, content = varint(message, at)
            at = content + size
        else:
            content, at = at, at + (8 if kind == 1 else 4)
        yield tag >> 3, kind, begin, content, at


def without_spans(value):
    """Returns a TelemetryRecord without the spans of its batch."""
    whole = list(fields(value))
    if len(whole) != 1 or whole[0][0] != BATCH:
        return value
    batch = value[whole[0][3]:]
    kept = b"".join(batch[begin:end] for number, _, begin, _, end in fields(batch) if number != SPAN)
    return as_varint(BATCH << 3 | 2) + as_varint(len(kept)) + kept


class Writer:
    """Writes uncompressed batches of one segment."""

    def __init__(self, head):
        self.out = [head]
        self._begin(0)

    def _begin(self, sequence):
        self.payload, self.count, self.sequence = bytearray(), 0, sequence

    def add(self, sequence, offset, time, flags, key, value, headers):
        if self.count == 0:
            self._begin(sequence)
            self.base, self.first, self.latest = offset, time, time
        self.payload += as_varint(offset - self.base) + as_varint(zigzag(time - self.first)) + bytes([flags])
        for part in (key, value) + ((headers,) if flags & 2 else ()):
            self.payload += as_varint(len(part)) + part
        self.count, self.last, self.latest = self.count + 1, offset, max(self.latest, time)
        if len(self.payload) >= FLUSH_BYTES:
            self.flush()

    def flush(self):
        if self.count == 0:
            return
        payload = bytes(self.payload)
        words = HEADER.pack(self.base, self.sequence, self.first, self.latest, self.last - self.base, self.count, len(payload), len(payload),
                            crc32c(payload), 0)
        self.out += [b"PWB1", struct.pack("<I", crc32c(words)), words, payload]
        self._begin(0)


def times(topic):
    """Returns the append times of the first and the last record in Unix seconds."""
    seen = []
    for folder, _, names in os.walk(topic):
        for name in names:
            if name.endswith(".seg"):
                with open(os.path.join(folder, name), "rb") as data:
                    for _, base, first, payload in batches(data.read()):
                        seen += [time for _, time, *_ in records(base, first, payload)]
    return min(seen) / 1e9, max(seen) / 1e9


def thin(topic, target, from_ns=None, until_ns=None):
    """Rewrites the directory of a topic. If a time range is given, only records appended within the range are kept. Offsets then restart at 0,
    because a log without its first records counts as damaged."""
    for folder, _, names in os.walk(topic):
        into = os.path.join(target, os.path.relpath(folder, topic))
        os.makedirs(into, exist_ok=True)
        for name in names:
            if not name.endswith(".seg"):
                shutil.copy(os.path.join(folder, name), into)
                continue
            with open(os.path.join(folder, name), "rb") as data:
                segment = data.read()
            begin = segment.find(b"PWB1")
            writer = Writer(segment[:begin] if begin >= 0 else segment)
            dropped = 0
            for sequence, base, first, payload in batches(segment):
                for offset, time, flags, key, value, headers in records(base, first, payload):
                    if from_ns is not None and time < from_ns:
                        dropped = offset + 1
                    elif until_ns is None or time <= until_ns:
                        writer.add(sequence, offset - dropped, time, flags, key, without_spans(value), headers)
            writer.flush()
            with open(os.path.join(into, name), "wb") as out:
                out.write(b"".join(writer.out))
