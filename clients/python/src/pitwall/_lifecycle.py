"""Lifecycle of the client: init, finish, interpreter exit, uncaught exceptions, and forks."""
import atexit
import logging
import os
import sys
import threading
import weakref

from ._guard import brief, warn_once
from ._identity import identify, socket_candidates
from ._redaction import redact
from .recording._recorder import Recorder
from .transport._sender import Sender

logger = logging.getLogger("pitwall")

DEFAULT_QUEUE = 16384
IMMEDIATE_EXIT_S = 0.5  # maximum delay of os._exit
THREAD_METRIC = "train_thread_exception"
MAX_THREADS = 16        # maximum number of reported thread exceptions
MAX_TEXT = 200
_FALSE = ("", "0", "false", "no", "off")


class _Exit:
    """Hooks that run when the process exits or one of its threads fails. Each hook also calls the original hook with unchanged arguments."""

    def __init__(self):
        self.failed = False
        self.cancelled = False
        self.exception = ""  # text of the exception that terminated the process
        self.status = None   # the last requested exit status
        self._threads = set()  # labels of the exceptions that terminated threads
        self._installed = False

    def install(self):
        if not self._installed:
            self._installed = True
            self._excepthook, sys.excepthook = sys.excepthook, self._on_exception
            self._thread_hook, threading.excepthook = threading.excepthook, self._on_thread_exception
            self._exit, sys.exit = sys.exit, self._on_exit
            self._immediate_exit, os._exit = os._exit, self._on_immediate_exit
            atexit.register(self._at_exit)
        _at_exit_of_worker(self._at_worker_exit)

    def _on_exception(self, kind, value, traceback):
        if issubclass(kind, KeyboardInterrupt):  # canceled by a user
            self.cancelled = True
        else:
            self.failed = True
            self.exception = describe(value)
        self._excepthook(kind, value, traceback)

    def _on_thread_exception(self, args):
        try:
            running = recorder
            if running is not None and args.exc_type is not SystemExit:
                name = getattr(args.thread, "name", "") or "unknown"
                labels = ("exception", describe(args.exc_value)[:MAX_TEXT]), ("thread", redact(name)[:MAX_TEXT])
                if labels in self._threads or len(self._threads) < MAX_THREADS:
                    self._threads.add(labels)
                    running.set_state(THREAD_METRIC, labels, 1)
        except Exception:
            logger.debug("pitwall: could not report the exception of a thread", exc_info=True)
        self._thread_hook(args)

    def _on_exit(self, code=None):
        # `raise SystemExit(1)` does not call any hook, and the script may catch the SystemExit raised here. Therefore, the exit status observed by
        # the collector takes precedence.
        if threading.current_thread() is threading.main_thread():
            self.status = _status_of(code)
            self.failed = self.failed or self.status != 0
        self._exit(code)

    def _on_immediate_exit(self, status):
        """Sends the remaining data because os._exit skips all other hooks. Also sends the exit status, because not every kernel reports it."""
        try:
            if client is not None and isinstance(status, int):
                end("", IMMEDIATE_EXIT_S, exiting=True, exit_status=status, flush=False)
        except Exception:
            logger.debug("pitwall: could not report the end", exc_info=True)
        self._immediate_exit(status)

    def _at_worker_exit(self):
        """Ends the client of a multiprocessing worker, which may skip atexit. If the worker failed, its exception is still being handled at this
        point."""
        value = sys.exc_info()[1]
        if isinstance(value, SystemExit):
            self.status = _status_of(value.code)
            self.failed = self.failed or self.status != 0
            # Launchers such as torch.multiprocessing convert an exception to an exit status, so the original exception is the cause or context of the
            # SystemExit.
            cause = value.__cause__ or (None if value.__suppress_context__ else value.__context__)
            if self.status != 0 and isinstance(cause, Exception):
                self.exception = describe(cause)
        elif isinstance(value, KeyboardInterrupt):
            self.cancelled = True
        elif value is not None:
            self.failed = True
            self.exception = describe(value)
        self._at_exit()

    def _at_exit(self):
        reason = "failed" if self.failed else "cancelled" if self.cancelled else "completed"
        end(reason, exiting=True, exit_status=self.status)


def _status_of(code):
    """Returns the exit status that the interpreter derives from the code of a SystemExit."""
    return 0 if code is None else code & 0xFF if isinstance(code, int) else 1


def _at_exit_of_worker(function):
    """Registers the function to run when this process exits, if this process is a multiprocessing worker."""
    multiprocessing = sys.modules.get("multiprocessing.process")
    if multiprocessing is not None and multiprocessing.parent_process() is not None:
        from multiprocessing import util
        util.Finalize(None, function, exitpriority=-100)  # after the worker's own finalizers


