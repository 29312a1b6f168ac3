"""Captures on request: a file beside the collector's socket asks the processes of a job to profile a few steps.

The file is $PITWALL_CAPTURE, else the socket's path with ".capture": one JSON object,

    {"id": "incident-17", "job": "resnet", "ranks": [0, 3], "steps": 2}

job: the job's id or name. ranks: without it all. steps: 1 to 10, default 2. tools: as of profile(). The client's thread
looks at it twice a second while a collector listens, and the training thread profiles from its next step on. An id is
taken once. Only a file that was written after the client began counts (an older one was meant for a process before it),
and only a regular file of this user or of root that nobody else may write. Whoever writes it writes another name and
renames it.
"""
import json
import os
import stat
import time
from collections import deque

from . import _profile
from ._guard import swallow, tell_once

MAX_BYTES = 64 << 10
MAX_REQUEST_STEPS = 10
MAX_IDS = 64  # remembered
CLOCK_STEP_NS = 20_000_000  # a file's time may be so far behind the clock's
MAX_ID = 200
_KEYS = {"id", "job", "ranks", "steps", "tools"}


class Requests:
    """Of one process. look() is called by the client's thread."""

    def __init__(self, identity, path=None):
        self._identity = identity
        self._path = path or os.environ.get("PITWALL_CAPTURE") or None
        self._seen = deque(maxlen=MAX_IDS)
        self._last = None           # what the file looked like when it was read
        self._begin = time.time_ns() - CLOCK_STEP_NS

    def look(self, socket_path, job_id, recorder):
        """Reads the file if it is new, and asks for the profile that it wants. job_id: as the collector told it."""
        path = self._path or socket_path + ".capture"
        try:
            found = os.lstat(path)
        except OSError:
            return  # the usual case: none is asked for
        looks = (found.st_ino, found.st_mtime_ns, found.st_size, found.st_uid, found.st_mode)
        if looks == self._last or found.st_mtime_ns < self._begin:
            return
        self._last = looks
        try:
            request = _read(path)
            self._take(request, job_id, recorder)
        except (OSError, ValueError, TypeError) as error:
            tell_once("the capture that %s asks for is not done: %s", path, str(error))
        except Exception:
            swallow("a capture")

    def _take(self, request, job_id, recorder):
        identity = self._identity
        if request["job"] not in {job_id, identity.job_id, identity.job_name} - {"", None}:
            return
        ranks = request.get("ranks")
        if ranks is not None and identity.rank not in ranks:
            return
        if request["id"] in self._seen:
            return
        self._seen.append(request["id"])
        _profile.request(recorder, request.get("steps", 2), tools=request.get("tools"))


def _read(path):
    """The request in a file; OSError or ValueError says what is wrong with it."""
    # O_NONBLOCK: opening a pipe that took the file's place must not wait.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("not a regular file")
        if found.st_uid not in (0, os.geteuid()):
            raise ValueError("its owner is user %d, not root or user %d" % (found.st_uid, os.geteuid()))
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ValueError("others than its owner may write it")
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError("it is longer than %d bytes" % MAX_BYTES)
    request = json.loads(content.decode("utf-8"))
    if not isinstance(request, dict):
        raise ValueError("not a JSON object")
    unknown = sorted(set(request) - _KEYS)
    if unknown:
        raise ValueError("unknown key %r" % unknown[0])
    for key in ("id", "job"):
        if not isinstance(request.get(key), str) or not 0 < len(request[key]) <= MAX_ID:
            raise ValueError("%s must be a string of 1 to %d characters" % (key, MAX_ID))
    if not _is_number(request.get("steps", 2), 1, MAX_REQUEST_STEPS):
        raise ValueError("steps must be a number from 1 to %d" % MAX_REQUEST_STEPS)
    ranks = request.get("ranks")
    if ranks is not None and not (isinstance(ranks, list) and all(_is_number(rank, 0, 1 << 32) for rank in ranks)):
        raise ValueError("ranks must be a list of ranks")
    return request


def _is_number(value, least, most):
    return type(value) is int and least <= value <= most
