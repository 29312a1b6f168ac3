#!/usr/bin/env python3
"""Reads a stored segment of the history as docs/history-format.md describes it."""

import ctypes
import ctypes.util
import pathlib
import re
import struct
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEGMENT = ROOT / "services/history/flush/testdata/segment.seg"
PAGE = ROOT / "docs/history-format.md"

ZSTD = ctypes.CDLL(ctypes.util.find_library("zstd"))
ZSTD.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
ZSTD.ZSTD_decompress.restype = ctypes.c_size_t


def crc_table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


CRC_TABLE = list(crc_table())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def unpack(data):
    size = ZSTD.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(size)
    got = ZSTD.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    if got != size:
        raise ValueError("not a zstd frame")
    return out.raw


class Reader:
    """Numbers and texts of the table "Encodings"."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def u8(self):
        self.at += 1
        return self.data[self.at - 1]

    def u64(self):
        number = shift = 0
        while True:
            byte = self.u8()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def i64(self):
        number = self.u64()
        return number >> 1 ^ -(number & 1)

    def str(self):
        size = self.u64()
        self.at += size
        return self.data[self.at - size : self.at]


def tables(data):
    """Returns the groups of each table: a list of (rows, minimum time, maximum time, pages). Checks all checksums."""
    if data[:8] != b"PWHS" + struct.pack("<I", 4) or data[-4:] != b"PWHE":
        raise ValueError("not a segment of format 4")
    at, size, crc = struct.unpack("<QII", data[-20:-4])
    packed = data[at:-20]
    if len(packed) != size or crc32c(packed) != crc:
        raise ValueError("the footer is damaged")
    footer, out, before = Reader(unpack(packed)), {}, 0
    for _ in range(footer.u64()):
        kind, key, groups, first = footer.u8(), footer.str().decode(), footer.u64(), 0
        if groups:
            first = before = before + footer.i64()
            footer.i64()
        body, types = Reader(footer.str()), []
        for _ in range(body.u64()):
            types += [body.u8()] * body.u64()
        end = body.u64() if groups else 0
        out[key] = (kind, types, [])
        for _ in range(groups):
            rows, least, most = body.u64(), first + body.i64(), first + body.i64()
            end += body.i64()
            sizes, crcs, pages = [body.u64() for _ in types], body.str(), []
            for size, crc in zip(sizes, struct.unpack(f"<{len(types)}I", crcs), strict=True):
                pages.append(data[end : end + size])
                end += size
                if crc32c(pages[-1]) != crc:
                    raise ValueError(f"a page of {key} is damaged")
            out[key][2].append((rows, least, most, pages))
        if body.at != len(body.data):
            raise ValueError(f"the body of {key} is too long")
    return out


class SegmentFormatTest(unittest.TestCase):
    def test_segment_is_as_described(self):
        read = tables(SEGMENT.read_bytes())
        documented = set(re.findall(r"^\| `([a-z-]+)(?:/N/M)?` \| \d", PAGE.read_text(), re.MULTILINE))
        self.assertGreater(len(documented), 9)
        self.assertLessEqual({key.split("/")[0] for key in read}, documented)
        kind, types, groups = read["window"]
        self.assertEqual((kind, types, len(groups)), (4, [1, 3], 1))
        texts = Reader(unpack(groups[0][3][1]))
        self.assertEqual(texts.u64(), 1)
        window = Reader(texts.str())
        self.assertEqual(window.str(), b"load-0")
        start = window.i64()
        self.assertEqual(start, groups[0][1])
        self.assertEqual(start % (600 * 10**9), 0)
        for key, (_, types, groups) in read.items():
            if not key.startswith("rows/"):
                continue
            self.assertEqual(types[:4], [1] * 4)
            self.assertEqual(set(types[4:]), {2})
            for rows, least, most, pages in groups:
                self.assertLessEqual((start, least), (least, most))
                self.assertLess(most, start + 600 * 10**9)
                for page, column in zip(pages, types, strict=True):
                    head = Reader(page if column == 1 else page[2:])
                    self.assertEqual(head.u64(), rows)

    def test_every_changed_byte_is_detected(self):
        whole = SEGMENT.read_bytes()
        # Each check reads the whole file, so a sample of the bytes is changed: the head, the pages, the footer, and the trailer.
        for at in [0, 4, 8, 100, len(whole) // 2, len(whole) - 2000, len(whole) - 20, len(whole) - 9, len(whole) - 1]:
            damaged = bytearray(whole)
            damaged[at] ^= 1
            with self.assertRaises((ValueError, IndexError), msg=f"byte {at}"):
                tables(bytes(damaged))


if __name__ == "__main__":
    unittest.main()
