"""Buffer of Updates that the collector has not made durable yet, kept for a resend. Its size in bytes is limited.

Beyond the limit, the oldest Updates are discarded. A discarded Update is lost only if the collector did not receive it. Its spans and values are then
counted in `lost`.
"""
from __future__ import annotations

from collections import deque

KEEP_BYTES = 8 << 20
MOST_GIVEN_UP = 1024  # maximum number of entries; beyond this limit, the two oldest entries are merged


class Unwritten:
    def __init__(self, limit: int = KEEP_BYTES) -> None:
        self._limit = limit
        self._kept: deque[tuple[int, bytes, int]] = deque()  # (sequence, frame, number of its spans and values)
        self._given_up: deque[tuple[int, int]] = deque()     # (sequence, number of spans and values), all older than the kept Updates
        self._bytes = 0
        self.lost = 0

    def __len__(self) -> int:
        return len(self._kept)

    def items(self) -> int:
        """Returns the number of spans and values that are not known to be durable."""
        return sum(entry[2] for entry in self._kept) + sum(entry[1] for entry in self._given_up)

    def add(self, sequence: int, frame: bytes, items: int) -> None:
        self._kept.append((sequence, frame, items))
        self._bytes += len(frame)
        while self._bytes > self._limit and len(self._kept) > 1:
            sequence, frame, items = self._kept.popleft()
            self._bytes -= len(frame)
            if items:
                self._given_up.append((sequence, items))
            if len(self._given_up) > MOST_GIVEN_UP:
                _, first = self._given_up.popleft()
                sequence, second = self._given_up.popleft()
                self._given_up.appendleft((sequence, first + second))

    def written(self, sequence: int) -> None:
        """Marks all Updates up to this sequence number as durable."""
        while self._kept and self._kept[0][0] <= sequence:
            self._bytes -= len(self._kept.popleft()[1])
        while self._given_up and self._given_up[0][0] <= sequence:
            self._given_up.popleft()

    def after(self, received: int) -> tuple[list[bytes], int]:
        """Returns the frames to resend, in order, to a collector that has received the Updates up to `received`. Also returns the number of spans and
        values that are lost because they were discarded."""
        lost = 0
        while self._given_up and self._given_up[-1][0] > received:
            lost += self._given_up.pop()[1]
        self.lost += lost
        return [frame for sequence, frame, _ in self._kept if sequence > received], lost

    def forget(self) -> None:
        """Discards all Updates, for a collector that does not send Written."""
        self._kept.clear()
        self._given_up.clear()
        self._bytes = 0

    def give_up(self) -> int:
        """Discards all Updates because a resend is no longer possible. Returns the number of lost spans and values."""
        lost = self.items()
        self.lost += lost
        self.forget()
        return lost
