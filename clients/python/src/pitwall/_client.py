"""Client of this process. The public functions of the package record into `client.recorder`, which is None while no client runs."""
from __future__ import annotations

import logging
import os
import sys
import weakref
from typing import Any, NamedTuple, Optional

from ._exit import FALSE, ExitHooks, exception_here
from ._guard import brief, warn_once
from ._identity import identify, socket_candidates
from .recording._recorder import Flushable, Recorder
from .transport._sender import Sender

logger = logging.getLogger("pitwall")

DEFAULT_QUEUE = 16384


class Arguments(NamedTuple):
    """Arguments of init(), which the caller may have passed with the wrong type."""

    job: Any
    job_id: Any
    rank: Any
    local_rank: Any
    world_size: Any
    attempt: Any
    labels: Any
    socket: Any
    queue: Any
    step_lag: Any


class Client:
    """Recorder, sender, and exit hooks of one process.

    begin() and end() may be called repeatedly; each begin() starts another job. Without a job, `recorder` is None, and every public function is a
    no-op.

    Threads: every thread may read `recorder`, once per operation, because another thread may end the client.
    """

    def __init__(self) -> None:
        self.recorder: Optional[Recorder] = None
        self.sender: Optional[Sender] = None
        # Objects whose flush() records measurements in progress before a job ends. They may belong to several jobs, as the hooks of watch() do.
        self.before_end: weakref.WeakSet[Flushable] = weakref.WeakSet()
        self._exit = ExitHooks(lambda: self.recorder, self.end)

    def begin(self, arguments: Arguments) -> None:
        """Starts a job in this process. If a job is already running, ends it first."""
        if os.environ.get("PITWALL_DISABLED", "").strip().lower() not in FALSE:
            logger.debug("pitwall: disabled by PITWALL_DISABLED")
            return
        if _is_loader_worker():
            return
        if _is_imported_by_worker():
            warn_once("init: ignored while a multiprocessing worker imports the module that calls it; a worker that is a rank must call "
                      "init() in its own function")
            return
        if self.recorder is not None:
            # The process is starting another job.
            self.end("cancelled" if self.recorder.loops.open else "completed")
        given = _valid(arguments)
        identity = identify(None, given.job, given.job_id, given.rank, given.local_rank, given.world_size, given.attempt, given.labels)
        started = Recorder(max(16, int(given.queue)), max(0, int(given.step_lag)))
        started.rank, started.before_end = identity.rank, self.before_end
        sender = Sender(started, identity, socket_candidates(path=given.socket))
        sender.start()
        self._exit.install()
        self.sender, self.recorder = sender, started

    def end(self, reason: str, timeout: Optional[float] = None, exiting: bool = False, exit_status: Optional[int] = None,
            flush: bool = True) -> None:
        """Sends the queued data and the Goodbye, and waits no longer than Patience(timeout) allows. Nothing is recorded after that.

        exiting: the process is about to exit, with exit_status if that is known.
        flush: records open measurements first.
        """
        if self.sender is not None and flush:
            for holder in list(self.before_end):
                try:
                    holder.flush()
                except Exception:
                    logger.debug("pitwall: could not record an open measurement at the end", exc_info=True)
        ending, self.sender, self.recorder = self.sender, None, None
        if ending is not None:
            exception = self._exit.exception if reason == "failed" else ""
            ending.stop(reason, timeout, exception or exception_here(exiting), exiting, exit_status)

    def welcome(self) -> dict[str, Any]:
        """Returns the collector's Welcome, or {} before it has arrived."""
        sender = self.sender
        return sender.welcome or {} if sender is not None else {}

    def begin_model(self, model: object) -> None:
        """Reports that watch() was called for a model; see OpenLoops.begin_model(). A no-op without a job."""
        running = self.recorder
        if running is not None:
            running.loops.begin_model(model)

    def abandon(self) -> None:
        """Detaches a forked child. The sender's thread does not exist in the child, and the connection belongs to the parent."""
        recorder, sender, self.sender, self.recorder = self.recorder, self.sender, None, None
        if recorder is not None:
            recorder.abandon()  # phases and steps that were open at the fork still end in this recorder
        if sender is not None:
            sender.abandon()


def _valid(given: Arguments) -> Arguments:
    """Returns the arguments, with None or the default in place of each invalid one, after a warning."""
    labels, socket = given.labels, given.socket
    numbers = {name: _whole(name, getattr(given, name)) for name in ("rank", "local_rank", "world_size", "attempt")}
    queue = DEFAULT_QUEUE if _whole("queue", given.queue) is None else given.queue
    step_lag = 0 if _whole("step_lag", given.step_lag) is None else given.step_lag
    if labels is not None and not isinstance(labels, dict):
        warn_once("init: labels must be a dict (got %s); ignoring it", brief(labels))
        labels = None
    if socket is not None and not isinstance(socket, (str, os.PathLike)):
        warn_once("init: socket must be a path (got %s); using the socket from the environment", brief(socket))
        socket = None
    return given._replace(labels=labels, socket=socket, queue=queue, step_lag=step_lag, **numbers)


def _whole(name: str, number: Any) -> Optional[int]:
    """Returns the number, or None after a warning if the number is invalid. Incomplete data is better than a rank without data."""
    if number is None:
        return None
    try:
        if int(number) >= 0:
            return int(number)
    except Exception:  # int() of an object may raise anything
        pass
    warn_once("init: %s must be a whole number of at least 0 (got %s); ignoring it", name, brief(number))
    return None


def _is_loader_worker() -> bool:
    """Returns whether this is a DataLoader worker that re-executed the script. Such a worker does not report anything, because the rank's own process
    does."""
    torch_data: Any = sys.modules.get("torch.utils.data")
    return torch_data is not None and torch_data.get_worker_info() is not None


def _is_imported_by_worker() -> bool:
    """Returns whether this is a spawned multiprocessing worker that is importing the script's module. If the module calls init() at module level,
    that call is meant for the parent process only. A worker that is a rank calls init() in its own function."""
    process: Any = sys.modules.get("multiprocessing.process")
    return process is not None and bool(getattr(process.current_process(), "_inheriting", False))


client = Client()  # the only instance; hooks of the process refer to it
os.register_at_fork(after_in_child=client.abandon)
