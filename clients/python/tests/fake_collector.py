"""Small collector for tests. It listens on a Unix socket, decodes a client's messages, and stores them."""
import os
import socket
import struct
import threading
import time

from pitwall import _wire


def _signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


_LABEL = {1: ("name", str), 2: ("value", str)}
_SPAN = {1: ("kind", int), 2: ("name", str), 3: ("start", int), 4: ("duration", int), 5: ("step_plus_one", int),
         6: ("mode", str)}
_VALUE = {1: ("metric", str), 2: ("labels", [_LABEL]), 3: ("value", float), 4: ("time", int),
          5: ("step_plus_one", int), 6: ("mode", str)}
_PROMISE = {1: ("mode", str), 2: ("below_step", int)}
_UPDATE = {1: ("sequence", int), 2: ("spans", [_SPAN]), 3: ("values", [_VALUE]), 4: ("promise", int),
           5: ("step_promises", [_PROMISE]), 6: ("dropped", int), 7: ("phase", str), 8: ("phase_since", int),
           9: ("step_plus_one", int), 10: ("mode", str), 11: ("loop_open", bool)}
_HELLO = {1: ("protocol", int), 2: ("job_id", str), 3: ("job_name", str), 4: ("job_start", int), 5: ("rank", int),
          6: ("local_rank", int), 7: ("world_size", int), 8: ("attempt", int), 9: ("boot_id", str),
          10: ("start", int), 11: ("pid", int), 12: ("labels", [_LABEL]), 13: ("client", str), 14: ("platform", str),
          15: ("cluster", str), 16: ("namespace", str), 17: ("kind", str), 18: ("uid", str), 19: ("queue", str),
          20: ("keeps_until_written", int), 21: ("captures", int)}
_STACK = {1: ("id", int), 2: ("name", str), 3: ("main", int), 4: ("frames", [str])}
_OPEN = {1: ("group", str), 2: ("operation", str), 3: ("sequence", int), 4: ("bytes", int)}
_CAPTURED = {1: ("id", str), 2: ("look", int), 3: ("threads", [_STACK]), 4: ("phase", str), 5: ("mode", str),
             6: ("step_plus_one", int), 7: ("collective", [_OPEN]), 8: ("cpu_seconds", float), 9: ("io_bytes", int),
             10: ("operators", [str]), 11: ("left_out", int)}
_GOODBYE = {1: ("reason", str), 2: ("exception", str), 3: ("exiting", int), 4: ("exit_status", int)}
_KINDS = {1: ("hello", _HELLO), 2: ("update", _UPDATE), 3: ("goodbye", _GOODBYE), 4: ("captured", _CAPTURED)}


def _decode(table, data):
    message = {name: [] if isinstance(kind, list) else None if kind is bool else kind() for name, kind in table.values()}
    for field, content in _wire.read_fields(data):
        name, kind = table[field]  # an unknown field indicates a bug in the client
        if isinstance(kind, list):
            message[name].append(content.decode("utf-8") if kind[0] is str else _decode(kind[0], content))
        elif kind is str:
            message[name] = content.decode("utf-8")
        elif kind is float:
            message[name] = struct.unpack("<d", struct.pack("<Q", content))[0]
        else:
            message[name] = bool(content) if kind is bool else _signed(content)
    return message


def decode_client_message(body):
    """Returns (name, dict), where name is "hello", "update", "goodbye", or "captured"."""
    (field, content), = _wire.read_fields(body)
    name, table = _KINDS[field]
    return name, _decode(table, content)


