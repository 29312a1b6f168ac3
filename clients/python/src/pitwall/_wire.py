"""Hand-written encoder and decoder for pitwall.client.v1 (proto/pitwall/client/v1/client.proto).

Implements only the subset that the protocol needs: varints, doubles, strings, and nested messages. Fields with their default value are omitted, as in
proto3. Every message on the socket is preceded by its length as a 4-byte little-endian integer.
"""
from __future__ import annotations

import logging
import re
import struct
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, Optional, Sequence, Tuple, Union

if TYPE_CHECKING:
    from ._identity import Identity

Request = Tuple[str, int]  # ID and look of a Capture
Collective = Tuple[str, str, int, int]  # group, operation, sequence, bytes
Welcome = Dict[str, Any]

logger = logging.getLogger("pitwall")
PROTOCOL = 1
MAX_FRAME = 4 << 20
MAX_STRING = 1024  # bytes per string; longer strings are truncated

KIND_STEP = 1
KIND_PHASE = 2

_pack_double = struct.Struct("<d").pack
_pack_length = struct.Struct("<I").pack
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_MASK64 = (1 << 64) - 1
_strings: dict[tuple[int, str], bytes] = {}  # (field, text) -> encoded field; names and modes repeat constantly


def varint(value: int) -> bytes:
    """Encodes a base-128 varint. A negative number takes ten bytes, as for int64."""
    value &= _MASK64
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _time(value: int) -> bytes:
    """Encodes a present-day time in nanoseconds, which takes nine bytes. Equivalent to varint(), but three times as fast.

    It uses masks and shifts to spread 56 bits over eight groups of seven, and then adds the continuation bits.
    """
    if not 1 << 56 <= value < 1 << 63:
        return varint(value)
    bits = value & 0x000000000FFFFFFF | (value & 0x00FFFFFFF0000000) << 4
    bits = bits & 0x00003FFF00003FFF | (bits & 0x0FFFC0000FFFC000) << 2
    bits = bits & 0x007F007F007F007F | (bits & 0x3F803F803F803F80) << 1
    return (bits | 0x8080808080808080).to_bytes(8, "little") + bytes((value >> 56,))


def integer(field: int, value: int) -> bytes:
    return (bytes((field << 3,)) if field < 16 else varint(field << 3)) + varint(value) if value else b""


def message(field: int, body: bytes) -> bytes:
    size = len(body)
    if field < 16 and size < 128:
        return bytes((field << 3 | 2, size)) + body
    return varint(field << 3 | 2) + varint(size) + body


def string(field: int, text: str) -> bytes:
    if not text:
        return b""
    encoded = _strings.get((field, text))
    if encoded is None:
        # Truncation may split a character; "ignore" then drops the incomplete part. Lone surrogates and control characters become "?", because the
        # collector rejects control characters.
        raw = _CONTROL.sub("?", text).encode("utf-8", "replace")[:MAX_STRING].decode("utf-8", "ignore").encode("utf-8")
        encoded = message(field, raw)
        if len(_strings) > 4096:
            _strings.clear()
        _strings[(field, text)] = encoded
    return encoded


def sized(text: str) -> bytes:
    """Returns the result of string() without the field key. Used by the C module."""
    return string(1, text)[1:]


def value_labels(pairs: Iterable[tuple[str, str]]) -> bytes:
    """Encodes the labels of a value. Used by the C module."""
    return labels(2, pairs)


def not_sent(name: str, cause: object) -> None:
    """Logs that the C module cannot encode an item."""
    logger.debug("pitwall: %s is not sent: %s", name, cause)


def labels(field: int, pairs: Iterable[tuple[str, str]]) -> bytes:
    return b"".join(message(field, string(1, name) + string(2, value)) for name, value in pairs)