def describe(exception):
    """Returns an exception's type and the first line of its message without secrets and directories, e.g. "KeyError: 'lr'". PITWALL_EXCEPTION_TEXT=0
    limits the result to the type; `full` keeps the line unchanged."""
    kind = type(exception).__name__
    try:
        choice = os.environ.get("PITWALL_EXCEPTION_TEXT", "1").strip().lower()
        if choice in _FALSE:
            return kind
        lines = str(exception).strip().splitlines()
        line = lines[0].strip() if lines else ""
        line = line if choice == "full" else redact(line)
    except Exception:  # str() of an exception may raise
        line = ""
    return "%s: %s" % (kind, line) if line else kind


class Client:
    def __init__(self, recorder, sender):
        self.recorder = recorder
        self.sender = sender


_exit = _Exit()
client = None    # client of this process; if None, every public function is a no-op
recorder = None  # client.recorder; saves a lookup on the hot path
before_end = weakref.WeakSet()  # objects whose flush() records measurements in progress before the client ends


def begin(job, job_id, rank, local_rank, world_size, attempt, labels, socket, queue, step_lag):
    """Starts the client of this process. If a client is already running, ends it first."""
    global client, recorder
    if os.environ.get("PITWALL_DISABLED", "").strip().lower() not in _FALSE:
        logger.debug("pitwall: disabled by PITWALL_DISABLED")
        return
    if _is_loader_worker():
        return
    if _is_imported_by_worker():
        warn_once("init: ignored while a multiprocessing worker imports the module that calls it; a worker that is a rank must call "
                  "init() in its own function")
        return
    if client is not None:
        # The process is starting another job.
        end("cancelled" if recorder.loops.open else "completed")
    rank, local_rank, world_size, attempt = (_whole(*pair) for pair in (
        ("rank", rank), ("local_rank", local_rank), ("world_size", world_size), ("attempt", attempt)))
    queue = DEFAULT_QUEUE if _whole("queue", queue) is None else queue
    step_lag = 0 if _whole("step_lag", step_lag) is None else step_lag
    if labels is not None and not isinstance(labels, dict):
        warn_once("init: labels must be a dict (got %s); ignoring it", brief(labels))
        labels = None
    if socket is not None and not isinstance(socket, (str, os.PathLike)):
        warn_once("init: socket must be a path (got %s); using the socket from the environment", brief(socket))
        socket = None
    identity = identify(None, job, job_id, rank, local_rank, world_size, attempt, labels)
    started = Recorder(max(16, int(queue)), max(0, int(step_lag)))
    sender = Sender(started, identity, socket_candidates(path=socket))
    sender.start()
    _exit.failed = _exit.cancelled = False
    _exit.exception = ""
    _exit.status = None
    _exit.install()
    client, recorder = Client(started, sender), started


def _whole(name, number):
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


def end(reason, timeout=None, exiting=False, exit_status=None, flush=True):
    """Sends the queued data and the Goodbye, and waits no longer than Patience(timeout) allows. Nothing is recorded after that.

    exiting: the process is about to exit, with exit_status if that is known.
    flush: records open measurements first.
    """
    global client, recorder
    if client is not None and flush:
        for holder in list(before_end):
            try:
                holder.flush()
            except Exception:
                logger.debug("pitwall: could not record an open measurement at the end", exc_info=True)
    ending, client, recorder = client, None, None
    if ending is not None:
        exception = _exit.exception if reason == "failed" else ""
        ending.sender.stop(reason, timeout, exception or _exception_here(exiting), exiting, exit_status)


def begin_model(model):
    """Reports that watch() was called for a model; see OpenLoops.begin_model(). A no-op without a client."""
    running = recorder
    if running is not None:
        running.loops.begin_model(model)


def _exception_here(exiting):
    """Describes the exception being handled (for example, if `finally` calls finish()), or the exception that ended the script, even if another hook
    has replaced ours. Returns "" if there is no exception. The exit status determines whether the process failed."""
    value = sys.exc_info()[1]
    if value is None and exiting:
        value = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return describe(value) if isinstance(value, Exception) else ""


def _is_loader_worker():
    """Returns whether this is a DataLoader worker that re-executed the script. Such a worker does not report anything, because the rank's own process
    does."""
    torch_data = sys.modules.get("torch.utils.data")
    return torch_data is not None and torch_data.get_worker_info() is not None


def _is_imported_by_worker():
    """Returns whether this is a spawned multiprocessing worker that is importing the script's module. If the module calls init() at module level,
    that call is meant for the parent process only. A worker that is a rank calls init() in its own function."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and getattr(process.current_process(), "_inheriting", False)


def _after_fork_in_child():
    global client, recorder
    inherited, client, recorder = client, None, None
    if inherited is not None:
        inherited.recorder.abandon()  # phases and steps that were open at the fork still end in this recorder
        inherited.sender.abandon()


os.register_at_fork(after_in_child=_after_fork_in_child)
