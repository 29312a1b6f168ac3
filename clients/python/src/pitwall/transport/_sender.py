"""The client's own thread. It sends the Recorder's items to the collector, and heartbeats while training hangs.

The thread runs from start() to stop(), and all its waits are bounded. Without a collector, the thread retries at growing intervals, while the
Recorder's bounded queue fills and then drops new items.

A collector confirms the Updates that are durable (Written). The client keeps unconfirmed Updates and resends them with their sequence numbers after a
lost connection. The resend follows the collector's Welcome, which reports the Updates that the collector has received. The previous version of the
collector sends neither message. In this case, the client only resends the interrupted frame as a whole, because a partial frame cannot have been
decoded.

Wall time is read once per boot. If the wall clock jumps forward, a new boot starts. If it jumps back, the client keeps its own time and reports the
offset as a state (pitwall_clock_offset_seconds).
"""
from __future__ import annotations

import logging
import os
import select
import socket
import threading
import time
import uuid
from collections import deque
from typing import Any, Callable, Optional, Sequence

from .. import _wire
from .._guard import swallow
from .._identity import Identity
from ..capture import _capture, _stacks
from ..recording._core import Item
from ..recording._recorder import Recorder, Taken, native
from . import _clock_step
from ._patience import Patience
from ._unwritten import Unwritten

logger = logging.getLogger("pitwall")
logger.addHandler(logging.NullHandler())  # prevents output if the script has not configured logging

FLUSH_S = 0.1        # maximum delay of data
BEAT_S = 0.5         # maximum interval between Updates; half of the protocol's limit, to tolerate late wake-ups
STALL_S = 10.0       # a connection that does not accept any byte for this long is closed
GENTLE_CLOSE_S = 0.3
GIVE_WAY_S = 0.05
CHUNK = 2048         # items per Update; keeps frames far below the limit of 4 MiB
BACKOFF_S = (0.1, 5.0)
CLOCK_DRIFT_NS = 1_000_000_000
MAX_ASKED = 4        # maximum number of unanswered captures
MAX_REFUSALS = 16    # maximum number of logged rejection reasons
WRITTEN_S = 1.0      # maximum wait for confirmation before a new boot, which cannot resend the data
STAMP_NS = 10**7        # maximum time between reading an item's timestamp and adding the item to the queue
OFFSET_METRIC = "pitwall_clock_offset_seconds"


class Closed(Exception):
    """The connection is lost."""


