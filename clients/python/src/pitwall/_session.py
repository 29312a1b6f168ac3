"""init(), finish(), and info()."""
from __future__ import annotations

from os import PathLike
from typing import Any, Dict, Mapping, Optional, Union

from ._client import DEFAULT_QUEUE, Arguments, client
from ._guard import brief, swallow, warn_once
from ._identity import config_hash

_REASONS = ("completed", "failed", "cancelled", "")


def init(job: Optional[str] = None, *, job_id: Optional[str] = None, rank: Optional[int] = None, local_rank: Optional[int] = None,
         world_size: Optional[int] = None, attempt: Optional[int] = None, labels: Optional[Mapping[str, object]] = None, config: Any = None,
         socket: Union[str, PathLike[str], None] = None, queue: int = DEFAULT_QUEUE, step_lag: int = 0) -> None:
    """Starts the client. Omitted arguments default to values from the environment (see the table in the README).

    job: name of the job.
    job_id: ID that is never reused, if the scheduler provides one.
    labels: additional labels for this process.
    config: settings that two comparable runs must share, such as a dict of hyperparameters. Their hash becomes the job's label config_hash.
    socket: path of the collector's socket.
    queue: maximum number of spans and values to queue while the collector is not reading. Newer items are dropped and counted.
    step_lag: number of steps by which values may be logged late.

    Never raises. A second call ends the previous job.
    """
    try:
        if config is not None:
            try:
                labels = dict(labels if isinstance(labels, dict) else {}, config_hash=config_hash(config))
            except Exception:
                swallow("the hash of config")
        client.begin(Arguments(job, job_id, rank, local_rank, world_size, attempt, labels, socket, queue, step_lag))
    except Exception:
        swallow("init")


def finish(reason: str = "completed", timeout: Optional[float] = None) -> None:
    """Sends the remaining data and the process's exit reason: "completed", "failed", "cancelled", or "" if unknown.

    Called automatically at exit. Waits at most `timeout` seconds for the collector. Without a timeout, the limit is 5 s while the collector reads
    data, and 1 s otherwise. Never raises.
    """
    try:
        if reason not in _REASONS:
            warn_once("finish: unknown reason (%s); use \"completed\", \"failed\", or \"cancelled\"", brief(reason))
            reason = ""
        if timeout is not None and (
                isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 <= timeout <= 86400):
            warn_once("finish: timeout must be a number of seconds from 0 to 86400 (got %s); using the default", brief(timeout))
            timeout = None
        client.end(reason, timeout)
    except Exception:
        swallow("finish")


def info() -> Dict[str, str]:
    """Returns the identity that the collector has assigned to this process, {"node", "job_id", "source"}, or {} before the collector has responded."""
    welcome = client.welcome()
    return {name: welcome[name] for name in ("node", "job_id", "source") if name in welcome}
