"""One rank of a miniature training job with the real Python client. It logs a known, journaled sequence of values.

rank.py CONFIG (JSON: job, rank, world, journal, clock, first, step_s, trouble_every_s, trouble_s, seconds)

Each value is written to the journal before it is passed to the client: "v NUMBER TIME". Values are unique within a run: they count from `first`, and
the load assigns a range to each incarnation. SIGTERM, or reaching `seconds`, ends the rank normally: it calls finish() while connected, and then
writes "e LEFT CONNECTED TIME" to the journal. A killed rank does not write this line. `clock` is a file with the wall clock offset of this process in
seconds. The script applies the offset itself, because libfaketime breaks Python's time.sleep().
"""
import json
import os
import signal
import sys
import time

import pitwall
from pitwall._client import client

real_time_ns = time.time_ns
CONNECT_S = 45.0  # maximum wait for a collector at the end, because a job without a Goodbye does not end
stopping = False


def set_clock(path):
    """Adds the offset in the file to the wall clock. The file is read on each call."""
    def time_ns():
        with open(path) as text:
            return real_time_ns() + int(text.read()) * 10**9
    time.time_ns = time_ns
    time.time = lambda: time_ns() / 1e9


def stop(*_):
    global stopping
    stopping = True


def left():
    """Returns (number of items that the client still holds, true if a collector is connected)."""
    recorder, sender = client.recorder, client.sender
    if recorder is None or sender is None:
        return 0, False
    held = recorder.pending() + len(getattr(sender, "_backlog", ())) + (1 if getattr(sender, "_cut_off", b"") else 0)
    return held, sender.connected


def main():
    with open(sys.argv[1]) as text:
        config = json.load(text)
    signal.signal(signal.SIGTERM, stop)
    set_clock(config["clock"])
    journal = os.open(config["journal"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    pitwall.init(job=config["job"], job_id=config["job"], rank=config["rank"], world_size=config["world"])
    began, parent = time.monotonic(), os.getppid()
    number, step = config["first"], 0
    while not stopping and os.getppid() == parent and time.monotonic() - began < config["seconds"]:
        age = time.monotonic() - began
        trouble = age % config["trouble_every_s"] > config["trouble_every_s"] - config["trouble_s"]
        with pitwall.step(step):
            with pitwall.phase("forward"):
                time.sleep(config["step_s"] * (3 if trouble else 1))
            os.write(journal, b"v %d %.3f\n" % (number, time.monotonic()))
            pitwall.log(life_value=number, loss=9.0 if trouble else 1.0, life_trouble=1.0 if trouble else 0.0)
        number += 1
        step += 1
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a signal during the interpreter's exit would count as a death
    # An empty last step ends the previous step, so that the client sends the previous step's value.
    with pitwall.step(step):
        pass
    deadline = time.monotonic() + CONNECT_S
    while time.monotonic() < deadline:
        held, connected = left()
        if connected and held == 0:
            break
        time.sleep(0.05)
    held, connected = left()
    pitwall.finish(timeout=5.0)
    os.write(journal, b"e %d %d %.3f\n" % (held, connected, time.monotonic()))


main()
