"""Failure containment. Logs invalid calls as warnings to the "pitwall" logger and all other failures at debug level, each only once."""
from __future__ import annotations

import logging
import sys
from typing import Any

logger = logging.getLogger("pitwall")
MAX_STEP = 1 << 61  # the collector accepts steps below 2^62
_PUBLIC = frozenset(("init", "finish", "steps", "step", "phase", "mode", "log", "log_classification", "log_experts", "log_images",
                     "log_tokens", "watch", "watch_collectives", "checkpoint", "profile"))
_OF_ARGUMENTS = (TypeError, ValueError, OverflowError, AttributeError, LookupError)
_logged: set[tuple[Any, ...]] = set()


class WrongCall(ValueError):
    """Invalid argument to a public function. The message has the form `cause (value); advice`."""

    def __init__(self, cause: str, value: object, advice: str) -> None:
        super().__init__("%s (%s); %s" % (cause, brief(value), advice))


def brief(value: object) -> str:
    """Formats a value for a message. Plain values are shown as their repr. For any other value, only the type is shown, because its text may be long or
    require waiting for a device."""
    if value is None or isinstance(value, (bool, int, float, str)):
        text = repr(value) if not isinstance(value, int) or abs(value) < 1 << 200 else "an int of %d bits" % value.bit_length()
        return text if len(text) <= 80 else text[:77] + "..."
    name = type(value).__name__
    return ("an " if name[0] in "aeiouAEIOU" else "a ") + name


def swallow(where: str) -> None:
    """Logs the current exception once per function and exception type. Invalid calls are also logged as warnings, once per message."""
    kind, error = sys.exc_info()[:2]
    if kind is not None and issubclass(kind, WrongCall):
        warn_once("%s: %s", where, str(error))
    elif where in _PUBLIC and kind is not None and issubclass(kind, _OF_ARGUMENTS):
        warn_once("%s: %s; see help(pitwall.%s)", where, str(error)[:300] or kind.__name__, where)
    key = (where, kind)
    if key not in _logged and len(_logged) < 1000:
        _logged.add(key)
        logger.debug("pitwall: %s failed and was ignored", where, exc_info=True)


def warn_once(message: str, *arguments: Any) -> None:
    """Logs a warning once for each combination of message and arguments. At most 1000 messages are logged in total, including other levels."""
    key = (message, arguments)
    if key not in _logged and len(_logged) < 1000:
        _logged.add(key)
        logger.warning("pitwall." + message, *arguments)


def debug_once(message: str, *arguments: Any) -> None:
    """Like warn_once(), but at debug level. Used to report that data was omitted, and why."""
    key = (message, arguments)
    if key not in _logged and len(_logged) < 1000:
        _logged.add(key)
        logger.debug("pitwall: " + message, *arguments)
