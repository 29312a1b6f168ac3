"""Collector for benchmarks. It runs in a separate process and discards all data that a client sends."""
import multiprocessing
import os
import shutil
import socket
import tempfile
import time


def _read(path, ready):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(1)
    ready.set()
    connection, _ = listener.accept()
    while connection.recv(1 << 20):
        pass


class Sink:
    """Collector that listens as soon as it is constructed. Call `connect` before the first measured turn and `close` at the end."""

    def __init__(self):
        self._folder = tempfile.mkdtemp(prefix="pitwall-bench-")
        self._path = os.path.join(self._folder, "collector.sock")
        ready = multiprocessing.Event()
        self._process = multiprocessing.Process(target=_read, args=(self._path, ready), daemon=True)
        self._process.start()
        ready.wait(10)

    def connect(self, pitwall):
        """Connects the client of the given package version as job "bench". Waits at most 10 s for the connection."""
        pitwall.init(job="bench", socket=self._path)
        deadline = time.monotonic() + 10
        while not pitwall._client.client.sender.connected and time.monotonic() < deadline:
            time.sleep(0.01)

    def close(self, pitwall):
        pitwall.finish()
        self._process.terminate()
        self._process.join()
        shutil.rmtree(self._folder)
