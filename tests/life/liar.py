"""A misbehaving client on the collector's socket. The data that it sends for another job must not reach any rule of that job."""
import os
import random
import socket
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "clients", "python", "src"))

from pitwall import _wire  # noqa: E402
from pitwall._identity import identify  # noqa: E402

OTHER_UID = 65534  # UID of the user nobody
LIES = ("garbage", "huge_frame", "no_hello", "two_hellos", "future", "backwards", "nan_names", "silent", "other_uid")


def _connect(path):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(2)
    connection.connect(path)
    return connection


def _hello(job, rank):
    identity = identify({}, job=job, job_id=job, rank=rank, world_size=2)
    return _wire.frame(_wire.hello(identity, os.urandom(16).hex(), time.time_ns(), os.getpid()))


def _update(sequence, metric, number, at, promise, labels=()):
    item = _wire.value(metric, _wire.labels(2, labels), number, at, 0, "train")
    return _wire.frame(_wire.update(sequence, [item], promise, [("train", 1)], 0, "", 0, 0, ""))


def bytes_of(kind, job, random_source):
    """Returns the data to send, in pieces."""
    now = time.time_ns()
    own = "liar-%d" % random_source.randrange(1 << 30)
    if kind == "garbage":
        return [bytes(random_source.randrange(256) for _ in range(4096))]
    if kind == "huge_frame":
        return [_hello(own, 0), struct.pack("<I", 0xFFFFFFFF) + b"\xff" * 1024]
    if kind == "no_hello":
        return [_update(1, "train_life_liar", 1.0, now, now)]
    if kind == "two_hellos":
        return [_hello(own, 0), _hello(job, 0), _update(1, "train_life_liar", 1.0, now, now)]
    if kind == "future":
        late = now + 3600 * 10**9
        return [_hello(own, 0)] + [_update(i, "train_life_value", i, late + i, late + i) for i in range(1, 20)]
    if kind == "backwards":
        return [_hello(own, 0)] + [_update(100 - i, "train_life_value", i, now - i * 10**9, now - i * 10**9) for i in range(50)]
    if kind == "nan_names":
        return [_hello(own, 0)] + [_update(i, "train_x\x1b[31m%d" % i, float("nan"), now, now, (("a\nb", "\x9bc"),))
                                   for i in range(1, 20)]
    if kind == "silent":
        return [_hello(own, 0)]
    # other_uid: takes the place of a rank in another user's job and sends values for a metric that only this client uses.
    return [_hello(job, 0)] + [_update(i, "train_life_liar", 1.0, now + i * 10**6, now + i * 10**6 + 1) for i in range(1, 10)]


def _speak(path, pieces, stay):
    try:
        connection = _connect(path)
        for piece in pieces:
            connection.sendall(piece)
        time.sleep(stay)
        connection.close()
        return "sent"
    except OSError as error:
        return "refused: %s" % (error.strerror or error)


def lie(path, job, random_source):
    """Runs one misbehaving client and returns the entry for faults.jsonl."""
    kind = random_source.choice([k for k in LIES if k != "other_uid" or os.geteuid() == 0])
    if kind == "other_uid":
        # The client runs in a separate process, because a process cannot regain a UID that it has dropped.
        done = subprocess.run([sys.executable, os.path.abspath(__file__), path, job], stdout=subprocess.PIPE, text=True, timeout=30)
        return {"lie": kind, "job": job, "answer": done.stdout.strip()}
    return {"lie": kind, "job": job, "answer": _speak(path, bytes_of(kind, job, random_source), 0.3)}


if __name__ == "__main__":
    os.setgid(OTHER_UID)
    os.setuid(OTHER_UID)
    print(_speak(sys.argv[1], bytes_of("other_uid", sys.argv[2], random.Random(1)), 0.5))
