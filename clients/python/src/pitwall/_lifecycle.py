"""When the client begins and ends: init, finish, the interpreter's exit, uncaught exceptions, forks."""
import atexit
import logging
import os
import sys
import threading
import weakref

from ._guard import brief, warn_once
from ._identity import identify, socket_candidates
from ._recorder import Recorder
from ._sender import Sender

logger = logging.getLogger("pitwall")

DEFAULT_QUEUE = 16384
_FALSE = ("", "0", "false", "no", "off")


class _Exit:
    """How the interpreter ends: hooks that only look and pass everything on."""

    def __init__(self):
        self.failed = False
        self.cancelled = False
        self.exception = ""  # that ended it, for people
        self._installed = False

    def install(self):
        if self._installed:
            return
        self._installed = True
        self._excepthook = sys.excepthook
        self._exit = sys.exit
        sys.excepthook = self._on_exception
        sys.exit = self._on_exit
        atexit.register(self._at_exit)

    def _on_exception(self, kind, value, traceback):
        if issubclass(kind, KeyboardInterrupt):  # a person ended it
            self.cancelled = True
        else:
            self.failed = True
            self.exception = describe(value)
        self._excepthook(kind, value, traceback)

    def _on_exit(self, code=None):
        # sys.exit(1) must not be reported as a job that completed, and no other hook sees the code.
        if threading.current_thread() is threading.main_thread() and code is not None and code != 0:
            self.failed = True
        self._exit(code)

    def _at_exit(self):
        end("failed" if self.failed else "cancelled" if self.cancelled else "completed")


def describe(exception):
    """The type of an exception and the first line of its text, e.g. "KeyError: 'lr'"; only the type with PITWALL_EXCEPTION_TEXT=0."""
    kind = type(exception).__name__
    try:
        if os.environ.get("PITWALL_EXCEPTION_TEXT", "1").strip().lower() in _FALSE:
            return kind
        lines = str(exception).strip().splitlines()
    except Exception:  # whatever an exception says of itself
        lines = []
    return "%s: %s" % (kind, lines[0].strip()) if lines else kind


class Client:
    def __init__(self, recorder, sender):
        self.recorder = recorder
        self.sender = sender


_exit = _Exit()
client = None    # the one of this process, or None: then every public function does nothing
recorder = None  # client.recorder, one look-up less on the hot path
before_end = weakref.WeakSet()  # their flush() is called before the client ends: what is under way is recorded then


def begin(job, job_id, rank, local_rank, world_size, attempt, labels, socket, queue, step_lag):
    """Starts the client of this process; one that runs already is ended first."""
    global client, recorder
    if os.environ.get("PITWALL_DISABLED", "").strip().lower() not in _FALSE:
        logger.debug("pitwall: switched off by PITWALL_DISABLED")
        return
    if _is_loader_worker():
        return
    if client is not None:
        end("")
    rank, local_rank, world_size, attempt = (_whole(*pair) for pair in (
        ("rank", rank), ("local_rank", local_rank), ("world_size", world_size), ("attempt", attempt)))
    queue = DEFAULT_QUEUE if _whole("queue", queue) is None else queue
    step_lag = 0 if _whole("step_lag", step_lag) is None else step_lag
    if labels is not None and not isinstance(labels, dict):
        warn_once("init: labels is no dict (%s); it is left out", brief(labels))
        labels = None
    if socket is not None and not isinstance(socket, (str, os.PathLike)):
        warn_once("init: socket is no path (%s); the environment's is taken", brief(socket))
        socket = None
    identity = identify(None, job, job_id, rank, local_rank, world_size, attempt, labels)
    started = Recorder(max(16, int(queue)), max(0, int(step_lag)))
    sender = Sender(started, identity, socket_candidates(path=socket))
    sender.start()
    _exit.failed = _exit.cancelled = False
    _exit.exception = ""
    _exit.install()
    client, recorder = Client(started, sender), started


def _whole(name, number):
    """The number, or None for one that is wrong: what is said of it is better than a rank that is silent."""
    if number is None:
        return None
    try:
        if int(number) >= 0:
            return int(number)
    except Exception:  # whatever an object says of itself
        pass
    warn_once("init: %s is no whole number of 0 or more (%s); it is left out", name, brief(number))
    return None


def end(reason, timeout=1.0):
    """Sends what is left and the Goodbye. Nothing is recorded after it."""
    global client, recorder
    if client is not None:
        for holder in list(before_end):
            try:
                holder.flush()
            except Exception:
                logger.debug("pitwall: something was not recorded at the end", exc_info=True)
    ending, client, recorder = client, None, None
    if ending is not None:
        ending.sender.stop(reason, timeout, _failure() if reason == "failed" else "")


def _failure():
    """What ended the process, or is being handled where finish("failed") is called."""
    handled = sys.exc_info()[1]
    return _exit.exception or (describe(handled) if isinstance(handled, Exception) else "")


def _is_loader_worker():
    """A DataLoader's worker that ran the script again stays silent: the rank's own process speaks for it."""
    torch_data = sys.modules.get("torch.utils.data")
    return torch_data is not None and torch_data.get_worker_info() is not None


def _after_fork_in_child():
    global client, recorder
    inherited, client, recorder = client, None, None
    if inherited is not None:
        inherited.recorder.abandon()  # phases and steps that are open at the fork still end in it
        inherited.sender.abandon()


os.register_at_fork(after_in_child=_after_fork_in_child)