def hello(identity: Identity, boot_id: str, start_unix_ns: int, pid: int) -> bytes:
    """Encodes ClientMessage{hello}. identity: an Identity from _identity.py."""
    attempt = b"" if identity.attempt is None else varint(8 << 3) + varint(identity.attempt)
    return message(1, b"".join((
        integer(1, PROTOCOL), string(2, identity.job_id), string(3, identity.job_name),
        integer(4, identity.job_start_unix_ns), integer(5, identity.rank), integer(6, identity.local_rank),
        integer(7, identity.world_size), attempt, string(9, boot_id), integer(10, start_unix_ns),
        integer(11, pid), labels(12, identity.labels), string(13, identity.client),
        string(14, identity.platform), string(15, identity.cluster), string(16, identity.namespace),
        string(17, identity.kind), string(18, identity.uid), string(19, identity.queue),
        integer(20, 1),     # keeps_until_written
        integer(21, 1))))   # captures


def span(kind: int, name: str, start_unix_ns: int, duration_ns: int, step_plus_one: int, mode: str) -> bytes:
    """Encodes an element of Update.spans, including the key."""
    return message(2, b"".join((
        b"\x08\x01" if kind == KIND_STEP else b"\x08\x02", string(2, name), b"\x18", _time(start_unix_ns),
        b"\x20", varint(duration_ns), integer(5, step_plus_one), string(6, mode))))


def value(metric: str, label_bytes: bytes, number: float, time_unix_ns: int, step_plus_one: int, mode: str) -> bytes:
    """Encodes an element of Update.values, including the key. label_bytes: result of labels(2, ...)."""
    return message(3, b"".join((
        string(1, metric), label_bytes, b"\x19", _pack_double(number), b"\x20", _time(time_unix_ns),
        integer(5, step_plus_one), string(6, mode))))


def update(sequence: int, items: Iterable[bytes], promise_unix_ns: int, step_promises: Iterable[tuple[str, int]], dropped: int, phase: str,
           phase_since_unix_ns: int, step_plus_one: int, mode: str, loop_open: Optional[bool] = None) -> bytes:
    """Encodes ClientMessage{update}.

    items: encoded spans and values.
    step_promises: pairs (mode, below_step).
    loop_open: None before the first loop.
    """
    promises = b"".join(message(5, string(1, name) + integer(2, below)) for name, below in step_promises)
    return message(2, b"".join((
        integer(1, sequence), b"".join(items), integer(4, promise_unix_ns), promises, integer(6, dropped),
        string(7, phase), integer(8, phase_since_unix_ns), integer(9, step_plus_one), string(10, mode),
        b"" if loop_open is None else bytes((11 << 3, loop_open)))))


def captured_head(request: Request, phase: str, mode: str, step_plus_one: int, collective: Optional[Collective], cpu_seconds: float,
                  io_bytes: Optional[int], operators: Iterable[str]) -> bytes:
    """Encodes a Captured message except for its threads.

    request: (id, look).
    collective: (group, operation, sequence, bytes), or None.
    """
    ident, look = request
    opened = b""
    if collective is not None:
        group, operation, sequence, size = collective
        opened = message(7, string(1, group) + string(2, operation) + integer(3, sequence) + integer(4, size))
    return b"".join((
        _text(1, ident), integer(2, look), string(4, phase), string(5, mode), integer(6, step_plus_one), opened,
        b"\x41", _pack_double(cpu_seconds), b"" if io_bytes is None else varint(9 << 3) + varint(io_bytes),
        b"".join(_text(10, name) for name in operators)))


def thread_stack(ident: int, name: str, main: bool, frames: Sequence[str]) -> bytes:
    """Encodes an element of Captured.threads, including the key."""
    return message(3, integer(1, ident) + _text(2, name) + integer(3, int(main)) + b"".join(_text(4, line) for line in frames))


def captured(head: bytes, threads: Iterable[bytes], left_out: int) -> bytes:
    """Encodes ClientMessage{captured}."""
    return message(4, head + b"".join(threads) + integer(11, left_out))