class Sender:
    def __init__(self, recorder: Recorder, identity: Identity, paths: Sequence[str]) -> None:
        self._recorder = recorder
        self._identity = identity
        self._paths = paths
        self._path = ""          # path of the connected socket
        self._captures = _capture.Requests(identity)
        self._stop = threading.Event()
        self._wake = threading.Event()  # set when an Update must not wait for FLUSH_S
        self._flushes: deque[threading.Event] = deque()  # events of flush(); each is set once an Update that was built after the call is written
        self._farewell: tuple[Any, ...] = ("",)  # arguments of the Goodbye
        self._patience = Patience(0)  # limit on the wait of stop()
        self._socket: Any = None  # a socket, or None while disconnected
        self._unwritten = Unwritten()
        self._offset_reported = False
        self._clock_step = _clock_step.ClockStep()
        self._cut_off = b""      # complete frame of an Update until the socket has accepted all of it
        self._received = bytearray()
        self._backlog: list[Item] = []  # items taken from the recorder but not yet in a frame
        self._connected_as = ""  # boot ID under which data was sent
        self.welcome: Optional[_wire.Welcome] = None
        self._welcomed = False   # whether a Welcome arrived on this connection
        self._asked: list[_wire.Request] = []  # (id, look) of unanswered captures
        self._refusals: set[str] = set()  # logged rejection reasons
        self._new_boot()
        self._thread = threading.Thread(target=self._run, name="pitwall", daemon=True)
        recorder.loops.flush = self.flush

    def start(self) -> None:
        self._thread.start()

    def stop(self, reason: str, timeout: Optional[float], *farewell: Any) -> None:
        """Sends the remaining data and a Goodbye, and waits for both, no longer than Patience(timeout) allows. farewell: additional arguments for
        _wire.goodbye()."""
        self._farewell = (reason, *farewell)
        self._patience = Patience(timeout)
        self._stop.set()
        self._wake.set()
        if self._thread is not threading.current_thread():
            self._patience.join(self._thread)

    def flush(self, timeout: float) -> None:
        """Sends the data recorded before the call, and waits up to `timeout` seconds for it to be written to the socket. A no-op in the
        sender's own thread and without a collector."""
        if self._socket is None or self._thread is threading.current_thread():
            return
        written = threading.Event()
        self._flushes.append(written)
        self._wake.set()
        written.wait(timeout)

    @property
    def rank(self) -> int:
        return self._identity.rank

    @property
    def connected(self) -> bool:
        return self._socket is not None

    def abandon(self) -> None:
        """Detaches a forked child. The sender thread does not exist in the child, and the connection belongs to the parent."""
        if self._socket is not None:
            self._socket.close()

    # Time base of a boot. Wall time is read once per boot, and all later times are monotonic.

    def _new_boot(self, start: Optional[int] = None) -> None:
        """Starts a new boot.

        start: monotonic time in ns at which the boot starts; data recorded later belongs to it. Defaults to now. A collector rejects data that
        was recorded before the start of its boot.
        """
        self._boot_id = uuid.uuid4().hex
        now = time.monotonic_ns()
        self._start = now if start is None else start
        self._base = time.time_ns() - now
        self._start_wall = self._base + self._start
        self._sequence = 0
        self._last_promise = 0
        self._last_steps: dict[str, int] = {}

    def _offset(self) -> int:
        """Returns the difference between wall time and the process's own time, in nanoseconds."""
        return time.time_ns() - (self._base + time.monotonic_ns())

    def _watch_clock(self) -> bool:
        """Returns whether a new boot must start because wall time jumped forward, or back by more than an hour. Reports a smaller backward jump as a
        state. A large step counts only after it has persisted."""
        offset = self._offset()
        lasts = self._clock_step.believe(offset, time.monotonic_ns())
        if lasts and (offset > CLOCK_DRIFT_NS or offset < -_clock_step.LARGE_NS):
            return True
        back = offset < -CLOCK_DRIFT_NS
        if back and not self._offset_reported:
            logger.warning("pitwall: the wall clock jumped back by %.1f s; this process keeps its own time", -offset / 1e9)
        if back or self._offset_reported:
            self._recorder.set_state(OFFSET_METRIC, (), round(offset / 1e9, 1))
        self._offset_reported = back
        return False

    # Sender thread.

    def _run(self) -> None:
        try:
            pause = BACKOFF_S[0]
            while True:
                if self._connect():
                    self._welcomed = False
                    try:
                        self._serve()
                    except (Closed, OSError) as error:
                        self._read_remaining()
                        logger.debug("pitwall: connection to the collector lost: %s", error)
                    except Exception:
                        logger.debug("pitwall: connection to the collector closed after an error", exc_info=True)
                    finally:
                        self._disconnect()
                    if self._welcomed:  # if a collector rejects the Hello and closes immediately, retries become less frequent
                        pause = BACKOFF_S[0]
                if self._stop.is_set():
                    # A restarting collector may still accept the data that is not durable yet.
                    if not self._unwritten or self._patience.left() <= 0:
                        return
                    time.sleep(GIVE_WAY_S)
                    continue
                if self._stop.wait(pause) and not self._unwritten:
                    return
                pause = min(pause * 2, BACKOFF_S[1])
        except Exception:  # the thread's traceback must not reach the user's terminal
            logger.debug("pitwall: the sender stopped after an error", exc_info=True)
        finally:
            lost = self._unwritten.give_up()
            if lost:
                logger.warning("pitwall: rank %d: %d spans or values may be lost because the collector has not confirmed them",
                               self._identity.rank, lost)

    def _connect(self) -> bool:
        for path in self._paths:
            connection = None
            try:
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                connection.settimeout(1.0)
                connection.connect(path)
                connection.setblocking(False)
            except (OSError, ValueError) as error:
                logger.debug("pitwall: no collector at %s: %s", path, error)
                if connection is not None:
                    connection.close()
                continue
            self._socket = connection
            self._path = path
            self._received.clear()
            self._asked.clear()
            return True
        return False

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _serve(self) -> None:
        """Serves one connection: sends Hello, and then Updates until the connection is lost or stop() is called."""
        if self._connected_as != self._boot_id and abs(self._offset()) > CLOCK_DRIFT_NS:
            self._new_boot(self._start)  # the clock was set while disconnected, and no data was sent under this boot ID yet
        self._write(_wire.frame(_wire.hello(self._identity, self._boot_id, self._start_wall, os.getpid())))
        self._connected_as = self._boot_id
        if self._unwritten or self._cut_off:
            self._send_again()
        next_beat = next_look = 0.0
        while True:
            stopping = self._stop.is_set()
            if stopping:
                self._recorder.finish()
            self._read()
            self._answer_captures()
            if not stopping and time.monotonic() >= next_look:
                next_look = time.monotonic() + BEAT_S
                self._captures.look(self._path, (self.welcome or {}).get("job_id"), self._recorder)
            if stopping or self._recorder.pending() or self._backlog or self._flushes or time.monotonic() >= next_beat:
                self._send_updates()
                next_beat = time.monotonic() + BEAT_S
            if stopping:
                self._write(_wire.frame(_wire.goodbye(*self._farewell)))
                self._await(lambda: not self._unwritten, self._patience.left)
                self._close_gently()
                return
            if self._watch_clock():
                # All data so far is sent under the old boot ID. Data recorded while the collector makes the old data durable belongs to the new boot.
                start = time.monotonic_ns() - STAMP_NS
                self._send_updates()
                self._await(lambda: not self._unwritten, Patience(WRITTEN_S).left)
                self._lose(self._unwritten.give_up())
                self._new_boot(start)
                raise Closed("the wall clock was set")
            self._wake.wait(FLUSH_S)
            self._wake.clear()

    def _answer_captures(self) -> None:
        asked, self._asked = self._asked, []
        for request in asked:
            try:
                body = _stacks.answer(request, self._recorder)
            except Exception:  # the collector captures the stacks from outside
                swallow("a capture")
                continue
            self._write(_wire.frame(body))

    def _send_again(self) -> None:
        """Resends the data of the previous connection that the collector has not received."""
        self._await(lambda: self._welcomed, Patience(STALL_S).left)
        if not self._welcomed:
            raise Closed("the collector did not send a Welcome")
        welcome = self.welcome or {}
        if welcome.get("sends_written"):
            frames, lost = self._unwritten.after(welcome.get("received", 0))
            self._lose(lost)
        else:
            self._unwritten.forget()
            frames = [self._cut_off] if self._cut_off else []
        for frame in frames:
            self._cut_off = frame
            self._write(frame)
            self._read()
        self._cut_off = b""

    def _lose(self, count: int) -> None:
        if count:
            logger.warning("pitwall: rank %d: %d spans and values are lost because the collector does not have them and the client "
                           "no longer keeps them", self._identity.rank, count)

    def _await(self, condition: Callable[[], bool], timeout: Callable[[], float]) -> None:
        """Reads until the condition holds or timeout() returns zero or less. Raises Closed as _read() does."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while True:
            self._read()
            left = timeout()
            if left <= 0 or condition():
                return
            poll.poll(min(left, 0.05) * 1000)

    def _send_updates(self) -> None:
        """Sends the queue as one Update, or as several Updates if the queue is long."""
        flushes = len(self._flushes)
        loop_open = self._recorder.loops.open
        taken = self._recorder.take()
        self._backlog.extend(taken.items)
        first = True
        while first or self._backlog:
            first = False
            chunk, rest = self._backlog[:CHUNK], self._backlog[CHUNK:]
            self._cut_off = _wire.frame(self._update(taken, chunk, rest, loop_open))
            if not self._welcomed or (self.welcome or {}).get("sends_written"):
                self._unwritten.add(self._sequence, self._cut_off, len(chunk))
            self._backlog = rest  # the chunk is now part of the frame
            self._recorder.release(len(chunk))
            self._write(self._cut_off)
            self._cut_off = b""
        for _ in range(flushes):
            self._flushes.popleft().set()

    def _update(self, taken: Taken, chunk: list[Item], rest: list[Item], loop_open: Optional[bool] = None) -> bytes:
        # A promise must also hold for the items left for later Updates.
        complete_until = min([taken.complete_until] + [item.end - 1 for item in rest])
        steps = dict(taken.steps)
        if rest:
            for mode, step in _lowest_steps(rest).items():
                steps[mode] = min(steps.get(mode, 0), step)
        # If steps were rolled back and resumed since the last Update, the Update that contains the lower steps reports the rollback.
        for mode, step in _lowest_steps(chunk).items():
            if step < self._last_steps.get(mode, 0):
                steps[mode] = min(steps.get(mode, 0), step)
        self._last_steps = steps
        self._last_promise = max(self._last_promise, complete_until + self._base)
        self._sequence += 1
        phase, since, step_plus_one, mode = taken.running
        return _wire.update(
            self._sequence, [native.encode(chunk, self._base)] if native else [self._encode(item) for item in chunk], self._last_promise, sorted(steps.items()),
            taken.dropped + self._unwritten.lost, phase, since + self._base if since else 0, step_plus_one, mode, loop_open)

    def _encode(self, item: Item) -> bytes:
        kind, name, start, end, step_plus_one, mode, number, labels = item
        try:
            if kind:
                return _wire.span(kind, name, start + self._base, end - start, step_plus_one, mode)
            return _wire.value(name, _wire.labels(2, labels), number, end + self._base, step_plus_one, mode)
        except Exception:  # one invalid item must not end the stream
            logger.debug("pitwall: item not sent: %r", item, exc_info=True)
            return b""

    # Socket functions. No call blocks for long.

    def _write(self, frame: bytes) -> None:
        """Sends one whole frame, or raises Closed."""
        rest = memoryview(frame)
        deadline = time.monotonic() + STALL_S
        while rest:
            try:
                # MSG_NOSIGNAL: if the script restored SIGPIPE's default action, a collector restart must not terminate it.
                count = self._socket.send(rest, socket.MSG_NOSIGNAL)
                rest = rest[count:]
                deadline = time.monotonic() + STALL_S
                self._patience.moved()
            except (BlockingIOError, InterruptedError):
                if time.monotonic() > deadline:
                    raise Closed("the collector does not read") from None
                poll = select.poll()  # select() does not support training scripts with more than 1024 open files
                poll.register(self._socket, select.POLLOUT)
                poll.poll(100)

    def _log_rejection(self, reason: str, message: str) -> None:
        """Logs the collector's reason for rejecting this process, once per reason. The client retries at growing intervals."""
        self._welcomed = False
        if reason in self._refusals or len(self._refusals) >= MAX_REFUSALS:
            return
        self._refusals.add(reason)
        logger.warning("pitwall: the collector at %s rejects this process (%s): %s; training continues without monitoring",
                       self._path, reason, message)

    def _read_remaining(self) -> None:
        """Reads the data that arrived before the connection broke, because the collector may have sent its reason for closing."""
        try:
            self._read()
        except (Closed, OSError):
            pass

    def _close_gently(self) -> None:
        """Waits briefly until the collector has read all data and closed the connection. The collector may not have sent its Welcome yet, and the
        connection must not break before the collector has read the data."""
        self._socket.shutdown(socket.SHUT_WR)
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        deadline = time.monotonic() + GENTLE_CLOSE_S
        while time.monotonic() < deadline:
            poll.poll(50)
            self._read()  # raises Closed at the end of the stream

    def _read(self) -> None:
        """Reads the available messages from the collector. Raises Closed at the end of the stream."""
        ended = False
        while True:
            try:
                data = self._socket.recv(65536)
            except (BlockingIOError, InterruptedError):
                break
            if not data:
                ended = True
                break
            self._received += data
            self._patience.moved()
        while len(self._received) >= 4:
            size = int.from_bytes(self._received[:4], "little")
            if size > _wire.MAX_FRAME:
                raise Closed("frame of %d bytes" % size)
            if len(self._received) < 4 + size:
                break
            body = bytes(self._received[4:4 + size])
            del self._received[:4 + size]
            try:
                welcome = _wire.read_welcome(body)
                if welcome is not None:
                    self.welcome, self._welcomed = welcome, True
                    if welcome.get("sends_written"):
                        self._unwritten.written(welcome.get("written", 0))
                    elif not self._cut_off:
                        self._unwritten.forget()
                written = _wire.read_written(body)
                if written is not None:
                    self._unwritten.written(written)
                asked = _wire.read_capture(body)
                if asked is not None and len(self._asked) < MAX_ASKED:
                    self._asked.append(asked)
                refused = _wire.read_refused(body)
                if refused is not None:
                    self._log_rejection(*refused)
            except ValueError as error:
                raise Closed("undecodable message: %s" % error) from None
        if ended:
            raise Closed("closed by the collector")


def _lowest_steps_in_python(items: list[Item]) -> dict[str, int]:
    """Returns {mode: lowest step}, ignoring items that do not belong to a step."""
    lowest: dict[str, int] = {}
    for item in items:
        step = item.step_plus_one - 1
        if step >= 0 and step < lowest.get(item.mode, step + 1):
            lowest[item.mode] = step
    return lowest


_lowest_steps = native.lowest_steps if native else _lowest_steps_in_python
