#!/usr/bin/env python3
"""Records the files that tests/upgrade keeps for each version: a data directory, a collector's spool, and a client's bytes.
usage: record.py PITWALL DUMP_TOPIC NAME, see tests/upgrade/data/README.md. Writes tests/upgrade/data/NAME."""
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

import kept
from kept import harness

# The script logs the numbers 0 to N-1 and a loss beyond every limit, and then waits.
TRAINING = """
import sys, time
sys.path.insert(0, sys.argv[1])
import pitwall
pitwall.init(job=sys.argv[2], rank=0)
for step in pitwall.steps(range(int(sys.argv[3]))):
    pitwall.log(**{"loss": 9.0, "number_" + sys.argv[2]: float(step)})
    time.sleep(0.05)
print("logged", flush=True)
if sys.argv[4] == "finish":
    pitwall.finish()
else:
    time.sleep(3600)
"""


def train(path, job, steps, end):
    return subprocess.Popen([sys.executable, "-c", TRAINING, harness.CLIENT, job, str(steps), end],
                            stdout=subprocess.PIPE, text=True,
                            env=dict(os.environ, PITWALL_SOCKET=path, PITWALL_JOB_ID="kept-" + job))


class Tee:
    """A proxy socket in front of the collector's socket that records the clients' bytes."""

    def __init__(self, path, collector):
        self.sent = b""
        self.collector = collector
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        client = self.listener.accept()[0]
        server = socket.socket(socket.AF_UNIX)
        server.connect(self.collector)
        threading.Thread(target=self.copy, args=(server, client, False), daemon=True).start()
        self.copy(client, server, True)

    def copy(self, source, target, keep):
        while True:
            try:
                data = source.recv(1 << 16)
                if keep:
                    self.sent += data
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)
            except OSError:
                return


def lines(process):
    return process.stdout.readline()


def events(dump, data):
    done = subprocess.run([dump, data, "pitwall.issues"], stdout=subprocess.PIPE, check=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def record_data(binary, dump, folder):
    """Returns the facts that the test must reproduce."""
    receiver = kept.Receiver()
    data = os.path.join(folder, "data")
    service = kept.start(binary, folder, receiver)
    sock = os.path.join(data, "collector.sock")
    tee = Tee(os.path.join(folder, "tee.sock"), sock)
    running = train(sock, "running", 40, "stay")
    finished = train(sock, "finished", 20, "finish")
    wire = train(os.path.join(folder, "tee.sock"), "wire", 10, "finish")
    try:
        for process in (running, finished, wire):
            assert lines(process) == "logged\n"
        finished.wait(harness.PATIENCE)
        wire.wait(harness.PATIENCE)
        harness.wait_for("an issue of each job, and the ends of two", lambda: {
            ("kept-running", "found"), ("kept-finished", "resolved"), ("kept-wire", "resolved")} <= receiver.reported())
        time.sleep(3)  # waits for snapshots, stored positions, and decisions
        service.kill()
    finally:
        service.kill()
        for process in (running, finished, wire):
            process.kill()
            process.wait()
    receiver.close()
    recorded = events(dump, data)
    return {"events": [event["id"] for event in recorded], "delivered": sorted(set(receiver.ids))}, tee.sent


def record_spool(binary, folder):
    """Records a collector that cannot reach a broker and therefore spools all data."""
    data = os.path.join(folder, "spooling")
    log = os.path.join(folder, "collector.log")
    with open(log, "w") as stderr:
        collector = subprocess.Popen(
            [binary, "collector", "--data-dir", data, "--kafka", "127.0.0.1:1", "--node", "kept2",
             "--http-listen", "127.0.0.1:0"], stderr=stderr)
    training = None
    try:
        sock = os.path.join(data, "collector.sock")
        harness.wait_for("the collector", lambda: os.path.exists(sock))
        training = train(sock, "spooled", 20, "stay")
        assert lines(training) == "logged\n"
        time.sleep(2)
    finally:
        collector.kill()
        collector.wait()
        if training:
            training.kill()
            training.wait()
    return os.path.join(data, "spool")


def main():
    binary, dump, name = sys.argv[1:]
    out = os.path.join(kept.DATA, name)
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        expected, wire = record_data(binary, dump, folder)
        spool = record_spool(binary, folder)
        buffer = os.path.join(out, "data.tar.xz")
        with tarfile.open(buffer, "w:xz", preset=9) as tar:
            for path, inside in ((os.path.join(folder, "data"), "data"), (spool, "spool")):
                for base, _, files in sorted(os.walk(path)):
                    for file in sorted(files):
                        whole = os.path.join(base, file)
                        if os.path.isfile(whole) and not file.endswith(".sock"):
                            info = tar.gettarinfo(whole, os.path.join(inside, os.path.relpath(whole, path)))
                            info.uid = info.gid = 0
                            info.uname = info.gname = ""
                            with open(whole, "rb") as content:
                                tar.addfile(info, content)
        with open(os.path.join(out, "client.bytes"), "wb") as bytes_out:
            bytes_out.write(wire)
        expected.update(jobs=4, steps={"running": 40, "finished": 20, "wire": 10, "spooled": 20})
        with open(os.path.join(out, "expected.json"), "w") as text:
            json.dump(expected, text, indent=1)
            text.write("\n")
    print("%s: %d bytes, %d events" % (out, sum(os.path.getsize(os.path.join(out, f)) for f in os.listdir(out)),
                                       len(expected["events"])))


if __name__ == "__main__":
    main()
