"""File-based profile requests. A file next to the collector's socket requests a profile of a few steps from a job's processes.

The file's path is $PITWALL_CAPTURE. It defaults to the socket's path plus ".capture". The file contains one JSON object:

    {"id": "incident-17", "job": "resnet", "ranks": [0, 3], "steps": 2}

job: the job's ID or name.
ranks: defaults to all ranks.
steps: 1 to 10, default 2.
tools: as for profile().

The client's thread checks the file twice a second while a collector is connected, and the training thread starts profiling at its next step. Each ID
is accepted once. The client only accepts a file that was written after the client started, because an older file was meant for an earlier process.
The file must be a regular file that is owned by this user or root and is not writable by other users. To replace it atomically, write a file with
another name and rename it.
"""
from __future__ import annotations

import json
import os
import stat
import time
from collections import deque
from typing import Any, Optional

from .._guard import swallow, debug_once
from .._identity import Identity
from ..recording._recorder import Recorder
from . import _profile

MAX_BYTES = 64 << 10
MAX_REQUEST_STEPS = 10
MAX_IDS = 64  # maximum number of remembered IDs of accepted requests
CLOCK_STEP_NS = 20_000_000  # maximum lag of a file's timestamp behind the clock
MAX_ID = 200
_KEYS = {"id", "job", "ranks", "steps", "tools"}


class Requests:
    """Profile requests for one process. The client's thread calls look()."""

    def __init__(self, identity: Identity, path: Optional[str] = None) -> None:
        self._identity = identity
        self._path = path or os.environ.get("PITWALL_CAPTURE") or None
        self._seen: deque[str] = deque(maxlen=MAX_IDS)
        self._last: Optional[tuple[int, ...]] = None  # file attributes at the last read
        self._begin = time.time_ns() - CLOCK_STEP_NS

    def look(self, socket_path: str, job_id: Optional[str], recorder: Recorder) -> None:
        """Reads the file if it is new, and requests the profile. job_id: the ID that the collector has assigned."""
        path = self._path or socket_path + ".capture"
        try:
            found = os.lstat(path)
        except OSError:
            return  # no request, the common case
        looks = (found.st_ino, found.st_mtime_ns, found.st_size, found.st_uid, found.st_mode)
        if looks == self._last or found.st_mtime_ns < self._begin:
            return
        self._last = looks
        try:
            request = _read(path)
            self._take(request, job_id, recorder)
        except (OSError, ValueError, TypeError) as error:
            debug_once("%s: capture request ignored: %s", path, str(error))
        except Exception:
            swallow("a capture")

    def _take(self, request: dict[str, Any], job_id: Optional[str], recorder: Recorder) -> None:
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


def _read(path: str) -> dict[str, Any]:
    """Returns the request in a file. Raises OSError, or ValueError with the reason for the rejection."""
    # O_NONBLOCK prevents the call from blocking if a pipe has replaced the file.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("must be a regular file")
        if found.st_uid not in (0, os.geteuid()):
            raise ValueError("the owner must be root or user %d (got user %d)" % (os.geteuid(), found.st_uid))
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ValueError("the file must be writable only by its owner")
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError("the file must be at most %d bytes long" % MAX_BYTES)
    request = json.loads(content.decode("utf-8"))
    if not isinstance(request, dict):
        raise ValueError("must be a JSON object")
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


def _is_number(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most