def _text(field: int, text: str, most: int = 200) -> bytes:
    """Encodes a string that is unlikely to repeat. Bypasses the cache of string()."""
    raw = _CONTROL.sub("?", text).encode("utf-8", "replace")[:most].decode("utf-8", "ignore").encode("utf-8")
    return message(field, raw) if raw else b""


def goodbye(reason: str, exception: str = "", exiting: bool = False, exit_status: Optional[int] = None) -> bytes:
    status = b"" if exit_status is None else varint(4 << 3) + varint(exit_status)
    return message(3, string(1, reason) + _text(2, exception) + integer(3, int(exiting)) + status)


def frame(body: bytes) -> bytes:
    return _pack_length(len(body)) + body


def read_fields(data: bytes) -> Iterator[tuple[int, Union[bytes, int]]]:
    """Yields (field, value) for each field of a message. A value is bytes for a length-delimited field, and an int for a varint or fixed-size field.

    Raises ValueError for malformed bytes.
    """
    at, end = 0, len(data)
    while at < end:
        key, at = _read_varint(data, at)
        wire = key & 7
        if wire == 0:
            content, at = _read_varint(data, at)
            yield key >> 3, content
        else:
            if wire == 2:
                size, at = _read_varint(data, at)
            elif wire in (1, 5):
                size = 8 if wire == 1 else 4
            else:
                raise ValueError("unsupported wire type %d" % wire)
            if at + size > end:
                raise ValueError("truncated field %d" % (key >> 3))
            raw = bytes(data[at:at + size])
            at += size
            yield key >> 3, raw if wire == 2 else int.from_bytes(raw, "little")


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("malformed varint")
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return result, at


def read_refused(data: bytes) -> Optional[tuple[str, str]]:
    """Decodes a CollectorMessage. Returns (reason, message) for a refusal, or None for any other message."""
    for field, body in read_fields(data):
        if field == 3 and isinstance(body, bytes):
            texts = {f: v.decode("utf-8", "replace") for f, v in read_fields(body) if isinstance(v, bytes)}
            return texts.get(1, ""), _CONTROL.sub("?", texts.get(2, ""))[:2 * MAX_STRING]
    return None


def read_welcome(data: bytes) -> Optional[Welcome]:
    """Decodes a CollectorMessage. For a Welcome, returns {"node", "job_id", "source"}, plus the ints "written", "sends_written", and "received" if
    the collector sends them. Returns None for any other message."""
    names = {1: "node", 2: "job_id", 3: "source"}
    numbers = {4: "written", 5: "sends_written", 6: "received"}
    for field, body in read_fields(data):
        if field == 1 and isinstance(body, bytes):
            welcome: Welcome = {}
            for f, v in read_fields(body):
                if f in names and isinstance(v, bytes):
                    welcome[names[f]] = v.decode("utf-8", "replace")
                elif f in numbers and isinstance(v, int):
                    welcome[numbers[f]] = v
            return welcome
    return None


def read_written(data: bytes) -> Optional[int]:
    """Decodes a CollectorMessage. Returns the sequence number in a Written message, or None for any other message."""
    for field, body in read_fields(data):
        if field == 2 and isinstance(body, bytes):
            sequence = dict(read_fields(body)).get(1, 0)
            if not isinstance(sequence, int):
                raise ValueError("malformed sequence number")
            return sequence
    return None


def read_capture(data: bytes) -> Optional[Request]:
    """Decodes a CollectorMessage. Returns (id, look) from a Capture message, or None for any other message."""
    for field, body in read_fields(data):
        if field == 4 and isinstance(body, bytes):
            fields = dict(read_fields(body))
            ident, look = fields.get(1, b""), fields.get(2, 0)
            if isinstance(ident, bytes) and isinstance(look, int):
                return ident.decode("utf-8", "replace")[:MAX_STRING], look
    return None
