"""Detection of the way in which this process ends: exit status, uncaught exceptions, and the end of multiprocessing workers."""
from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
from types import TracebackType
from typing import Any, Callable, Optional, Protocol

from ._redaction import redact
from .recording._recorder import Recorder

logger = logging.getLogger("pitwall")

IMMEDIATE_EXIT_S = 0.5  # maximum delay of os._exit
THREAD_METRIC = "train_thread_exception"
MAX_THREADS = 16        # maximum number of reported thread exceptions
MAX_TEXT = 200
FALSE = ("", "0", "false", "no", "off")


class End(Protocol):
    """Function that ends the client, such as Client.end()."""

    def __call__(self, reason: str, timeout: Optional[float] = None, exiting: bool = False, exit_status: Optional[int] = None,
                 flush: bool = True) -> None:
        ...


class ExitHooks:
    """Hooks that run when the process exits or one of its threads fails. Each hook also calls the original hook with unchanged arguments.

    recorder: returns the recorder of the running client, or None. end: ends the client.
    """

    def __init__(self, recorder: Callable[[], Optional[Recorder]], end: End) -> None:
        self._recorder = recorder
        self._end = end
        self.failed = False
        self.cancelled = False
        self.exception = ""  # text of the exception that terminated the process
        self.status: Optional[int] = None  # the last requested exit status
        self._threads: set[tuple[tuple[str, str], ...]] = set()  # labels of the exceptions that terminated threads
        self._installed = False

    def install(self) -> None:
        """Installs the hooks, once per process, and clears the state of the previous client."""
        self.failed = self.cancelled = False
        self.exception = ""
        self.status = None
        if not self._installed:
            self._installed = True
            self._excepthook, sys.excepthook = sys.excepthook, self._on_exception
            self._thread_hook, threading.excepthook = threading.excepthook, self._on_thread_exception
            hooked: Any = sys, os
            self._exit, hooked[0].exit = sys.exit, self._on_exit
            self._immediate_exit, hooked[1]._exit = os._exit, self._on_immediate_exit
            atexit.register(self._at_exit)
        _at_exit_of_worker(self._at_worker_exit)

    def _on_exception(self, kind: type[BaseException], value: BaseException, traceback: Optional[TracebackType]) -> None:
        if issubclass(kind, KeyboardInterrupt):  # canceled by a user
            self.cancelled = True
        else:
            self.failed = True
            self.exception = describe(value)
        self._excepthook(kind, value, traceback)

    def _on_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        try:
            running = self._recorder()
            if running is not None and args.exc_type is not SystemExit:
                name = getattr(args.thread, "name", "") or "unknown"
                labels = ("exception", describe(args.exc_value)[:MAX_TEXT]), ("thread", redact(name)[:MAX_TEXT])
                if labels in self._threads or len(self._threads) < MAX_THREADS:
                    self._threads.add(labels)
                    running.set_state(THREAD_METRIC, labels, 1)
        except Exception:
            logger.debug("pitwall: could not report the exception of a thread", exc_info=True)
        self._thread_hook(args)

    def _on_exit(self, code: Any = None) -> None:
        # `raise SystemExit(1)` does not call any hook, and the script may catch the SystemExit raised here. Therefore, the exit status observed by
        # the collector takes precedence.
        if threading.current_thread() is threading.main_thread():
            self.status = _status_of(code)
            self.failed = self.failed or self.status != 0
        self._exit(code)

    def _on_immediate_exit(self, status: int) -> None:
        """Sends the remaining data because os._exit skips all other hooks. Also sends the exit status, because not every kernel reports it."""
        try:
            if self._recorder() is not None and isinstance(status, int):
                self._end("", IMMEDIATE_EXIT_S, exiting=True, exit_status=status, flush=False)
        except Exception:
            logger.debug("pitwall: could not report the end", exc_info=True)
        self._immediate_exit(status)

    def _at_worker_exit(self) -> None:
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

    def _at_exit(self) -> None:
        reason = "failed" if self.failed else "cancelled" if self.cancelled else "completed"
        self._end(reason, exiting=True, exit_status=self.status)


def _status_of(code: Any) -> int:
    """Returns the exit status that the interpreter derives from the code of a SystemExit."""
    return 0 if code is None else code & 0xFF if isinstance(code, int) else 1


def _at_exit_of_worker(function: Callable[[], None]) -> None:
    """Registers the function to run when this process exits, if this process is a multiprocessing worker."""
    multiprocessing = sys.modules.get("multiprocessing.process")
    if multiprocessing is not None and multiprocessing.parent_process() is not None:
        from multiprocessing import util
        util.Finalize(None, function, exitpriority=-100)  # after the worker's own finalizers


def describe(exception: Optional[BaseException]) -> str:
    """Returns an exception's type and the first line of its message without secrets and directories, e.g. "KeyError: 'lr'". PITWALL_EXCEPTION_TEXT=0
    limits the result to the type; `full` keeps the line unchanged."""
    kind = type(exception).__name__
    try:
        choice = os.environ.get("PITWALL_EXCEPTION_TEXT", "1").strip().lower()
        if choice in FALSE:
            return kind
        lines = str(exception).strip().splitlines()
        line = lines[0].strip() if lines else ""
        line = line if choice == "full" else redact(line)
    except Exception:  # str() of an exception may raise
        line = ""
    return "%s: %s" % (kind, line) if line else kind


def exception_here(exiting: bool) -> str:
    """Describes the exception being handled (for example, if `finally` calls finish()), or the exception that ended the script, even if another hook
    has replaced ours. Returns "" if there is no exception. The exit status determines whether the process failed."""
    value = sys.exc_info()[1]
    if value is None and exiting:
        value = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return describe(value) if isinstance(value, Exception) else ""