class FakeCollector:
    """Collector that accepts connections until close(). The messages of each connection are in .connections, in order of arrival.

    cork() stops reading, which causes back pressure on the client.
    durable: function durable(update) that returns whether the Update, and all earlier ones, immediately count as written. Without it, the collector
    behaves like the previous version, which does not send Written.
    durable_until: written sequence numbers by boot ID. May outlive the collector.
    knows: durable_until of a previous collector.
    pace: seconds per message.
    """

    def __init__(self, path, durable=None, knows=None, pace=0.0):
        self.path = path
        self.durable = durable
        self.durable_until = dict(knows or {})
        self.connections = []  # lists of (name, message, monotonic time of arrival)
        self.raw = []          # bodies as received
        self._changed = threading.Condition()
        self._flowing = threading.Event()
        self._flowing.set()
        self._pace = pace
        self._sockets = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def capture(self, ident, look=1):
        """Sends a Capture message on the open connections."""
        body = _wire.frame(_wire.message(4, _wire.string(1, ident) + _wire.integer(2, look)))
        with self._changed:
            sockets = list(self._sockets)
        for connection in sockets:
            connection.sendall(body)

    def cork(self):
        self._flowing.clear()

    def uncork(self):
        self._flowing.set()

    def drop_connections(self):
        with self._changed:
            sockets, self._sockets = self._sockets, []
        for connection in sockets:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        try:
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        except OSError:
            pass
        self._listener.close()
        self._flowing.set()
        self.drop_connections()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def wait_for(self, condition, timeout=10.0):
        """Waits until condition(self) is true. Only a failing test reaches the timeout."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while not condition(self):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise AssertionError("condition not met within %g s; messages: %r" % (timeout, self.connections))
                self._changed.wait(left)

    def messages(self, name=None):
        return [m for c in list(self.connections) for n, m, _ in list(c) if name in (None, n)]

    def spans(self):
        return [s for u in self.messages("update") for s in u["spans"]]

    def values(self):
        """Returns the values, excluding the loop state of the script."""
        return [v for v in self.all_values() if v["metric"] != "train_loop_open"]

    def all_values(self):
        return [v for u in self.messages("update") for v in u["values"]]

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            messages = []
            with self._changed:
                self._sockets.append(connection)
                self.connections.append(messages)
            threading.Thread(target=self._read, args=(connection, messages), daemon=True).start()

    def _read(self, connection, messages):
        with connection, connection.makefile("rb") as stream:
            while True:
                self._flowing.wait()
                try:
                    head = stream.read(4)
                    body = stream.read(int.from_bytes(head, "little")) if len(head) == 4 else b""
                except OSError:
                    return
                if len(head) < 4 or len(body) < int.from_bytes(head, "little"):
                    return
                name, message = decode_client_message(body)
                time.sleep(self._pace)
                if name == "hello":
                    boot = message["boot_id"]
                    known = self.durable_until.setdefault(boot, 0)
                    welcome = _wire.string(1, "node-a") + _wire.string(2, message["job_name"]) + _wire.string(
                        3, "node-a/%d" % message["rank"])
                    if self.durable:
                        welcome += _wire.integer(4, known) + _wire.integer(5, 1) + _wire.integer(6, known)
                    welcome = _wire.message(1, welcome)
                    try:
                        connection.sendall(_wire.frame(welcome))
                    except OSError:
                        pass  # a short-lived client may have exited, but its data still counts
                if name == "update" and self.durable and self.durable(message):
                    self.durable_until[boot] = message["sequence"]
                    try:
                        connection.sendall(_wire.frame(_wire.message(2, _wire.integer(1, message["sequence"]))))
                    except OSError:
                        pass
                with self._changed:
                    self.raw.append(body)
                    messages.append((name, message, time.monotonic()))
                    self._changed.notify_all()


def broken_promises(messages):
    """Checks the messages of one boot in order. Returns violations of earlier promises as strings.

    The time of a span is its end. A step promise may decrease only in the message that contains the lower steps, or in an earlier one.
    """
    found = []
    promise = -1
    below = {}
    for name, message in messages:
        if name != "update":
            continue
        announced = {p["mode"]: p["below_step"] for p in message["step_promises"]}
        allowed = {mode: min(step, announced.get(mode, step)) for mode, step in below.items()}
        for item in message["spans"] + message["values"]:
            at = item["start"] + item["duration"] if "start" in item else item["time"]
            if at <= promise:
                found.append("time %d <= promise %d in update %d: %r" % (at, promise, message["sequence"], item))
            step = item["step_plus_one"] - 1
            if 0 <= step < allowed.get(item["mode"], 0):
                found.append("step %d < promised %d in update %d: %r"
                             % (step, allowed[item["mode"]], message["sequence"], item))
        if message["promise"] < promise:
            found.append("promise fell from %d to %d" % (promise, message["promise"]))
        promise = message["promise"]
        below = announced
    return found
